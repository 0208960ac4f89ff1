"""The sizes of a kernel's tiles.

Reads: a nest, the memory limits, the numbers of a chip. Writes: `TileSizes`. Leaves: nothing.

A tile is as large as the unified buffer allows, but each core gets at least two tiles, if these have SMALLEST bytes:
while it computes one, transfers load the next. The option `tile` overrides this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from mlirad.targets.ascend.hivm.instruction import element_bits
from mlirad.targets.ascend.soc import Soc
from mlirad.targets.ascend.tiles.nest import BufferKind, Nest

SMALLEST = 2048
"""Below this size of a tile of f32, in bytes, the work of a core is not divided further."""


@dataclass(frozen=True)
class TileSizes:
    """rows, columns: of a full tile. alignment: of each of its lines, in bytes. block: the number of lines is padded to
    a multiple of it if tiles are transposed, because whole blocks are."""

    rows: int
    columns: int
    alignment: int
    block: int = 1

    def shape(self, kind: BufferKind, has_rows: bool, element: Attribute) -> tuple[int, ...]:
        """The allocated shape of a tile. Lines of rows or columns begin at aligned addresses."""

        def padded(count: int) -> int:
            return up(up(count, self.block), 8 * self.alignment // element_bits(element))

        match kind:
            case BufferKind.TILE:
                return (up(self.rows, self.block), padded(self.columns)) if has_rows else (padded(self.columns),)
            case BufferKind.ROW:
                return (1, padded(self.columns))
            case BufferKind.COLUMN:
                return (self.rows, padded(1))
            case BufferKind.PACKED:
                return (self.rows,)
            case BufferKind.TURNED:
                return (up(self.columns, self.block), padded(self.rows))
            case _:
                return (1, 1) if has_rows else (1,)


def bytes_of(type: MemRefType) -> int:
    """The bytes of a buffer in the unified buffer."""
    return -(-math.prod(type.get_shape()) * element_bits(type.element_type) // 8)


def asked_sizes(nest: Nest, tile: Sequence[int], soc: Soc) -> TileSizes:
    """The sizes given by the option `tile`: the elements of a tile, or its rows and columns.

    No tile is larger than the array. A tile of `n` elements has whole lines if `n` is enough for one line.
    """
    tiling, extents = nest.tiling, nest.loops.extents
    columns = min(tile[-1], extents[tiling.columns])
    rows = 1
    if tiling.rows is not None:
        rows = min(tile[0] if len(tile) == 2 else max(1, tile[0] // columns), extents[tiling.rows])
    return TileSizes(rows, columns, soc.ub_alignment, block_of(nest))


def block_of(nest: Nest) -> int:
    """Transposes exchange blocks of 16 rows and columns."""
    return 16 if BufferKind.TURNED in nest.kinds else 1


def sizes_of(nest: Nest, element_bytes: int, soc: Soc, fits: Callable[[TileSizes], bool]) -> TileSizes:
    """The sizes of the tiles of a kernel. element_bytes: of the smallest element in a tile."""
    tiling, loops = nest.tiling, nest.loops
    step, block = soc.repeat_bytes // element_bytes, block_of(nest)
    rows = 1 if tiling.rows is None else loops.extents[tiling.rows]
    columns = loops.extents[tiling.columns]

    def sizes(rows: int, columns: int) -> TileSizes:
        return TileSizes(rows, columns, soc.ub_alignment, block)

    columns = min(columns, largest(lambda each: fits(sizes(1, each)), columns, step))
    rows = min(rows, largest(lambda each: fits(sizes(each, columns)), rows, block))
    waiting = 2 * soc.vector_cores
    outer = math.prod(
        extent
        for dim, extent in enumerate(loops.extents)
        if dim not in (tiling.rows, tiling.columns) and not loops.reduced[dim]
    )
    if tiling.rows is not None and not loops.reduced[tiling.rows]:
        wanted = -(-loops.extents[tiling.rows] * outer // waiting)
        rows = min(rows, up(max(wanted, -(-SMALLEST // (4 * columns))), block))
    elif not loops.reduced[tiling.columns]:
        wanted = up(-(-loops.extents[tiling.columns] * outer // waiting), step)
        columns = min(columns, max(wanted, SMALLEST // (4 * rows) // step * step, step))
    return sizes(rows, columns)


def largest(fits: Callable[[int], bool], limit: int, step: int) -> int:
    """The largest multiple of `step` (or `limit` itself) that fits; of a smaller step if none does; at least 1."""
    if fits(limit):
        return limit
    while step > 1 and not fits(step):
        step //= 2
    low, high = 1, -(-limit // step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * step) else (low, middle)
    return low * step


def up(value: int, step: int) -> int:
    """The next multiple of a step."""
    return -(-value // step) * step
