"""Decides which matrix products are computed in blocks that fit in the caches, and the sizes of blocks and tiles.

Reads: sizes and layouts. Writes: nothing. Leaves: other products, whose factors are read in place.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.lowering.loop_builder import Index

DEPTH = 256
"""The steps of k after which c is written back to memory, so that this part of b's panel stays in the first-level
cache."""
_WHOLE = 640
"""Sums of at most so many steps are stored once into memory that was only cleared. A panel then comes from the
second-level cache, which takes less time than to access c, far away, once more."""
LINE = 64
"""The bytes of a cache line."""
AHEAD = 12
"""The steps of k by which packed rows of a are fetched from the second-level cache before they are read."""
COLUMNS_AHEAD = 8
"""The same of packed columns of b: with the rows of a they exceed a first-level cache of 32 KB."""
STEPS_PER_ROW = 16
"""The steps of k after which the next row of c is fetched."""
_SHORT, _WIDE = 32, 1 << 9
"""Sums of at most so many steps, and rows of at least so many bytes, take less time than writing the result."""
_IN_ORDER = 1 << 20
"""Up to so many bytes of b stay in the second-level cache while rows of the result are written."""
_PAGE = 1 << 12
"""Rows of at least so many bytes lie in pages of their own: a panel of columns takes a line or two from each."""
_FEW_ROWS = 16
"""A large b is read in place for at most so many rows of a, and is packed for more."""
FEW_STEPS = 16
"""The steps of k that are summed at a time if b is read in place: so many of its rows are read side by side."""
_LONG = 4
"""From so many vectors on, a sum along k is long."""
FIRST_CACHE = 1 << 15
"""The bytes of a first-level cache. A larger b is packed, so that a panel is one piece of it: lines of rows that are a
power of two apart displace one another. Lines of a larger panel are fetched ahead."""
_LARGE = 5 << 17
"""From this many bytes on, a does not stay in a second-level cache of 1 MB while it is multiplied by panels of b."""
_FAR = 1 << 22
"""From this many bytes on, b comes from far behind the second-level cache. At 3.2 MB, with 64 rows of a, nothing is
gained."""
_SCATTERED = 1 << 18
"""The same if a is not contiguous along k, so that each step of a tile reads another cache line."""
_REPEATED = 1 << 15
"""The same if a is packed once, before loops in which it is multiplied."""
_FEWEST_COLUMNS = 64
"""From this many columns of b on, it pays to pack a."""
_ROWS_BYTES, _COLUMNS_BYTES = 1 << 21, 1 << 19
"""The bytes of a block of a, and of one of b, which stays in the second-level cache while rows of a go by."""
_STRIP_BYTES, _SHARED_BYTES = 1 << 18, 1 << 20
"""The same if threads share a block of b: a thread's rows stay in its cache while columns of b go by."""
_SHARED = 1 << 25
"""From so many multiplications by a block of b on, threads share them: far more work than to begin and to wait."""
_NARROW = 1 << 10
"""Rows of b of fewer bytes are no reason to pack a if each thread reads a few rows of a only, along k."""
STRIPS = 16
"""So many strips of rows are enough for threads, and each has packed rows of its own."""


@dataclass(frozen=True)
class Blocks:
    """The rows of a and the columns of b that are packed together, for DEPTH steps of k.

    strip: the rows that a thread multiplies by a block of columns at a time; None if there is one thread.
    """

    rows: int
    columns: int
    strip: int | None = None


def is_in_blocks(sizes: tuple[Index, Index, Index], itemsize: int, *, is_along_k: bool, is_along_j: bool) -> bool:
    """Whether a product is computed in blocks. sizes: of i, j and k; is_along_k: whether a is contiguous along k;
    is_along_j: whether b is a matrix in memory that is contiguous along j."""
    i, j, k = sizes
    if not (isinstance(i, int) and isinstance(j, int) and isinstance(k, int)):
        return False
    if is_along_j and i > _FEW_ROWS and _has_long_rows(j, k, itemsize):
        return True
    return j >= _FEWEST_COLUMNS and i * k * itemsize >= (_LARGE if is_along_k else _SCATTERED)


def is_in_blocks_if_repeated(sizes: tuple[Index, Index, Index], itemsize: int) -> bool:
    """The same of a product whose rows of a are packed once for many products: from fewer bytes of a on, or if b is so
    large that whole rows of it should be read, and whole rows of c written."""
    i, j, k = sizes
    if not (isinstance(i, int) and isinstance(j, int) and isinstance(k, int)):
        return False
    is_large = i * k * itemsize >= _REPEATED or j * k * itemsize >= _COLUMNS_BYTES
    return i >= _FEW_ROWS and j >= _FEWEST_COLUMNS and is_large


def is_shared_in_blocks(sizes: tuple[Index, Index, Index], itemsize: int, *, is_along_k: bool) -> bool:
    """Whether threads share each block of b of a product in blocks, instead of each having a part of the product."""
    i, j, k = sizes
    assert isinstance(i, int) and isinstance(j, int) and isinstance(k, int)
    if is_along_k and j * itemsize < _NARROW:
        return False
    return i * _multiplications(j, k, itemsize) >= _SHARED


def _multiplications(j: int, k: int, itemsize: int) -> int:
    """Those of a row of a by a block of b."""
    return min(j, _SHARED_BYTES // (DEPTH * itemsize)) * min(k, DEPTH)


def has_few_columns(sizes: tuple[Index, Index, Index], lanes: int) -> bool:
    """Whether vectors run along k: columns of c fill at most half a vector, and sums are long.

    This rounds otherwise, so it depends on these sizes alone: not on rows, of which nests and threads compute parts.
    """
    _, j, k = sizes
    return isinstance(j, int) and isinstance(k, int) and 2 <= j <= lanes // 2 and k >= _LONG * lanes


def computes_transposed(sizes: tuple[Index, Index, Index], itemsize: int, lanes: int) -> bool:
    """Whether a product is computed as the transpose of b.T @ a.T, if a is contiguous along i: columns of c do not fill
    a vector, or a is large, and should be read in whole rows."""
    i, j, k = sizes
    if not (isinstance(i, int) and isinstance(j, int)) or not 2 <= j <= min(i // 2, _FEW_ROWS) or i < lanes:
        return False
    return (j < lanes and (not isinstance(k, int) or k >= lanes)) or reads_rows_in_order((j, i, k), itemsize)


def packs_columns(sizes: tuple[Index, Index, Index], itemsize: int) -> bool:
    """Whether columns of b are packed although b is contiguous along them."""
    i, j, k = sizes
    if not (isinstance(i, int) and isinstance(j, int) and isinstance(k, int)):
        return False
    return j * k * itemsize >= FIRST_CACHE and i > _FEW_ROWS


def writes_rows_in_order(j: Index, k: Index, itemsize: int) -> bool:
    """Whether a result is written some whole rows at a time, because that takes longer than the sums."""
    if not (isinstance(j, int) and isinstance(k, int)):
        return False
    return k <= _SHORT and j * itemsize >= _WIDE and j * k * itemsize <= _IN_ORDER


def reads_rows_in_order(sizes: tuple[Index, Index, Index], itemsize: int) -> bool:
    """Whether a few whole rows of b are read at a time, because that takes longer than the sums."""
    i, j, k = sizes
    if not (isinstance(i, int) and isinstance(j, int) and isinstance(k, int)):
        return False
    return i <= _FEW_ROWS and _has_long_rows(j, k, itemsize)


def steps_at_once(sizes: tuple[Index, Index, Index], itemsize: int, *, is_large: bool, is_by_threads: bool) -> int:
    """The most steps of a sum that is stored without reading c, which holds nothing yet. is_large: of a product in
    blocks. is_by_threads: if threads run, a panel may be on a thread's stack, which has 32 KB for arrays."""
    return DEPTH if is_large or is_by_threads or reads_rows_in_order(sizes, itemsize) else _WHOLE


def packs_in_rows(j: Index, itemsize: int) -> bool:
    """Whether a block of b is packed a row at a time, not a panel at a time. j: the columns of b."""
    return isinstance(j, int) and j * itemsize >= _PAGE


def _has_long_rows(j: int, k: int, itemsize: int) -> bool:
    """Whether b does not stay in the second-level cache, and each step down a panel reads another page."""
    return j * itemsize >= _PAGE and j * k * itemsize >= _FAR


def blocks_of(i: Index, j: Index, rows: int, width: int, itemsize: int, *, is_by_threads: bool) -> Blocks:
    """Blocks that consist of whole tiles of `rows` rows and `width` columns."""
    assert isinstance(i, int) and isinstance(j, int)
    step = DEPTH * itemsize
    if is_by_threads:
        strip = _round_up(-(-i // STRIPS), rows)
        most_rows, most_columns = _STRIP_BYTES // (step * rows) * rows, _SHARED_BYTES // (step * width) * width
        return Blocks(min(max(rows, most_rows), strip), min(most_columns, _round_up(j, width)), strip)
    count = -(-i * step // _ROWS_BYTES)  # about equal blocks: each packs all of b again
    most_columns = _COLUMNS_BYTES // (step * width) * width
    return Blocks(_round_up(-(-i // count), rows), min(most_columns, _round_up(j, width)))


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def vectors_of_tile(
    columns: Index, lanes: int, *, has_32_registers: bool, is_packed: bool, is_shared: bool = False
) -> int:
    """Adjacent vectors of c in a tile. With 4, a tile of 6 rows has 10 loads for 24 multiply-adds, and with 2, one of 8
    rows has 10 for 16. But columns must not leave a narrow panel at the end. Packed tiles of 8 rows and 3 vectors have
    11 loads, and no more rows than a first-level cache has ways: rows a power of two apart all stay in it. Tiles that
    products share leave no rest of the columns, for which they would need another function."""
    if not isinstance(columns, int):
        return 2
    count = -(-columns // lanes)
    if is_packed and has_32_registers and (count % 3 == 0 or (count > 8 and not is_shared)):
        return 3
    if is_shared and count % 4:
        return min(count, 2)
    return 4 if has_32_registers and (count % 4 == 0 or count > 8) else min(count, 2)


def rows_of_tile(size: Index, vectors: int, *, has_32_registers: bool, is_packed: bool) -> int:
    """Rows of a tile: what registers hold, or a little less where that wastes fewer rows at the end."""
    most = (24 // vectors if is_packed else 6 if vectors > 2 else 8) if has_32_registers else 6
    if not isinstance(size, int) or size <= most:
        return min(size, most) if isinstance(size, int) else most
    return min(range(most, max(most // 2, 4) - 1, -1), key=lambda rows: (-size % rows) / size + 0.02 * (most - rows))
