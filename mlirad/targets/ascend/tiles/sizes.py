"""How large the tiles of a kernel are.

Reads: a nest, the slots of its program, the numbers of a chip. Writes: `TileSizes`. Leaves: nothing.

A tile is as large as the unified buffer allows, but each core gets two tiles or more, if they have SMALLEST bytes:
while it computes one, transfers bring the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute

from mlirad.dialect.core import types
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, AddressSpaceAttr
from mlirad.targets.ascend.soc import Soc
from mlirad.targets.ascend.tiles.nest import BufferKind, Nest
from mlirad.targets.ascend.tiles.slots import Slot

UB = AddressSpaceAttr(AddressSpace.UB)
SMALLEST = 2048
"""Bytes of a tile of f32, below which the work of a core is not divided further."""


@dataclass(frozen=True)
class TileSizes:
    """rows, columns: of a full tile. alignment: of each of its lines, in bytes."""

    rows: int
    columns: int
    alignment: int

    def shape(self, kind: BufferKind, has_rows: bool, element: Attribute) -> tuple[int, ...]:
        """What is allocated for a tile. Lines of rows or columns begin at aligned addresses."""

        def padded(count: int) -> int:
            return _up(count, 8 * self.alignment // bits_of(element))

        match kind:
            case BufferKind.TILE:
                return (self.rows, padded(self.columns)) if has_rows else (padded(self.columns),)
            case BufferKind.ROW:
                return (1, padded(self.columns))
            case BufferKind.COLUMN:
                return (self.rows,)
            case BufferKind.TURNED:
                return (self.columns, padded(self.rows))
            case _:
                return (1, 1) if has_rows else (1,)


def bits_of(element: Attribute) -> int:
    """Of an element in the unified buffer."""
    return element.width.data if isinstance(element, IntegerType) else 8 * types.to_dtype(element).itemsize


def bytes_of(type: MemRefType) -> int:
    """Of a buffer in the unified buffer."""
    return -(-math.prod(type.get_shape()) * bits_of(type.element_type) // 8)


def sizes_of(nest: Nest, slots: Collection[Slot], soc: Soc) -> TileSizes:
    """The sizes of the tiles of a kernel."""
    tiling, loops = nest.tiling, nest.loops
    step = 8 * soc.repeat_bytes // min((max(8, bits_of(slot.element)) for slot in slots), default=32)
    rows = 1 if tiling.rows is None else loops.extents[tiling.rows]
    columns = loops.extents[tiling.columns]
    has_rows = tiling.rows is not None

    def sizes(rows: int, columns: int) -> TileSizes:
        return TileSizes(rows, columns, soc.ub_alignment)

    def fits(rows: int, columns: int) -> bool:
        return bytes_needed(sizes(rows, columns), slots, has_rows, soc) <= soc.ub_usable_bytes

    columns = min(columns, _largest(lambda each: fits(1, each), columns, step))
    rows = min(rows, _largest(lambda each: fits(each, columns), rows, 1))
    waiting = 2 * soc.vector_cores
    outer = math.prod(
        extent
        for dim, extent in enumerate(loops.extents)
        if dim not in (tiling.rows, tiling.columns) and not loops.reduced[dim]
    )
    if has_rows and not loops.reduced[tiling.rows or 0]:
        wanted = -(-loops.extents[tiling.rows or 0] * outer // waiting)
        rows = min(rows, max(wanted, -(-SMALLEST // (4 * columns))))
    elif not loops.reduced[tiling.columns]:
        wanted = _up(-(-loops.extents[tiling.columns] * outer // waiting), step)
        columns = min(columns, max(wanted, SMALLEST // (4 * rows) // step * step, step))
    return sizes(rows, columns)


def bytes_needed(sizes: TileSizes, slots: Collection[Slot], has_rows: bool, soc: Soc) -> int:
    """Of the unified buffer, each slot on an aligned address."""
    return sum(slot.copies * _up(bytes_of(buffer_type(sizes, slot, has_rows)), soc.ub_alignment) for slot in slots)


def buffer_type(sizes: TileSizes, slot: Slot, has_rows: bool) -> MemRefType:
    """The buffer of a slot."""
    return MemRefType(slot.element, sizes.shape(slot.kind, has_rows, slot.element), memory_space=UB)


def _largest(fits: Callable[[int], bool], limit: int, step: int) -> int:
    """The largest multiple of `step` (or `limit` itself) that fits."""
    if fits(limit):
        return limit
    low, high = 1, -(-limit // step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * step) else (low, middle)
    return low * step


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
