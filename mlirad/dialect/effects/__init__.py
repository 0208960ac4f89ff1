"""Ops that act on the outside of the program, in program order."""
