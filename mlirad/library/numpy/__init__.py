"""NumPy's functions, by what they do."""
