"""Python's own functions, on arrays and traced numbers."""
