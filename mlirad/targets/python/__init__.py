"""The view for debugging: the optimized program as NumPy source, which CPython runs."""

from mlirad.targets.python.target import PythonTarget

__all__ = ["PythonTarget"]
