"""The array programs of `peers.py`, one a file.

Each has `loss` (plain NumPy), ARGNUMS, SIZES, for a size its `arguments`, and of its gradient as spelled for peers what
there is: `jax_loss` and `torch_loss` (functions that make that version), `adjoint` (by hand, for Numba), and C, the
source of `void gradient(long n, const double *x, double *g)`.
"""
