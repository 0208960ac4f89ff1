"""Functions of SciPy, written with NumPy and the primitives. SciPy itself is not needed: a program that calls them has
imported it."""
