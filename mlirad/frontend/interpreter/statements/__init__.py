"""Statements: running them, assigning, raising."""
