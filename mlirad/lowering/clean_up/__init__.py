"""VERBS on nd ops: fewer and better ops. One file = one pass."""
