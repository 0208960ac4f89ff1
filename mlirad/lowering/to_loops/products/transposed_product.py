"""Computes products with few columns as their transpose, if the first factor is contiguous along i, as in `x.T @ d`.

Reads: products c[i, j] += a[i, k] * b[k, j], a contiguous along i. Writes: scf, memref, vector ops, as
`register_tiles.py`. Leaves: other products.

Vectors along c's few columns would be short, and a would be read a few elements of a row at a time. So c.T = b.T @ a.T
is computed in a small buffer, in whole vectors along i, and large factors are read in whole rows. The buffer begins as
what c holds, and is written back at the end: each sum has its steps in the same order as in `register_tiles.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from mlirad.dialect.core.types import itemsize
from mlirad.lowering.across_lanes import transposed
from mlirad.lowering.loop_builder import Index, LoopBuilder, memref_of, vector_of
from mlirad.lowering.to_loops.loop_nest import Nest, Operand, Subscript, loops_around
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.product_blocks import (
    computes_transposed,
    reads_rows_in_order,
    steps_at_once,
)
from mlirad.lowering.to_loops.products.register_tiles import ContractionEmitter
from mlirad.lowering.to_loops.products.shared_tiles import SharedTiles
from mlirad.lowering.to_loops.scratch import is_on_stack, scratch

_BUFFER, _ON_STACK = 1 << 18, 1 << 13
"""The most bytes of a buffer, and of one on a thread's stack."""


class TransposedProduct:
    """Builds the loops of one contraction."""

    def __init__(
        self,
        product: Contraction,
        nest: Nest,
        vector_bytes: int,
        builder: LoopBuilder,
        shared: SharedTiles | None,
        *,
        is_first: bool,
    ):
        """is_first: whether c holds nothing yet."""
        self.product = product
        self.nest = nest
        self.vector_bytes = vector_bytes
        self.builder = builder
        self.shared = shared
        self.is_first = is_first
        self.element = product.c.element
        rows, columns, self.steps = product.extents(nest)
        assert isinstance(rows, int) and isinstance(columns, int)
        self.rows, self.columns = rows, columns
        self.side = 1 << (columns - 1).bit_length()
        """The rows and columns of the squares that are transposed in registers."""
        self.subscripts: dict[int, Index] = {}

    @staticmethod
    def is_for(product: Contraction, nest: Nest, vector_bytes: int, builder: LoopBuilder) -> bool:
        rows, columns, _ = sizes = product.extents(nest)
        bytes = itemsize(product.c.element)
        if not product.a.is_unit(product.i) or not isinstance(rows, int) or not isinstance(columns, int):
            return False
        most = _ON_STACK if is_on_stack(builder) else _BUFFER
        return rows * columns * bytes <= most and computes_transposed(sizes, bytes, vector_bytes // bytes)

    def emit(self) -> None:
        product = self.product
        (self.buffer,) = scratch(self.builder, memref_of(self.element, (self.columns, self.rows)))
        outer = [d for d in product.others if d in product.c.dimensions]
        loops_around(self.builder, self.nest.sizes, outer, self.subscripts, self._one)

    def _one(self) -> None:
        """A product of two matrices."""
        product, sizes, bytes = self.product, (self.columns, self.rows, self.steps), itemsize(self.element)
        most = steps_at_once(sizes, bytes, is_large=False, is_by_threads=False)
        is_short = isinstance(self.steps, int) and self.steps <= most and not reads_rows_in_order(sizes, bytes)
        is_first = self.is_first and is_short
        if not is_first:
            self._squares(self._fill_square)
        subscripts = Subscript.of(product.j), Subscript.of(product.i)
        result = Operand(self.buffer, subscripts, (self.columns, self.rows), (self.rows, 1))
        inner = tuple(d for d in product.others if d not in product.c.dimensions)
        transposed = Contraction(product.b, product.a, result, product.j, product.i, product.k, inner)
        emitter = ContractionEmitter(
            transposed, self.nest, self.vector_bytes, self.builder, self.shared, is_first=is_first
        )
        assert not emitter.is_packed, "a panel would lie in the buffer"
        emitter.subscripts.update(self.subscripts)
        emitter.emit()
        self._squares(self._write_square)

    # -- squares of the result, transposed in registers ------------------------------------------------------------

    def _squares(self, square: Callable[[Index], None]) -> None:
        """square: for some rows of c, from the first on. The last may begin a little earlier, in rows of the one
        before."""
        builder, side = self.builder, self.side

        def body(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            square(builder.minimum(first, self.rows - side) if self.rows % side else first)
            return ()

        builder.loop(0, self.rows, side, (), body)

    def _fill_square(self, first: Index) -> None:
        """Let the buffer begin as c."""
        builder, zero = self.builder, self.builder.number(0, vector_of(self.element, self.side))
        if self.is_first:
            values = [zero] * self.columns
        else:
            c, mask = self.product.c, builder.mask(self.columns, self.side)
            places = [self._place_in_c(first, row) for row in range(self.side)]
            values = transposed(builder, [builder.load(c.value, place, self.side, mask) for place in places])
        for column in range(self.columns):
            builder.store(values[column], self.buffer, [column, first])

    def _write_square(self, first: Index) -> None:
        builder, zero = self.builder, self.builder.number(0, vector_of(self.element, self.side))
        values = [builder.load(self.buffer, [column, first], self.side) for column in range(self.columns)]
        mask = builder.mask(self.columns, self.side)
        for row, value in enumerate(transposed(builder, [*values, *[zero] * (self.side - self.columns)])):
            builder.store(value, self.product.c.value, self._place_in_c(first, row), mask)

    def _place_in_c(self, first: Index, row: int) -> list[Index]:
        here = self.subscripts | {self.product.i: self.builder.add(first, row), self.product.j: 0}
        return self.product.c.place(self.builder, here)
