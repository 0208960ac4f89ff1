"""The public transforms: each makes a kernel of a request, or runs one."""
