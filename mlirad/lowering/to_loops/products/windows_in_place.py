"""Lowers products with windows of an array to tiles that read the windows where they are, without packing them.

Reads: products whose second factor is windows of an array, in steps of one along its rows. Writes: scf, memref, vector
ops with fused multiply-adds. Leaves: windows in wider steps, and arrays whose rows are far longer than the result's.

The windows of an array with rows of S elements, seen from a tap, are one line of memory: the place (h, w) of the result
reads the element h * S + w. Tiles run along this line, past the ends of the result's rows, and only what belongs to the
result is stored:

    line       0 1 2 3 4 5 6 7 8 9 ...     S = 5, three places in each row
    result     0 1 2 . . 3 4 5 . . 6 7 8

The sums of the places between the rows are computed in vain, which takes less time than to pack windows. While a tap of
one channel is multiplied, the same tap of the next channel is fetched: each channel is in another page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_builder import Index, LoopBuilder, vector_of
from mlirad.lowering.memory_views import view_from
from mlirad.lowering.to_loops.loop_nest import Nest, loops_around
from mlirad.lowering.to_loops.products.block_loops import loops_over_panels
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.packed_factors import Masks
from mlirad.lowering.to_loops.products.product_blocks import AHEAD, LINE
from mlirad.lowering.to_loops.products.rows_before_loops import RowsBeforeLoops
from mlirad.lowering.to_loops.products.windowed_factor import WindowedFactor

_PACKING = 24
"""To pack a vector of windows takes as long as to multiply it by so many rows."""
_FROM = 1 << 16
"""From so many multiplications on, a product may have tiles of its own."""
_ROWS_BYTES, _COLUMNS_BYTES = 1 << 19, 1 << 19
"""Up to so many bytes, the first factor stays in the second-level cache while panels of columns go by. If it has more,
so many bytes of the windowed array stay there while rows go by."""
_MOST_TAPS = 4
"""Up to so many taps beside one another are unrolled."""


@dataclass(frozen=True)
class WindowLine:
    """Where the elements of windows lie. length: the places of the result and those between its rows; stride: from one
    row of the result to the next; width, rows: the places of a row, and the rows. strides: of each tap's dimension.

    around: the dimensions of the result's columns that are loops around the line.
    """

    length: int
    stride: int
    width: int
    rows: int
    strides: Mapping[int, int]
    around: tuple[int, ...]


def line_of(product: Contraction, windows: WindowedFactor | None, nest: Nest, vector_bytes: int) -> WindowLine | None:
    """How tiles read the windows in place; None if it takes less time to pack them, or is not possible."""
    if windows is None or windows.is_left:
        return None
    rows, steps = nest.sizes[product.i], nest.sizes[product.k]
    strides = {d: product.b.step(d) for d in (*windows.rows, *windows.columns)}
    known = {d: stride for d, stride in strides.items() if stride is not None and stride > 0}
    if len(known) < len(strides) or not isinstance(rows, int) or not isinstance(steps, int):
        return None
    *others, last = windows.columns
    sizes, lanes = windows.sizes, vector_bytes // itemsize(product.c.element)
    places = prod(sizes[d] for d in windows.columns)
    if known[last] != 1 or places * rows * steps < _FROM:
        return None
    lines = [_line_of(sizes[last], 1, sizes[last], windows, known, tuple(others))]
    if others and known[others[-1]] >= sizes[last]:
        *around, height = others
        lines.insert(0, _line_of(known[height], sizes[height], sizes[last], windows, known, tuple(around)))

    def vectors(line: WindowLine) -> int:
        return prod(sizes[d] for d in line.around) * -(-line.length // lanes)

    line = min((line for line in lines if line.length >= 2 * lanes), key=vectors, default=None)
    most = -(-places // lanes) * (rows + _PACKING)
    return line if line is not None and vectors(line) * rows <= most else None


def _line_of(
    stride: int, rows: int, width: int, windows: WindowedFactor, strides: Mapping[int, int], around: tuple[int, ...]
) -> WindowLine:
    length = (rows - 1) * stride + width
    return WindowLine(length, stride, width, rows, {d: strides[d] for d in windows.rows}, around)


@dataclass(frozen=True)
class WindowPiece:
    """The lanes of a panel's vector that belong to a row of the result, and the column of c that its first lane would
    have."""

    vector: int
    mask: SSAValue | None
    column: Index


class WindowsInPlace:
    """Builds the loops of one product. `subscripts` holds the dimensions whose loops are open."""

    def __init__(
        self,
        product: Contraction,
        windows: WindowedFactor,
        line: WindowLine,
        nest: Nest,
        vector_bytes: int,
        builder: LoopBuilder,
        *,
        is_first: bool = False,
    ):
        """is_first: whether c holds nothing yet: its elements are stored without being read."""
        self.product, self.windows, self.line, self.builder = product, windows, line, builder
        self.sizes, self.is_first = nest.sizes, is_first
        self.subscripts: dict[int, Index] = {}
        self.element = product.c.element
        self.lanes = vector_bytes // itemsize(self.element)
        vectors = -(-line.length // self.lanes)
        self.rows, self.vectors = _tile_of(nest.sizes[product.i], vectors, has_32_registers=vector_bytes >= 64)
        steps = nest.sizes[product.k]
        assert isinstance(steps, int)
        self.steps = steps
        self.packed = RowsBeforeLoops.of(builder, product, nest.sizes, steps, self.rows, slot=steps)
        """The rows of a, if they are packed before the loops around the product."""

    def emit(self) -> None:
        sizes = [self.windows.sizes.get(d, size) for d, size in enumerate(self.sizes)]
        dimensions = (*self.product.others, *self.line.around)
        loops_around(self.builder, sizes, dimensions, self.subscripts, self._blocks)

    # -- loops -----------------------------------------------------------------------------------------------------

    def _blocks(self) -> None:
        """The loops over panels of columns and rows of tiles. In blocks of columns, panels are inside rows of tiles."""
        builder, length, rows = self.builder, self.line.length, self.sizes[self.product.i]
        seen, columns = self._seen(), self._columns()

        def panels(here: tuple[Index, Index], panel: Callable[[Index, Masks], None]) -> None:
            loops_over_panels(builder, here, length, self.vectors, self.lanes, panel, is_narrow=True)

        def tiles(body: Callable[[Index], None]) -> None:
            def tile(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                body(first)
                return ()

            builder.loop(0, rows, self.rows, (), tile)

        def panel(j: Index, masks: Masks) -> None:
            pieces = self._pieces(j, masks)
            tiles(lambda first: self._tile(seen, first, j, masks, pieces))

        def block(start: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            here = start, builder.minimum(builder.add(start, columns), length)
            tiles(
                lambda first: panels(here, lambda j, masks: self._tile(seen, first, j, masks, self._pieces(j, masks)))
            )
            return ()

        if columns >= self.width:
            builder.loop(0, length, columns, (), block)
        else:
            panels((0, length), panel)

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    def _columns(self) -> int:
        """The columns of a block; 0 if panels are not in blocks."""
        rows, bytes = self.sizes[self.product.i], itemsize(self.element)
        if not isinstance(rows, int) or rows * self.steps * bytes <= _ROWS_BYTES:
            return 0
        first, *taps = self.windows.rows
        beyond = sum((self.windows.sizes[d] - 1) * self.line.strides[d] for d in taps)
        most = max(_COLUMNS_BYTES // (bytes * self.windows.sizes[first]) - beyond, self.width)
        count = -(-self.line.length // most)  # about equal blocks: each reads all of a again
        return -(-self.line.length // (count * self.width)) * self.width

    def _seen(self) -> SSAValue:
        """The windowed array with an axis for each tap and one along the line, at the present place of the loops."""
        builder, x, line = self.builder, self.product.b, self.line
        nowhere = dict.fromkeys((*self.windows.rows, *self.windows.columns), 0)
        place = x.place(builder, {**nowhere, **self.subscripts})
        sizes = [*(self.windows.sizes[d] for d in self.windows.rows), line.length]
        return view_from(builder, x.value, place, sizes, [*(line.strides[d] for d in self.windows.rows), 1])

    def _pieces(self, j: Index, masks: Masks) -> list[WindowPiece]:
        """What belongs to the result of the vectors of a panel that begins at a place of the line."""
        builder, line, lanes = self.builder, self.line, self.lanes
        before: Index = 0
        for d in line.around:
            before = builder.add(builder.multiply(before, self.windows.sizes[d]), self.subscripts[d])
        before = builder.multiply(before, line.rows)
        found: list[WindowPiece] = []
        for v, loaded in enumerate(masks):
            start = builder.add(j, v * lanes)
            if line.rows == 1:
                column = builder.add(builder.multiply(before, line.width), start)
                found.append(WindowPiece(v, loaded, column))
                continue
            row = builder.divide(start, line.stride)
            at, left = (
                builder.subtract(start, builder.multiply(row, line.stride)),
                builder.subtract(line.length, start),
            )
            for number in range(min((lanes - 2) // line.stride + 2, line.rows)):
                low = builder.subtract(number * line.stride, at)
                high = builder.maximum(builder.minimum(builder.add(low, line.width), left), low)
                first = builder.multiply(builder.add(builder.add(before, row), number), line.width)
                mask = self._between(low if number else 0, high)
                found.append(WindowPiece(v, mask, builder.subtract(first, low)))
        return found

    def _between(self, low: Index, high: Index) -> SSAValue | None:
        """The mask of the lanes from one to another."""
        builder, lanes = self.builder, self.lanes
        mask = builder.mask(high, lanes)
        if isinstance(low, int) and low <= 0:
            return mask
        whole = builder.number(1, vector_of(i1, lanes))
        before = builder.mask(low, lanes)
        before = whole if before is None else before
        return builder.op(arith.XOrIOp, [whole if mask is None else mask, before], before.type)

    # -- tiles -----------------------------------------------------------------------------------------------------

    def _tile(self, seen: SSAValue, first: Index, j: Index, masks: Masks, pieces: Sequence[WindowPiece]) -> None:
        builder, product, lanes = self.builder, self.product, self.lanes
        count = self.sizes[product.i]
        rows = [builder.add(first, row) for row in range(self.rows)]
        if not isinstance(count, int) or count % self.rows:
            last = builder.subtract(count, 1)
            rows = [rows[0], *(builder.minimum(row, last) for row in rows[1:])]
        type = vector_of(self.element, lanes)
        slab = None if self.packed is None else self.packed.slab(builder, 0, first)
        columns = [builder.add(j, v * lanes) for v in range(len(masks))]

        def step(k: Index, here: Sequence[Index], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            across = [
                builder.load(seen, [*here, column], lanes, mask) for column, mask in zip(columns, masks, strict=True)
            ]
            self._fetch_next(seen, here, columns)
            if self.packed is not None and slab is not None:
                builder.prefetch(self.packed.buffer, [builder.add(slab, builder.add(k, AHEAD)), 0], is_write=False)
            results: list[SSAValue] = []
            for number, row in enumerate(rows):
                if self.packed is None or slab is None:
                    place = product.a.place(builder, {**self.subscripts, product.i: row, product.k: k})
                    scalar = builder.load(product.a.value, place)
                else:
                    scalar = builder.load(self.packed.buffer, [builder.add(slab, k), number])
                wide = builder.splat(scalar, lanes)
                for v, value in enumerate(across):
                    old = totals[number * len(across) + v]
                    results.append(builder.op(vector.FMAOp, [wide, value, old], type))
            return results

        totals = self._sum([builder.number(0, type)] * (len(rows) * len(masks)), step)
        for piece in pieces:
            places = [
                product.c.place(builder, {**self.subscripts, product.i: row, product.j: piece.column}) for row in rows
            ]
            values = totals[piece.vector :: len(masks)]
            if not self.is_first:
                olds = [builder.load(product.c.value, place, lanes, piece.mask) for place in places]
                values = [builder.op(arith.AddfOp, pair, type) for pair in zip(olds, values, strict=True)]
            for value, place in zip(values, places, strict=True):
                builder.store(value, product.c.value, place, piece.mask)

    def _sum(
        self,
        totals: Sequence[SSAValue],
        step: Callable[[Index, Sequence[Index], Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """The loops along the taps: totals = step(k, subscripts of the taps, totals)."""
        builder, sizes = self.builder, self.windows.sizes

        def loops(
            dimensions: Sequence[int], k: Index, here: Sequence[Index], values: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            if not dimensions:
                return step(k, here, values)
            first, *others = dimensions
            inner = prod(sizes[d] for d in others)

            def body(index: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return loops(others, builder.add(k, builder.multiply(index, inner)), [*here, index], carried)

            if not others and here and sizes[first] <= _MOST_TAPS:
                with builder.unrolled():
                    return builder.loop(0, sizes[first], 1, values, body)
            return builder.loop(0, sizes[first], 1, values, body)

        return list(loops(self.windows.rows, 0, [], totals))

    def _fetch_next(self, seen: SSAValue, here: Sequence[Index], columns: Sequence[Index]) -> None:
        """Fetch the same tap of the next channel. Unrolled taps, which are beside one another, fetch a part each."""
        builder, (first, *others) = self.builder, here
        taps = self.windows.sizes[self.windows.rows[-1]]
        each = max(1, LINE // (self.lanes * itemsize(self.element)))
        lines = [*columns[::each], builder.add(columns[-1], self.lanes - 1)]
        if others and isinstance(tap := others[-1], int):
            lines = [line for number, line in enumerate(lines) if number % taps == tap]
        for line in lines:
            builder.prefetch(seen, [builder.add(first, 1), *others, line], is_write=False)


def _tile_of(rows: Index, vectors: int, *, has_32_registers: bool) -> tuple[int, int]:
    """The rows and the vectors of a tile. vectors: those of a line."""
    most, registers = (8, 24) if has_32_registers else (6, 12)
    height = most
    if isinstance(rows, int):
        few = range(most, max(most // 2, 1) - 1, -1)
        height = rows if rows <= most else min(few, key=lambda each: (-rows % each) / rows + 0.02 * (most - each))
    return height, min(registers // height, 4, vectors)
