"""Functions of SciPy, written in NumPy and the primitives. SciPy itself is not needed: only who calls them has it."""
