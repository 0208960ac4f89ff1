"""Random programs drawn from Python's grammar and NumPy's signatures, without any notion of the compiler's."""
