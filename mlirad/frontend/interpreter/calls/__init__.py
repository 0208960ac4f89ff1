"""Calls: of Python functions, of builtins, of NumPy's functions, of methods and of transforms."""
