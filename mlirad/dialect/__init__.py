"""NOUNS. What an op is: its types, spellings, derivative, loops and memory. Imports xDSL and NumPy only."""

from mlirad import xdsl_support  # noqa: F401  (before any op is created: importing it adds what xDSL lacks)
