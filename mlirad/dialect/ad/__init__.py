"""The `ad` dialect: requests for transforms, the markers between adjoint and tape, and the tape's own ops."""
