"""Ops that act on what is outside of the program, in its order."""
