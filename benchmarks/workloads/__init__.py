"""The array programs of `peers.py`, one per file.

Each has `loss` (plain NumPy), ARGNUMS, SIZES, its `arguments` for a size, and some versions of its gradient for peers:
`jax_loss` and `torch_loss` (functions that make that version), `adjoint` (by hand, for Numba), and C, the source of
`void gradient(long n, const double *x, double *g)`.
"""
