"""Transforms of functions as frozen descriptions: programs may use them in kernels, and `jit` makes them callable."""
