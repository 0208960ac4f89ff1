"""The loops of a product over panels of columns, and over blocks that fit in the caches, for one thread or for several.

Reads: sizes of blocks. Writes: scf.for, and scf.parallel for threads. Leaves: how panels are packed and multiplied.

One thread takes a block of rows of a at a time. For DEPTH steps of k after the other, it packs these rows, then blocks
of columns of b, and multiplies each by all of these rows. Threads pack a block of columns together. Then each
multiplies strips of rows by it. Each strip packs its rows in memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.ir import SSAValue

from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.products.packed_factors import Masks
from mlirad.lowering.to_loops.products.product_blocks import DEPTH, STRIPS, Blocks

_Range: TypeAlias = tuple[Index, Index]
_Pack: TypeAlias = Callable[[_Range, Index], None]
"""Packs columns of the block that begins at a column."""
_PackRows: TypeAlias = Callable[[_Range, Index], None]
"""Packs rows, from a row of the slabs on."""
_Multiply: TypeAlias = Callable[[_Range, _Range, Index], None]
"""Multiplies packed rows, which begin at a row of the slabs, by the columns of a block."""


def slab_rows(blocks: Blocks, rows: Index, height: int) -> int:
    """The rows of all slabs: one slab, or one for each strip. height: the rows of a tile."""
    assert isinstance(rows, int)
    return (1 if blocks.strip is None else -(-rows // blocks.strip)) * _rows_of_slab(blocks, height)


def loop_over_rows(builder: LoopBuilder, blocks: Blocks, rows: _Range, block: Callable[[_Range], None]) -> None:
    """Blocks of rows, from one row to another."""

    def body(i: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        block((i, builder.minimum(builder.add(i, blocks.rows), rows[1])))
        return ()

    builder.loop(*rows, blocks.rows, (), body)


def loops_over_blocks(
    builder: LoopBuilder,
    blocks: Blocks,
    sizes: tuple[_Range, Index],
    tile: tuple[int, int],
    pack: _Pack,
    pack_rows: _PackRows,
    multiply: _Multiply,
) -> None:
    """sizes: the rows, for one thread those of a block, and the number of columns; tile: those of a tile."""
    rows, columns = sizes

    def column_blocks(block: Callable[[_Range], None]) -> None:
        def body(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            block((first, builder.minimum(builder.add(first, blocks.columns), columns)))
            return ()

        builder.loop(0, columns, blocks.columns, (), body)

    def all_columns(here: _Range) -> None:
        def block(there: _Range) -> None:
            pack(there, there[0])
            multiply(here, there, 0)

        pack_rows(here, 0)
        column_blocks(block)

    def in_strips(strip: int, there: _Range) -> None:
        first, last = there
        step = -(-blocks.columns // (tile[1] * STRIPS)) * tile[1]

        def pack_part(column: Index) -> None:
            start = builder.add(first, column)
            pack((start, builder.minimum(builder.add(start, step), last)), first)

        def multiply_strip(i: Index) -> None:
            slab = builder.multiply(builder.divide(i, strip), _rows_of_slab(blocks, tile[0]))

            def block(here: _Range) -> None:
                pack_rows(here, slab)
                multiply(here, there, slab)

            loop_over_rows(builder, blocks, (i, builder.minimum(builder.add(i, strip), rows[1])), block)

        builder.parallel(builder.subtract(last, first), step, pack_part)
        builder.parallel(rows[1], strip, multiply_strip)

    if blocks.strip is None:
        all_columns(rows)
    else:
        column_blocks(partial(in_strips, blocks.strip))


def loops_over_panels(
    builder: LoopBuilder,
    here: _Range,
    columns: Index,
    vectors: int,
    lanes: int,
    panel: Callable[[Index, Masks], None],
    *,
    is_narrow: bool,
) -> None:
    """Panels of columns of `here`: whole ones, then the rest under masks. All are masked if their number is not known.

    columns: how many the product has. is_narrow: whether the rest has only the vectors that it needs.
    """
    (start, end), width = here, vectors * lanes
    main = columns - columns % width if isinstance(columns, int) else 0

    def whole(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        panel(first, [None] * vectors)
        return ()

    def masked(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        needed = -(-(columns - main) // lanes) if is_narrow and isinstance(columns, int) else vectors
        counts = [builder.subtract(columns, builder.add(first, v * lanes)) for v in range(needed)]
        panel(first, [builder.mask(count, lanes) for count in counts])
        return ()

    builder.loop(start, main if end is columns else builder.minimum(end, main), width, (), whole)
    first = main if end is columns else builder.maximum(start, main)
    if not isinstance(columns, int):
        builder.loop(first, end, width, (), masked)
    elif main != columns:
        builder.last(first, end, (), masked)


def _rows_of_slab(blocks: Blocks, height: int) -> int:
    return blocks.rows // height * DEPTH
