"""Matmuls as kernels of the cube core."""
