"""Stage `ascend-kernels`: host functions, and kernels for the vector cores."""
