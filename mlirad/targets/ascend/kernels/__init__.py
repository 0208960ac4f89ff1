"""Stage `ascend-kernels`: host functions, and kernels for what the vector cores compute."""
