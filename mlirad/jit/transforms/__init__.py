"""The public transforms: each makes a kernel from a request, or runs one."""
