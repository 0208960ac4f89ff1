"""Single calls of public functions: a measured call of each function, and random calls."""
