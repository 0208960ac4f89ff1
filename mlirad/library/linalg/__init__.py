"""Functions of numpy.linalg, over the loops of NumPy that call LAPACK."""
