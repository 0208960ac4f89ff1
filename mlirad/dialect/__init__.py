"""NOUNS. What an op is: its types, spellings, derivative, loops and memory. Imports xDSL and NumPy only."""
