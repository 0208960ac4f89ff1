"""Decides which matrix products are computed in blocks that fit in the caches, and the size of the blocks.

Reads: sizes and layouts. Writes: nothing. Leaves: other products, whose factors are read in place.
"""

from __future__ import annotations

from dataclasses import dataclass

DEPTH = 256
"""The steps of k after which c is written back to memory, so that this part of b's panel stays in the first-level
cache."""
_LARGE = 1 << 21
"""From this many bytes on, a does not stay in the second-level cache while it is multiplied by panels of b."""
_SCATTERED = 1 << 18
"""The same if a is not contiguous along k, so that each step of a tile reads another cache line."""
_FEWEST_COLUMNS = 64
"""From this many columns of b on, it pays to pack a."""
_ROWS_BYTES, _COLUMNS_BYTES = 1 << 18, 1 << 20
"""The bytes of a block of a, and of one of b: together they fit in the second-level cache."""


@dataclass(frozen=True)
class Blocks:
    """The rows of a and the columns of b that are packed together, for DEPTH steps of k."""

    rows: int
    columns: int


def is_in_blocks(sizes: tuple[int, int, int], itemsize: int, *, is_along_k: bool) -> bool:
    """Whether a product is computed in blocks. sizes: of i, j and k; is_along_k: whether a is contiguous along k."""
    i, j, k = sizes
    return j >= _FEWEST_COLUMNS and i * k * itemsize >= (_LARGE if is_along_k else _SCATTERED)


def blocks_of(i: int, j: int, rows: int, width: int, itemsize: int) -> Blocks:
    """Blocks that consist of whole tiles of `rows` rows and `width` columns."""
    most_rows = max(1, _ROWS_BYTES // (DEPTH * itemsize * rows)) * rows
    most_columns = max(1, _COLUMNS_BYTES // (DEPTH * itemsize * width)) * width
    return Blocks(min(most_rows, -(-i // rows) * rows), min(most_columns, -(-j // width) * width))
