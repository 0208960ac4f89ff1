"""Decides which matrix products are computed in blocks that fit in the caches, and the sizes of blocks and tiles.

Reads: sizes and layouts. Writes: nothing. Leaves: other products, whose factors are read in place.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.analysis import cost
from mlirad.lowering.loop_builder import Index

DEPTH = 256
"""The steps of k after which c is written back to memory, so that this part of b's panel stays in the first-level
cache."""
LINE = 64
"""The bytes of a cache line."""
AHEAD = 12
"""The steps of k by which packed rows of a are fetched from the second-level cache before they are read."""
STEPS_PER_ROW = 16
"""The steps of k after which the next row of c is fetched."""
_SHORT, _WIDE = 32, 1 << 11
"""Sums of at most so many steps, and rows of at least so many bytes, take less time than writing the result."""
_LONG = 4
"""From so many vectors on, a sum along k is long."""
_PACK_FROM = 1 << 15
"""From this many elements of b on, its rows are packed, so that a tile reads one page instead of one per row."""
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


def is_in_blocks(sizes: tuple[Index, Index, Index], itemsize: int, *, is_along_k: bool) -> bool:
    """Whether a product is computed in blocks. sizes: of i, j and k; is_along_k: whether a is contiguous along k."""
    i, j, k = sizes
    if not (isinstance(i, int) and isinstance(j, int) and isinstance(k, int)):
        return False
    return j >= _FEWEST_COLUMNS and i * k * itemsize >= (_LARGE if is_along_k else _SCATTERED)


def has_few_columns(sizes: tuple[Index, Index, Index], lanes: int) -> bool:
    """Whether vectors run along k: columns of c fill at most half a vector, and sums are long.

    This rounds otherwise, so it depends on sizes alone. A product of which threads compute parts has many rows.
    """
    i, j, k = sizes
    if not (isinstance(j, int) and isinstance(k, int)) or (isinstance(i, int) and i * j * k < cost.MANY_PRODUCTS):
        return False
    return 2 <= j <= lanes // 2 and k >= _LONG * lanes


def packs_columns(sizes: tuple[Index, Index, Index], rows: int) -> bool:
    """Whether columns of b are packed although b is contiguous along them. rows: of a tile."""
    i, j, k = sizes
    if not (isinstance(i, int) and isinstance(j, int) and isinstance(k, int)):
        return False
    return j * k >= _PACK_FROM and i > 2 * rows


def writes_rows_in_order(j: Index, k: Index, itemsize: int) -> bool:
    """Whether a result is written some whole rows at a time, because that takes longer than the sums."""
    if not (isinstance(j, int) and isinstance(k, int)):
        return False
    return k <= _SHORT and j * itemsize >= _WIDE and j * k * itemsize <= _COLUMNS_BYTES


def blocks_of(i: Index, j: Index, rows: int, width: int, itemsize: int) -> Blocks:
    """Blocks that consist of whole tiles of `rows` rows and `width` columns."""
    assert isinstance(i, int) and isinstance(j, int)
    most_rows = max(1, _ROWS_BYTES // (DEPTH * itemsize * rows)) * rows
    most_columns = max(1, _COLUMNS_BYTES // (DEPTH * itemsize * width)) * width
    return Blocks(min(most_rows, -(-i // rows) * rows), min(most_columns, -(-j // width) * width))


def rows_of_tile(size: Index, vector_bytes: int, *, is_packed: bool) -> int:
    """Rows of a tile: what registers hold, or a little less where that wastes fewer rows at the end."""
    most = (12 if is_packed else 8) if vector_bytes >= 64 else 6
    if not isinstance(size, int) or size <= most:
        return min(size, most) if isinstance(size, int) else most
    return min(range(most, max(most // 2, 4) - 1, -1), key=lambda rows: (-size % rows) / size + 0.02 * (most - rows))
