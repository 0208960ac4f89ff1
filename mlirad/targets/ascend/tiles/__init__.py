"""How a kernel's loops become tiles: the loops, the vector program of a tile, and sizes that fit the unified buffer."""
