"""Calls: of functions with a source, of builtins, of NumPy's functions, of methods and of transforms."""
