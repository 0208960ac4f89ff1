"""The loop programs of `growth.py`, one per file.

Each has `loss` (plain NumPy), `adjoint` (its gradient written by hand, for Numba), `jax_loss` (a function that makes
JAX's version, or None if JAX cannot), ARGNUMS, SIZES, and for a size its `arguments` and `operations`.
"""
