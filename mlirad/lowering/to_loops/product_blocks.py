"""Which products of matrices are computed in blocks that fit in the caches, and how large these are.

Reads: sizes and layouts. Writes: nothing. Leaves: other products, whose factors are read where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

DEPTH = 256
"""Steps of k between which c goes back to memory: so much of b's panel stays in the first cache."""
_LARGE = 1 << 21
"""Bytes of a from which on it no longer stays in the second cache while panels of b are multiplied with it."""
_SCATTERED = 1 << 18
"""The same where a is not contiguous along k, so that each step of a tile reads another line of the cache."""
_FEWEST_COLUMNS = 64
"""Columns of b from which on it pays to copy a."""
_ROWS_BYTES, _COLUMNS_BYTES = 1 << 18, 1 << 20
"""Of a block of a, and of one of b: together they fit in the second cache."""


@dataclass(frozen=True)
class Blocks:
    """What is packed together, for DEPTH steps of k: so many rows of a, and so many columns of b."""

    rows: int
    columns: int


def is_in_blocks(sizes: tuple[int, int, int], itemsize: int, *, is_along_k: bool) -> bool:
    """Whether a product is computed in blocks. sizes: of i, j and k; is_along_k: whether a is contiguous along k."""
    i, j, k = sizes
    return j >= _FEWEST_COLUMNS and i * k * itemsize >= (_LARGE if is_along_k else _SCATTERED)


def blocks_of(i: int, j: int, rows: int, width: int, itemsize: int) -> Blocks:
    """Blocks of whole tiles, which have so many rows and so many columns."""
    most_rows = max(1, _ROWS_BYTES // (DEPTH * itemsize * rows)) * rows
    most_columns = max(1, _COLUMNS_BYTES // (DEPTH * itemsize * width)) * width
    return Blocks(min(most_rows, -(-i // rows) * rows), min(most_columns, -(-j // width) * width))
