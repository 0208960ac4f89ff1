"""Loops, rolled or unrolled, and comprehensions."""
