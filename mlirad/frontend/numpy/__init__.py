"""NumPy's functions and Python's operators on values."""
