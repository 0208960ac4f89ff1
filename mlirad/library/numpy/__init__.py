"""NumPy's functions, grouped by purpose."""
