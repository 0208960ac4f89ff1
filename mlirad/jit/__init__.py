"""Run time: kernels, the values of a call, and transforms. Reads: calls. Gives: results, as the plain function would."""
