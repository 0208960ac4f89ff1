"""The building blocks of numpy.linalg's functions, on values."""
