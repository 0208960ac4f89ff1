"""Copies parts of a product's factors into the order in which tiles read them.

Reads: a factor, as the place of each element. Writes: loops that load from the factor and store into a packed buffer.
Leaves: which part is packed and when (`register_tiles.py`), and how large it is (`product_blocks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from mlirad.lowering.across_lanes import transposed
from mlirad.lowering.loop_builder import Index, LoopBuilder, vector_of

_SQUARE = 4
"""The rows of the smaller ones of the squares, of rows and steps of k, that are transposed in registers."""

Masks = Sequence[SSAValue | None]
"""The masks of a panel's vectors; None of whole ones."""


@dataclass(frozen=True)
class PlacedFactor:
    """A matrix in memory. place: the subscripts of its element in a row and a column."""

    value: SSAValue
    place: Callable[[Index, Index], list[Index]]
    is_along_rows: bool
    """Whether the elements of a column are adjacent: those of one row number and the next."""
    is_along_columns: bool
    """Whether the elements of a row are adjacent."""

    @property
    def element(self) -> Attribute:
        assert isinstance(self.value.type, MemRefType)
        return self.value.type.element_type


@dataclass(frozen=True)
class Panel:
    """Vectors of packed columns: for each k one row of the buffer, from `row` on."""

    buffer: SSAValue
    row: Index
    lanes: int


@dataclass(frozen=True)
class Slabs:
    """Packed rows: for each k the `height` elements of a tile. The first is at `row`, each other `stride` rows on."""

    buffer: SSAValue
    row: Index
    height: int
    stride: int


def pack_columns(
    builder: LoopBuilder,
    factor: PlacedFactor,
    panel: Panel,
    depths: tuple[Index, Index],
    first: Index,
    masks: Masks,
    count: Index,
) -> None:
    """Copy the columns of b from the first on, for these k, into the panel: row by row, or transposed.

    masks: of the panel's vectors; count: the columns of b.
    """
    if factor.is_along_columns:

        def copy(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            pack_row(builder, factor, panel, builder.subtract(k, depths[0]), k, first, masks)
            return ()

        builder.loop(*depths, 1, (), copy)
        return
    last = builder.subtract(count, 1)
    is_whole = all(mask is None for mask in masks)

    def copy_columns(column: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        there = [builder.add(builder.add(first, column), lane) for lane in range(panel.lanes)]
        there = there if is_whole else [builder.minimum(each, last) for each in there]
        _pack_transposed(builder, factor, panel, depths, column, there)
        return ()

    builder.loop(0, len(masks) * panel.lanes, panel.lanes, (), copy_columns)


def pack_row(
    builder: LoopBuilder, factor: PlacedFactor, panel: Panel, row: Index, k: Index, first: Index, masks: Masks
) -> None:
    """Copy the adjacent elements of a row of b from the first on, one for each lane, into a row of the panel."""
    for v, mask in enumerate(masks):
        place = factor.place(k, builder.add(first, v * panel.lanes))
        value = builder.load(factor.value, place, panel.lanes, mask)
        builder.store(value, panel.buffer, [builder.add(panel.row, row), v * panel.lanes])


def _pack_transposed(
    builder: LoopBuilder,
    factor: PlacedFactor,
    panel: Panel,
    depths: tuple[Index, Index],
    column: Index,
    there: Sequence[Index],
) -> None:
    """Copy columns, one for each lane, into the panel's lanes from `column` on."""
    start, end = depths
    type = vector_of(factor.element, panel.lanes)

    def place(k: Index) -> list[Index]:
        return [builder.add(panel.row, builder.subtract(k, start)), column]

    def copy(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        value = builder.number(0, type)
        for lane, each in enumerate(there):
            value = builder.put(builder.load(factor.value, factor.place(k, each)), value, lane)
        builder.store(value, panel.buffer, place(k))
        return ()

    def copy_square(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        columns = [builder.load(factor.value, factor.place(k, each), panel.lanes) for each in there]
        for step, value in enumerate(transposed(builder, columns)):
            builder.store(value, panel.buffer, place(builder.add(k, step)))
        return ()

    middle = start
    if factor.is_along_rows and panel.lanes > 2:
        middle = builder.add(start, builder.round_down(builder.subtract(end, start), panel.lanes))
        builder.loop(start, middle, panel.lanes, (), copy_square)
    builder.loop(middle, end, 1, (), copy)


def pack_rows(
    builder: LoopBuilder,
    factor: PlacedFactor,
    slabs: Slabs,
    rows: tuple[Index, Index],
    depths: tuple[Index, Index],
    *,
    is_ragged: bool,
) -> None:
    """Copy these rows of a, for these k: those of a tile side by side, a row past the end as the last one.

    is_ragged: whether the number of rows may be no multiple of a tile's.
    """
    (first, last), (start, end), height = rows, depths, slabs.height
    type, end_of_rows = vector_of(factor.element, height), builder.subtract(last, 1)

    def copy_tile(i: Index, *, is_whole: bool) -> Sequence[SSAValue]:
        there = [builder.add(i, row) for row in range(height)]
        there = there if is_whole else [builder.minimum(row, end_of_rows) for row in there]
        base = builder.multiply(builder.divide(builder.subtract(i, first), height), slabs.stride)
        base = builder.add(slabs.row, base)

        def copy(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if factor.is_along_rows and is_whole:
                value = builder.load(factor.value, factor.place(i, k), height)
            else:
                value = builder.number(0, type)
                for lane, row in enumerate(there):
                    value = builder.put(builder.load(factor.value, factor.place(row, k)), value, lane)
            builder.store(value, slabs.buffer, [builder.add(base, builder.subtract(k, start)), 0])
            return ()

        middle = start
        if factor.is_along_columns and height >= _SQUARE:
            middle = builder.add(start, builder.round_down(builder.subtract(end, start), 2 * _SQUARE))
            for row, size in _squares(height):
                lanes = there[row : row + size]
                _copy_squares(builder, factor, slabs.buffer, (start, middle), lanes, (base, row))
        builder.loop(middle, end, 1, (), copy)
        return ()

    if not is_ragged:
        builder.loop(first, last, height, (), lambda i, _: copy_tile(i, is_whole=True))
        return
    whole = builder.multiply(builder.divide(builder.subtract(last, first), height), height)
    middle = builder.add(first, whole)
    builder.loop(first, middle, height, (), lambda i, _: copy_tile(i, is_whole=True))
    builder.loop(middle, last, height, (), lambda i, _: copy_tile(i, is_whole=False))


def _squares(height: int) -> list[tuple[int, int]]:
    """Rows from 0 to `height`, at least _SQUARE of them, as starts and sizes of squares; the last may overlap."""
    sizes = [2 * _SQUARE] * (height // (2 * _SQUARE))
    rest = height - sum(sizes)
    sizes += [_SQUARE] * -(-rest // _SQUARE)
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return [(min(start, height - size), size) for start, size in zip(starts, sizes, strict=True)]


def _copy_squares(
    builder: LoopBuilder,
    factor: PlacedFactor,
    buffer: SSAValue,
    depths: tuple[Index, Index],
    rows: Sequence[Index],
    corner: tuple[Index, int],
) -> None:
    """Copy these rows, for these k, transposed, to the buffer's row and column at the corner."""
    (start, end), (row, column) = depths, corner

    def square(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        values = [builder.load(factor.value, factor.place(each, k), len(rows)) for each in rows]
        for step, value in enumerate(transposed(builder, values)):
            there = builder.add(row, builder.subtract(builder.add(k, step), start))
            builder.store(value, buffer, [there, column])
        return ()

    builder.loop(start, end, len(rows), (), square)
