"""Ops on stacks of matrices that NumPy computes with LAPACK, and their derivative rules."""
