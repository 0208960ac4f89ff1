"""Ops on stacks of matrices that NumPy computes with LAPACK, and the rules of their derivatives."""
