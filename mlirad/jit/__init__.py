"""Run time: kernels, the values of a call, and transforms. Reads: calls. Gives: what the plain function would."""
