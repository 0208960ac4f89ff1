"""VERBS. One file = one arrow = one pass: clean-up, nd -> linalg -> memrefs -> loops. A library that any target may call."""
