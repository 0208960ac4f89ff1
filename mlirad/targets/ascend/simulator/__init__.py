"""Executes the text of Ascend kernels and of their host functions on a model of the 910B: no hardware is involved."""
