"""What NumPy's functions and Python's operators do on values."""
