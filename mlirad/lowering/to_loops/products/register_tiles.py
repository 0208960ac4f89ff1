"""Lowers products of arrays to tiles of accumulators in registers: c[i, j] += a[i, k] * b[k, j], a and b of any layout.

Reads: nests whose body multiplies two inputs and adds. Writes: scf, memref, vector ops with fused multiply-adds.
Leaves: nests without an i, a j or a k, for which the general loops are as good.

A tile is some rows of a few adjacent vectors of c, held in registers while k runs: each step broadcasts an element of a
for each row. Columns past the end are masked. The last rows of whole sums, which are only stored, are in a tile that
begins a few rows earlier. In other tiles, a row past the end repeats the last row. Both store equal values twice.

A product too large for the caches (`product_blocks.py`) is computed in blocks: parts of both factors are copied, into
the order in which tiles read them (`packed_factors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial

from xdsl.dialects import arith, vector
from xdsl.ir import SSAValue

from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_builder import Index, LoopBuilder, memref_of, vector_of
from mlirad.lowering.to_loops.loop_nest import Operand, loops_around
from mlirad.lowering.to_loops.products.block_loops import (
    loop_over_rows,
    loops_over_blocks,
    loops_over_panels,
    slab_rows,
)
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.packed_factors import Masks, Panel, Slabs
from mlirad.lowering.to_loops.products.packing import Packing
from mlirad.lowering.to_loops.products.planned_product import PlannedProduct
from mlirad.lowering.to_loops.products.product_blocks import (
    AHEAD,
    COLUMNS_AHEAD,
    DEPTH,
    FIRST_CACHE,
    LINE,
    STEPS_PER_ROW,
    Blocks,
)
from mlirad.lowering.to_loops.products.rows_before_loops import RowsBeforeLoops
from mlirad.lowering.to_loops.products.shared_tiles import ROWS, SharedTiles, Tile, views_of
from mlirad.lowering.to_loops.products.zero_rows import unless_zero
from mlirad.lowering.to_loops.scratch import scratch

_Range = tuple[Index, Index]


class ContractionEmitter(PlannedProduct):
    """Builds the loops of one contraction."""

    panel: SSAValue | None = None
    """Columns of b, `width` beside one another, for each k."""
    panel_row: Index = 0
    """Where the present ones begin in it."""
    packed_rows: SSAValue | None = None
    """Rows of a, those of a tile beside one another, for each k; each tile's begin DEPTH rows behind the last's."""
    slab: Index = 0
    """Where those of the present block begin in it."""
    rows_before: RowsBeforeLoops | None = None
    """The rows, if they are packed before the loops around the product."""

    def emit(self) -> None:
        if self.blocks is not None:
            panels = memref_of(self.element, (self.blocks.columns // self.width * self.depth, self.width))
            if self.blocks.strip is None:
                self.rows_before = RowsBeforeLoops.of(self.builder, self.product, self.sizes, self.depth, self.rows)
            if self.rows_before is not None:
                self.packed_rows, (self.panel,) = self.rows_before.buffer, scratch(self.builder, panels)
            else:
                slabs = slab_rows(self.blocks, self.sizes[self.product.i], self.rows)
                self.packed_rows, self.panel = scratch(
                    self.builder, memref_of(self.element, (slabs, self.rows)), panels
                )
        elif self.is_packed:
            (self.panel,) = scratch(self.builder, memref_of(self.element, (self.depth, self.width)))
        loops_around(self.builder, self.sizes, self.product.others, self.subscripts, self._row_blocks)

    # -- loops -----------------------------------------------------------------------------------------------------

    def _row_blocks(self) -> None:
        """One thread completes the sums of a block of rows before the next: meanwhile this part of c is near."""
        rows = (0, self.sizes[self.product.i])
        if self.blocks is not None and self.blocks.strip is None:
            loop_over_rows(self.builder, self.blocks, rows, self._depths)
        else:
            self._depths(rows)

    def _depths(self, rows: tuple[Index, Index]) -> None:
        size, step = self.sizes[self.product.k], self.depth

        def body(start: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            end = self.builder.minimum(self.builder.add(start, step), size)
            if self.blocks is None:
                self._columns(start, end)
            else:
                self._blocks(self.blocks, rows, start, end)
            return ()

        self.builder.loop(0, size, step, (), body)

    def _columns(self, start: Index, end: Index) -> None:
        builder = self.builder
        count, columns = self.sizes[self.product.i], self.sizes[self.product.j]
        packing = self._packing()

        def panels(rows: tuple[Index, Index]) -> None:
            def panel(j: Index, masks: Masks) -> None:
                if self.is_packed and self.panel is not None:
                    packing.columns(Panel(self.panel, self.panel_row, self.lanes), j, masks, (start, end))
                self._rows(j, masks, start, end, rows)

            self._panels(0, columns, panel)

        def row_of_tiles(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            last = builder.minimum(builder.add(first, self.rows), count)
            self._unless_zero((first, last), (start, end), lambda: panels((first, last)))
            return ()

        if self.is_packed or not self.is_in_order:
            panels((0, count))
        else:
            builder.loop(0, count, self.rows, (), row_of_tiles)

    def _unless_zero(self, rows: _Range, steps: _Range, block: Callable[[], None]) -> None:
        """The sums of some rows; none, if they are known to add zeros only."""
        if not (self.product.is_tangent and self._adds and self.windows is None):
            return block()
        builder, (first, last) = self.builder, rows
        numbers = [builder.minimum(builder.add(first, row), builder.subtract(last, 1)) for row in range(self.rows)]
        unless_zero(builder, self.product, self.subscripts, numbers, steps, block)

    @property
    def _adds(self) -> bool:
        """Whether sums that are zero leave c as it is."""
        return not self.is_first

    def _panels(self, start: Index, end: Index, panel: Callable[[Index, Masks], None]) -> None:
        columns = self.sizes[self.product.j]
        is_narrow = self.shared is None
        loops_over_panels(self.builder, (start, end), columns, self.vectors, self.lanes, panel, is_narrow=is_narrow)

    def _rows(self, j: Index, masks: Masks, start: Index, end: Index, rows: tuple[Index, Index]) -> None:
        """The tiles of a panel, of the rows from one to another."""
        if self.shared is None:
            self._tiles(j, masks, start, end, rows)
        else:
            self._call_tiles(self.shared, j, masks, start, end, rows)

    def _blocks(self, blocks: Blocks, rows: tuple[Index, Index], start: Index, end: Index) -> None:
        builder, packing, buffer, packed_rows = self.builder, self._packing(), self.panel, self.packed_rows
        assert buffer is not None and packed_rows is not None

        def place(j: Index, first: Index) -> Panel:
            begin = builder.multiply(builder.divide(builder.subtract(j, first), self.width), self.depth)
            return Panel(buffer, begin, self.lanes)

        def pack(columns: tuple[Index, Index], first: Index) -> None:
            def whole(j: Index, masks: Masks) -> None:
                packing.columns(place(j, first), j, masks, (start, end))

            def row(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                self._panels(*columns, lambda j, masks: packing.row(place(j, first), k, start, j, masks))
                return ()

            if self.packs_in_rows:
                builder.loop(start, end, 1, (), row)
            else:
                self._panels(*columns, whole)

        def pack_rows(rows: tuple[Index, Index], slab: Index) -> None:
            if self.rows_before is None:
                packing.rows(Slabs(packed_rows, slab, self.rows, DEPTH), rows, (start, end), is_ragged=self.is_ragged)

        def panels(rows: tuple[Index, Index], columns: tuple[Index, Index], slab: Index) -> None:
            def panel(j: Index, masks: Masks) -> None:
                self.panel_row = place(j, columns[0]).row
                self._rows(j, masks, start, end, rows)

            self.slab = slab if self.rows_before is None else self.rows_before.slab(builder, start, rows[0])
            self._panels(*columns, panel)

        def rows_of_tiles(rows: tuple[Index, Index], columns: tuple[Index, Index], slab: Index) -> None:
            def row_of_tiles(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                before = builder.divide(builder.subtract(first, rows[0]), self.rows)
                here = (first, builder.minimum(builder.add(first, self.rows), rows[1]))
                panels(here, columns, builder.add(slab, builder.multiply(before, DEPTH)))
                return ()

            builder.loop(*rows, self.rows, (), row_of_tiles)

        sizes = rows, self.sizes[self.product.j]
        multiply = rows_of_tiles if blocks.strip is None else panels
        loops_over_blocks(builder, blocks, sizes, (self.rows, self.width), pack, pack_rows, multiply)

    def _packing(self) -> Packing:
        return Packing(self.builder, self.product, self.windows, self.subscripts, self.sizes[self.product.j])

    # -- tiles of the module ---------------------------------------------------------------------------------------

    def _call_tiles(
        self, shared: SharedTiles, j: Index, masks: Masks, start: Index, end: Index, rows: tuple[Index, Index]
    ) -> None:
        builder, is_packed = self.builder, self.packed_rows is not None

        def tile(*, is_first: bool) -> Tile:
            kind = any(masks), is_packed, is_first, self.is_late and not (is_packed or is_first)
            return Tile(self.element, self.rows, self.vectors, self.lanes, self.is_ragged, *kind)

        columns, depth = builder.subtract(self.sizes[self.product.j], j), builder.subtract(end, start)
        first, last = rows
        if self.blocks is not None:
            most = self.rows if self.blocks.strip is None else self.blocks.rows
        else:
            most = min(last, ROWS) if isinstance(last, int) else ROWS
        work = 2 * most * self.depth * self.vectors

        def body(i: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            count = builder.minimum(builder.subtract(last, i), ROWS)
            rows = None if self.packed_rows is None else (self.packed_rows, self.slab, self.rows)
            panel = None if self.panel is None else (self.panel, self.panel_row, self.width)
            views = views_of(
                builder, self.product, self.subscripts, (i, j, start), (count, columns, depth), rows, panel
            )

            def call(*, is_first: bool) -> Sequence[SSAValue]:
                kind = tile(is_first=is_first)
                shared.call(kind, builder, views, work, partial(self._fill, kind))
                return ()

            if self.is_first and not isinstance(start, int):  # the first part of a sum is stored, the others are added
                stored, added = partial(call, is_first=True), partial(call, is_first=False)
                builder.either(builder.is_zero(start), [], stored, added)
            else:
                call(is_first=self.is_first)
            return ()

        if self.blocks is not None:
            body(first, ())
        else:
            builder.loop(first, last, ROWS, (), body)

    def _fill(
        self,
        tile: Tile,
        builder: LoopBuilder,
        operands: tuple[Operand, Operand, Operand],
        sizes: tuple[Index, Index, Index],
    ) -> None:
        """Build a function's tiles, equal to those that this contraction would have itself."""
        made = copy(self)
        made.product = Contraction(*operands, 0, 1, 2, ())
        made.builder, made.sizes, made.panel, made.subscripts = builder, sizes, None, {}
        made.slab, made.is_first = 0, tile.is_first
        made.packed_rows = operands[0].value if tile.is_packed else None
        masks = [
            builder.mask(builder.subtract(sizes[1], v * self.lanes), self.lanes) if tile.is_masked else None
            for v in range(self.vectors)
        ]
        made._tiles(0, masks, 0, sizes[2], (0, sizes[0]))

    # -- tiles -----------------------------------------------------------------------------------------------------

    def _tiles(self, j: Index, masks: Masks, start: Index, end: Index, rows: tuple[Index, Index]) -> None:
        builder = self.builder
        lower, upper = rows
        last = builder.subtract(upper, 1)
        latest = self._latest_tile()

        def body(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if latest is not None:
                first = builder.minimum(first, latest)
            rows = [builder.add(first, row) for row in range(self.rows)]
            if self.is_ragged and latest is None:
                rows = [rows[0], *(builder.minimum(row, last) for row in rows[1:])]
            packed = None
            if self.packed_rows is not None:
                packed = builder.multiply(builder.divide(builder.subtract(first, lower), self.rows), DEPTH)
                packed = builder.add(self.slab, packed)
            self._tile(rows, packed, j, masks, start, end)
            return ()

        if self.is_in_order and not self.is_packed:  # the loop around the panels is over rows of tiles
            body(lower, ())
        else:
            builder.loop(lower, upper, self.rows, (), body)

    def _latest_tile(self) -> int | None:
        """Where the last tile may begin, if tiles may have rows in common: whole sums, which are only stored."""
        rows, steps = self.sizes[self.product.i], self.sizes[self.product.k]
        if not (self.is_ragged and self.is_first and self.blocks is None):
            return None
        is_whole = isinstance(steps, int) and steps <= self.depth
        return rows - self.rows if is_whole and isinstance(rows, int) and rows >= self.rows else None

    def _tile(
        self, rows: Sequence[Index], packed: Index | None, j: Index, masks: Masks, start: Index, end: Index
    ) -> None:
        """packed: where the rows begin in what is packed of a."""
        builder, product, lanes = self.builder, self.product, self.lanes
        columns = [builder.add(j, v * lanes) for v in range(len(masks))]
        type = vector_of(self.element, lanes)
        points = [{product.i: row, product.j: column} for row in rows for column in columns]
        places = [self._place(product.c, point) for point in points]
        masks_of = [mask for _ in rows for mask in masks]

        def old() -> list[SSAValue]:
            return [builder.load(product.c.value, p, lanes, m) for p, m in zip(places, masks_of, strict=True)]

        is_late = self.is_late or self.is_first
        totals = [builder.number(0, type)] * len(places) if is_late else old()

        windows = self.windows if self.windows is not None and self.windows.is_left else None
        heights = [{product.i: row} if windows is None else windows.row(builder, row) for row in rows]

        def step(k: Index, values: Sequence[SSAValue], here: Mapping[int, Index] | None = None) -> Sequence[SSAValue]:
            across = [self._b(k, start, v, columns[v], masks[v]) for v in range(len(masks))]
            results: list[SSAValue] = []
            for number in range(len(rows)):
                if packed is None or self.packed_rows is None:
                    there = {**self.subscripts, **heights[number], **(here or {product.k: k})}
                    scalar = builder.load(product.a.value, product.a.place(builder, there))
                else:
                    place = builder.add(packed, builder.subtract(k, start))
                    if number * itemsize(self.element) % LINE == 0:
                        builder.prefetch(self.packed_rows, [builder.add(place, AHEAD), number], is_write=False)
                    scalar = builder.load(self.packed_rows, [place, number])
                wide = builder.splat(scalar, lanes)
                for v in range(len(masks)):
                    value = values[number * len(masks) + v]
                    results.append(builder.op(vector.FMAOp, [wide, across[v], value], type))
            return results

        def steps(first: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._prefetch_row(rows, columns, builder.divide(builder.subtract(first, start), STEPS_PER_ROW))
            return builder.loop(first, builder.minimum(builder.add(first, STEPS_PER_ROW), end), 1, values, step)

        is_whole = self.is_first and isinstance(start, int)
        if windows is not None:
            totals = windows.sum(builder, (start, end), totals, step)
        elif packed is None or is_whole:
            totals = builder.loop(start, end, 1, totals, step)
        else:
            totals = builder.loop(start, end, STEPS_PER_ROW, totals, steps)

        def added() -> list[SSAValue]:
            return [builder.op(arith.AddfOp, pair, type) for pair in zip(old(), totals, strict=True)]

        if self.is_first and not isinstance(start, int):  # the first part of a sum is stored, the others are added
            totals = builder.either(builder.is_zero(start), [type] * len(totals), lambda: totals, added)
        elif is_late and not self.is_first:
            totals = added()
        results = [self._result(*each) for each in zip(totals, points, masks_of, strict=True)]
        for result, place, mask in zip(results, places, masks_of, strict=True):
            builder.store(result, product.c.value, place, mask)

    def _result(self, total: SSAValue, _point: Mapping[int, Index], _mask: SSAValue | None) -> SSAValue:
        """What is stored of a vector of sums, of the elements from a point on."""
        return total

    def _prefetch_row(self, rows: Sequence[Index], columns: Sequence[Index], number: Index) -> None:
        """While the sums run, rows of c come into the cache, one after the other: many at once would wait."""
        builder, product = self.builder, self.product
        row = builder.minimum(builder.add(rows[0], number), rows[-1])
        for column in (*columns, builder.add(columns[-1], self.lanes - 1)):
            place = self._place(product.c, {product.i: row, product.j: column})
            builder.prefetch(product.c.value, place, is_write=True)

    def _b(self, k: Index, start: Index, v: int, column: Index, mask: SSAValue | None) -> SSAValue:
        builder, product = self.builder, self.product
        if self.panel is not None:
            row = builder.add(self.panel_row, builder.subtract(k, start))
            is_large = self.depth * self.width * itemsize(self.element) > FIRST_CACHE
            is_far = self.packed_rows is not None or is_large
            if is_far and v * self.lanes * itemsize(self.element) % LINE == 0:
                builder.prefetch(self.panel, [builder.add(row, COLUMNS_AHEAD), v * self.lanes], is_write=False)
            return builder.load(self.panel, [row, v * self.lanes], self.lanes)
        return builder.load(
            product.b.value, self._place(product.b, {product.k: k, product.j: column}), self.lanes, mask
        )

    def _place(self, operand: Operand, here: dict[int, Index]) -> list[Index]:
        subscripts = self.subscripts | here
        return [s.constant if s.atom is None else subscripts[s.atom] for s in operand.subscripts]
