"""Programs as people write them at first try, before they know what the compiler takes. Nothing in them is adapted.

Reads: nothing. Writes: nothing. Leaves: PROGRAMS of each file, made by `program`.
"""
