"""Run time: kernels, the values of a call, and transforms. Reads: calls. Gives: the results of the plain function."""
