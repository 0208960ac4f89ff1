"""Functions that Python itself runs while their computations are recorded for differentiation."""
