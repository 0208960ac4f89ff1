"""Random programs drawn from Python's grammar and NumPy's signatures, without assumptions about the compiler."""
