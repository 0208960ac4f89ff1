"""What the functions of numpy.linalg are made of, on values."""
