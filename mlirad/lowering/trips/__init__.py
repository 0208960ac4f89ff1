"""Loops of the user that threads share: which loops these are, and how their trips are divided."""
