"""NumPy's functions written in NumPy: each is interpreted, differentiated and compiled like a user's own function.

Reads: nothing. Writes: nothing. Leaves: plain Python functions over the primitives, found by the called object.
"""
