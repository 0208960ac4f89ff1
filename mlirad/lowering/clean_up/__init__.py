"""VERBS on nd ops: fewer and cheaper ops. One file = one pass."""
