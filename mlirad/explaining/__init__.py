"""What `mlirad explain` shows: a function and its adjoint, as readable source."""
