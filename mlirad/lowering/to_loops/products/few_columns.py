"""Lowers products with few columns: vectors run along the sum, as c has too few columns to fill one.

Reads: products whose first factor is contiguous along k. Writes: scf, memref, vector ops, as `register_tiles.py`.
Leaves: other products, whose vectors run along c's columns.

A tile is some rows x all columns, with a vector of partial sums for each element; their lanes are added at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as pairs

from xdsl.dialects import arith, vector
from xdsl.ir import SSAValue

from mlirad.dialect.core.types import itemsize
from mlirad.lowering.across_lanes import fold_lanes
from mlirad.lowering.loop_body import select
from mlirad.lowering.loop_builder import Index, LoopBuilder, memref_of, vector_of
from mlirad.lowering.to_loops.loop_nest import Nest, loops_around
from mlirad.lowering.to_loops.products.joined_nests import JoinedNest
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.product_blocks import has_few_columns
from mlirad.lowering.to_loops.products.register_tiles import ContractionEmitter
from mlirad.lowering.to_loops.scratch import scratch

_SUMS, _SUMS_WIDE = 8, 24
"""The sums of a tile, of the 16 registers of narrower vectors and of the 32 of 64 bytes."""


class FewColumns(ContractionEmitter):
    """Builds the loops of one contraction. Columns of b that are not contiguous are copied, DEPTH steps at a time."""

    def __init__(
        self,
        contraction: Contraction,
        nest: Nest,
        vector_bytes: int,
        builder: LoopBuilder,
        before: JoinedNest | None = None,
        *,
        is_first: bool = False,
    ):
        """before: what computes the elements of a, if they are not stored."""
        super().__init__(contraction, nest, vector_bytes, builder, is_first=is_first)
        self.before = before
        columns = nest.sizes[contraction.j]
        assert isinstance(columns, int)
        self.columns = columns
        self.lanes = vector_bytes // itemsize(self.element)
        self.rows = _rows_of_tile(nest.sizes[contraction.i], (_SUMS_WIDE if vector_bytes >= 64 else _SUMS) // columns)
        self.is_in_place = contraction.b.is_unit(contraction.k)

    @staticmethod
    def is_for(product: Contraction, nest: Nest, vector_bytes: int) -> bool:
        sizes = (nest.sizes[product.i], nest.sizes[product.j], nest.sizes[product.k])
        lanes = vector_bytes // itemsize(product.c.element)
        return product.a.is_unit(product.k) and has_few_columns(sizes, lanes)

    def emit(self) -> None:
        if not self.is_in_place:
            (self.panel,) = scratch(self.builder, memref_of(self.element, (self.columns, self.depth)))
        loops_around(self.builder, self.sizes, self.product.others, self.subscripts, self._row_blocks)

    def _columns(self, start: Index, end: Index) -> None:
        builder, count = self.builder, self.sizes[self.product.i]
        if not self.is_in_place:
            self._copy_columns(start, end)
        last = builder.subtract(count, 1)

        def tile(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            rows = [first, *(builder.minimum(builder.add(first, row), last) for row in range(1, self.rows))]
            self._row_tile(rows, start, end)
            return ()

        builder.loop(0, count, self.rows, (), tile)

    def _copy_columns(self, start: Index, end: Index) -> None:
        builder, product, panel = self.builder, self.product, self.panel
        assert panel is not None

        def copy(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for column in range(self.columns):
                value = builder.load(product.b.value, self._place(product.b, {product.k: k, product.j: column}))
                builder.store(value, panel, [column, builder.subtract(k, start)])
            return ()

        builder.loop(start, end, 1, (), copy)

    def _row_tile(self, rows: Sequence[Index], start: Index, end: Index) -> None:
        builder, product, lanes = self.builder, self.product, self.lanes
        type = vector_of(self.element, lanes)
        middle = builder.add(start, builder.round_down(builder.subtract(end, start), lanes))

        def step(k: Index, values: Sequence[SSAValue], mask: SSAValue | None = None) -> Sequence[SSAValue]:
            columns = [self._column(column, k, start, mask) for column in range(self.columns)]
            parts = [self._part({product.i: row, product.k: k}, mask) for row in rows]
            terms = zip(pairs(parts, columns), values, strict=True)
            return [builder.op(vector.FMAOp, [part, column, value], type) for (part, column), value in terms]

        def rest(k: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return step(k, values, builder.mask(builder.subtract(end, k), lanes))

        zeros = [builder.number(0, type)] * (len(rows) * self.columns)
        sums = builder.loop(start, middle, lanes, zeros, step)
        self._store_sums(rows, builder.loop(middle, end, lanes, sums, rest))

    def _part(self, point: dict[int, Index], mask: SSAValue | None) -> SSAValue:
        """The elements of a row of a, from a point on; zeros behind its end."""
        builder, a = self.builder, self.product.a
        if self.before is None:
            return builder.load(a.value, self._place(a, point), self.lanes, mask)
        value = self.before.vector(builder, self.subscripts | point, self.lanes, mask)
        return value if mask is None else select(builder, mask, value, builder.number(0, value.type))

    def _column(self, column: int, k: Index, start: Index, mask: SSAValue | None) -> SSAValue:
        """The elements from k on of a column of b."""
        b, panel = self.product.b, self.panel
        if self.is_in_place:
            place = self._place(b, {self.product.k: k, self.product.j: column})
            return self.builder.load(b.value, place, self.lanes, mask)
        assert panel is not None
        return self.builder.load(panel, [column, self.builder.subtract(k, start)], self.lanes, mask)

    def _store_sums(self, rows: Sequence[Index], sums: Sequence[SSAValue]) -> None:
        builder, product = self.builder, self.product
        places = [self._place(product.c, {product.i: i, product.j: j}) for i, j in pairs(rows, range(self.columns))]
        totals = [fold_lanes(builder, each, self._add) for each in sums]
        if not self.is_first:  # all are read before one is written, as a row may be repeated
            old = [builder.load(product.c.value, place) for place in places]
            totals = [self._add(*pair) for pair in zip(old, totals, strict=True)]
        for total, place in zip(totals, places, strict=True):
            builder.store(total, product.c.value, place)

    def _add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.op(arith.AddfOp, [a, b], a.type)


def _rows_of_tile(count: Index, most: int) -> int:
    """As few as keep the number of tiles: rows past the end are computed, too."""
    return -(-count // -(-count // most)) if isinstance(count, int) else most
