"""Random NumPy programs and their oracle: a test of the whole compiler."""
