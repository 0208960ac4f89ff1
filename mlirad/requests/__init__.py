"""Transforms of functions as frozen descriptors: user code may mention them in a kernel, `jit` makes them callable."""
