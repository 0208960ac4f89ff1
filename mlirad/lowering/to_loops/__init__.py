"""VERBS: linalg on memrefs -> loops, vectors and calls of functions."""
