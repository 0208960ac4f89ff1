"""Stages `hivm-virtual` and `hivm-physical`: kernels as instructions of the vector core."""
