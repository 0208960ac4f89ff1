"""VERBS. One file = one arrow = one pass: clean-up, nd -> linalg -> memrefs -> loops. Any target may call them."""
