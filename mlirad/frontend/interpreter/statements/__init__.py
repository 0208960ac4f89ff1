"""Statements: what they run, assign and raise."""
