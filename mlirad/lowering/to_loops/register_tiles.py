"""Lowers products of arrays to tiles of accumulators in registers: c[i, j] += a[i, k] * b[k, j], a and b of any layout.

Reads: nests whose body multiplies two inputs and adds. Writes: scf, memref, vector ops with fused multiply-adds.
Leaves: nests without an i, a j and a k, for which the general loops are as good.

A tile is `rows` x `VECTORS` vectors of c, held in registers while k runs: each step broadcasts `rows` elements of a.
A row past the end is the last row again: it computes and stores the same values. Columns past the end are masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from xdsl.dialects import vector
from xdsl.ir import Attribute, SSAValue

from mlirad.lowering.loop_body import Body
from mlirad.lowering.loop_builder import Index, LoopBuilder, memref_of, vector_of
from mlirad.lowering.to_loops.loop_nest import Nest, Operand
from mlirad.lowering.to_loops.scratch import scratch
from mlirad.lowering.to_loops.shared_tiles import ROWS, SharedTiles, Tile, view

VECTORS = 2
"""Vectors of c beside one another in a tile."""
DEPTH = 256
"""Steps of k between which c goes back to memory: so much of b's panel stays in the first cache."""
_PACK_FROM = 1 << 15
"""Elements of b from which its rows are copied together, so that a tile reads one page and not one per row."""
_SHARED_FROM = 1 << 17
"""Multiplications from which on a product uses the tiles of others: where it is over in some 10 us, its own, with all
strides known, gain 5 %."""
BLOCK_ROWS = 48
"""Of the rows of a product that threads share, what a block has at least: so many are worth packing b's columns for."""


@dataclass(frozen=True)
class Contraction:
    """c[.. i .. j] += a[.. i .. k ..] * b[.. k .. j ..]; c is contiguous along j. `others` are loops around tiles."""

    a: Operand
    b: Operand
    c: Operand
    i: int
    j: int
    k: int
    others: tuple[int, ...]
    is_swapped: bool = False
    """Whether a is the second factor as the nest has them."""

    def of(self, nest: Nest) -> Contraction:
        """The same dimensions, of a nest that is a block of the one in which they were found."""
        a, b, c = nest.operands
        return replace(self, a=b, b=a, c=c) if self.is_swapped else replace(self, a=a, b=b, c=c)


def match_contraction(nest: Nest, body: Body) -> Contraction | None:
    """The nest as a product of matrices, one for each point of `others`; None if it is none."""
    if len(nest.inputs) != 2 or len(nest.outputs) != 1 or not body.is_multiply_add:
        return None
    a, b, c = nest.operands
    for operand in nest.operands:
        terms = [s.atom for s in operand.subscripts if s.terms]
        if not operand.is_memref or None in terms or len(set(terms)) != len(terms):
            return None
    j = next((d for d in nest.live if c.is_unit(d)), None)
    if j is None:
        return None
    is_swapped = j in a.dimensions
    if is_swapped:
        a, b = b, a
    rows = [d for d in nest.live if d in a.dimensions and d in c.dimensions and d not in b.dimensions]
    depths = [d for d in nest.live if d in a.dimensions and d in b.dimensions and d not in c.dimensions]
    if j in a.dimensions or j not in b.dimensions or not rows or not depths:
        return None
    i, k = _longest(nest, rows, c), _longest(nest, depths, b)
    reduced = [d for d in nest.live if d not in c.dimensions]
    if any(d not in a.dimensions | b.dimensions for d in reduced):
        return None
    around = [d for d in nest.live if d in c.dimensions and d not in (i, j)]
    return Contraction(a, b, c, i, j, k, (*around, *(d for d in reduced if d != k)), is_swapped)


def _is_long(sizes: Sequence[Index]) -> bool:
    """Whether a product is known to take so long that a call, and strides that are not known, do not count."""
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) == len(sizes) and prod(known) > _SHARED_FROM


def _longest(nest: Nest, dimensions: Sequence[int], operand: Operand) -> int:
    """The longest dimension; among equals, the one that lies innermost in memory."""
    axes = [s.atom for s in operand.subscripts]

    def key(d: int) -> tuple[int, int]:
        size = nest.sizes[d]
        return (size if isinstance(size, int) else 1 << 30, axes.index(d))

    return max(dimensions, key=key)


class ContractionEmitter:
    """Builds the loops of one contraction. `subscripts` holds the dimensions whose loops are open."""

    def __init__(
        self,
        contraction: Contraction,
        nest: Nest,
        vector_bytes: int,
        builder: LoopBuilder,
        shared: SharedTiles | None = None,
    ):
        """shared: the functions of the module whose tiles this contraction's are; None if it has tiles of its own."""
        self.product = contraction
        self.builder = builder
        self.shared = shared if shared is not None and (shared.is_many or _is_long(nest.sizes)) else None
        self.sizes = nest.sizes
        self.starts = nest.starts
        self.subscripts: dict[int, Index] = {}
        self.element: Attribute = contraction.c.element
        self.lanes = 8 * vector_bytes // self.element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]  # of numbers
        size = nest.sizes[contraction.j]
        while isinstance(size, int) and self.lanes >= 2 * size:
            self.lanes //= 2
        self.vectors = 1 if isinstance(size, int) and size <= self.lanes else VECTORS
        self.rows = _row_count(nest.sizes[contraction.i], vector_bytes)
        rows = nest.sizes[contraction.i]
        self.is_ragged = not isinstance(rows, int) or rows % self.rows != 0
        self.is_packed = self._should_pack()
        self.panel: SSAValue | None = None

    def emit(self) -> None:
        if self.is_packed:
            (self.panel,) = scratch(self.builder, memref_of(self.element, (self._depth(), self.width)))
        self._around(self.product.others)

    @property
    def is_whole(self) -> bool:
        """Whether vectors of four lanes or more, read and written where they are, are all that it takes."""
        columns = self.sizes[self.product.j]
        return isinstance(columns, int) and columns % self.width == 0 and self.lanes >= 4 and not self.is_packed

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    def _depth(self) -> int:
        size = self.sizes[self.product.k]
        return min(size, DEPTH) if isinstance(size, int) else DEPTH

    def _should_pack(self) -> bool:
        """A b that is not contiguous along j is copied to be read as vectors; one known to be large gains by it."""
        if not self.product.b.is_unit(self.product.j):
            return True
        i, j, k = (self.sizes[d] for d in (self.product.i, self.product.j, self.product.k))
        if self.product.i in self.starts and not isinstance(i, int):
            i = BLOCK_ROWS
        if not (isinstance(i, int) and isinstance(j, int) and isinstance(k, int)):
            return False
        return j * k >= _PACK_FROM and i > 2 * self.rows

    # -- loops -----------------------------------------------------------------------------------------------------

    def _around(self, dimensions: Sequence[int]) -> None:
        if not dimensions:
            self._depths()
            return
        first, *others = dimensions

        def body(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.subscripts[first] = index
            self._around(others)
            return ()

        self.builder.loop(0, self.sizes[first], 1, (), body)

    def _depths(self) -> None:
        size = self.sizes[self.product.k]

        def body(start: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._columns(start, self.builder.minimum(self.builder.add(start, DEPTH), size))
            return ()

        self.builder.loop(0, size, DEPTH, (), body)

    def _columns(self, start: Index, end: Index) -> None:
        """Panels of columns: whole ones, then the rest under masks. All are masked if their number is not known."""
        builder, size = self.builder, self.sizes[self.product.j]
        main = size - size % self.width if isinstance(size, int) else 0

        def panel(first: Index, *, is_whole: bool) -> Sequence[SSAValue]:
            count = builder.subtract(size, first)
            masks = [
                None if is_whole else builder.mask(builder.subtract(count, v * self.lanes), self.lanes)
                for v in range(self.vectors)
            ]
            if self.is_packed:
                self._pack(first, masks, start, end)
            if self.shared is None:
                self._tiles(first, masks, start, end)
            else:
                self._call_tiles(self.shared, first, count, start, end, is_whole=is_whole)
            return ()

        builder.loop(0, main, self.width, (), lambda j, _: panel(j, is_whole=True))
        builder.loop(main, size, self.width, (), lambda j, _: panel(j, is_whole=False))

    # -- tiles of the module ---------------------------------------------------------------------------------------

    def _call_tiles(
        self, shared: SharedTiles, j: Index, columns: Index, start: Index, end: Index, *, is_whole: bool
    ) -> None:
        builder, size = self.builder, self.sizes[self.product.i]
        tile = Tile(self.element, self.rows, self.vectors, self.lanes, self.is_ragged, not is_whole)
        depth = builder.subtract(end, start)
        work = 2 * (min(size, ROWS) if isinstance(size, int) else ROWS) * self._depth() * self.vectors

        def body(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            rows = builder.minimum(builder.subtract(size, first), ROWS)
            views = self._views((first, j, start), (rows, columns, depth))
            shared.call(tile, builder, views, work, partial(self._fill, tile))
            return ()

        builder.loop(0, size, ROWS, (), body)

    def _views(self, place: tuple[Index, Index, Index], sizes: tuple[Index, Index, Index]) -> list[SSAValue]:
        """The parts of a, b (or what is packed of it) and c that begin at a place (i, j, k)."""
        builder, product = self.builder, self.product
        i, j, k = product.i, product.j, product.k
        here, lengths = dict(zip((i, j, k), place, strict=True)), dict(zip((i, j, k), sizes, strict=True))

        def part(operand: Operand, row: int, column: int, *, is_unit: bool) -> SSAValue:
            subscripts = [subscript.atom for subscript in operand.subscripts]
            axes = (subscripts.index(row), subscripts.index(column))
            start = self._place(operand, here)
            return view(builder, operand.value, start, axes, (lengths[row], lengths[column]), is_unit=is_unit)

        if self.panel is None:
            b = part(product.b, k, j, is_unit=True)
        else:
            b = view(builder, self.panel, (0, 0), (0, 1), (lengths[k], self.width), is_unit=True)
        return [part(product.a, i, k, is_unit=False), b, part(product.c, i, j, is_unit=True)]

    def _fill(
        self,
        tile: Tile,
        builder: LoopBuilder,
        operands: tuple[Operand, Operand, Operand],
        sizes: tuple[Index, Index, Index],
    ) -> None:
        """Builds a function's tiles, like those that this contraction would have itself."""
        made = copy(self)
        made.product = Contraction(*operands, 0, 1, 2, ())
        made.builder, made.sizes, made.panel, made.subscripts = builder, sizes, None, {}
        masks = [
            builder.mask(builder.subtract(sizes[1], v * self.lanes), self.lanes) if tile.is_masked else None
            for v in range(self.vectors)
        ]
        made._tiles(0, masks, 0, sizes[2])

    # -- tiles -----------------------------------------------------------------------------------------------------

    def _tiles(self, j: Index, masks: Sequence[SSAValue | None], start: Index, end: Index) -> None:
        builder, size = self.builder, self.sizes[self.product.i]
        last = builder.subtract(size, 1)

        def body(first: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            rows = [builder.add(first, row) for row in range(self.rows)]
            if self.is_ragged:
                rows = [rows[0], *(builder.minimum(row, last) for row in rows[1:])]
            self._tile(rows, j, masks, start, end)
            return ()

        builder.loop(0, size, self.rows, (), body)

    # -- one tile --------------------------------------------------------------------------------------------------

    def _tile(
        self, rows: Sequence[Index], j: Index, masks: Sequence[SSAValue | None], start: Index, end: Index
    ) -> None:
        builder, product, lanes = self.builder, self.product, self.lanes
        columns = [builder.add(j, v * lanes) for v in range(self.vectors)]
        type = vector_of(self.element, lanes)
        places = [self._place(product.c, {product.i: row, product.j: column}) for row in rows for column in columns]
        masks_of = [mask for _ in rows for mask in masks]
        totals = [builder.load(product.c.value, p, lanes, m) for p, m in zip(places, masks_of, strict=True)]

        def step(k: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            across = [self._b(k, start, v, columns[v], masks[v]) for v in range(self.vectors)]
            results: list[SSAValue] = []
            for number, row in enumerate(rows):
                scalar = builder.load(product.a.value, self._place(product.a, {product.i: row, product.k: k}))
                wide = builder.splat(scalar, lanes)
                for v in range(self.vectors):
                    value = values[number * self.vectors + v]
                    results.append(builder.op(vector.FMAOp, [wide, across[v], value], type))
            return results

        totals = builder.loop(start, end, 1, totals, step)
        for total, place, mask in zip(totals, places, masks_of, strict=True):
            builder.store(total, product.c.value, place, mask)

    def _b(self, k: Index, start: Index, v: int, column: Index, mask: SSAValue | None) -> SSAValue:
        builder, product = self.builder, self.product
        if self.panel is not None:
            return builder.load(self.panel, [builder.subtract(k, start), v * self.lanes], self.lanes)
        return builder.load(
            product.b.value, self._place(product.b, {product.k: k, product.j: column}), self.lanes, mask
        )

    def _place(self, operand: Operand, here: dict[int, Index]) -> list[Index]:
        subscripts = self.subscripts | here
        return [s.constant if s.atom is None else subscripts[s.atom] for s in operand.subscripts]

    # -- the panel -------------------------------------------------------------------------------------------------

    def _pack(self, j: Index, masks: Sequence[SSAValue | None], start: Index, end: Index) -> None:
        """Copies `width` columns of b, from k = start to end, row by row or as vectors gathered, into the panel."""
        builder, product, panel = self.builder, self.product, self.panel
        assert panel is not None
        if product.b.is_unit(product.j):

            def copy_row(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                for v, mask in enumerate(masks):
                    place = self._place(product.b, {product.k: k, product.j: builder.add(j, v * self.lanes)})
                    value = builder.load(product.b.value, place, self.lanes, mask)
                    builder.store(value, panel, [builder.subtract(k, start), v * self.lanes])
                return ()

            builder.loop(start, end, 1, (), copy_row)
            return
        last = builder.subtract(self.sizes[product.j], 1)
        is_whole = all(mask is None for mask in masks)
        type = vector_of(self.element, self.lanes)

        def copy_columns(column: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first = builder.add(j, column)
            there = [builder.add(first, lane) for lane in range(self.lanes)]
            there = there if is_whole else [builder.minimum(each, last) for each in there]

            def copy(k: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                value = builder.number(0, type)
                for lane, each in enumerate(there):
                    place = self._place(product.b, {product.k: k, product.j: each})
                    value = builder.put(builder.load(product.b.value, place), value, lane)
                builder.store(value, panel, [builder.subtract(k, start), column])
                return ()

            builder.loop(start, end, 1, (), copy)
            return ()

        builder.loop(0, self.width, self.lanes, (), copy_columns)


def _row_count(size: Index, vector_bytes: int) -> int:
    """Rows of a tile: what registers hold, or a little less where that wastes fewer rows at the end."""
    most = 8 if vector_bytes >= 64 else 6
    if not isinstance(size, int) or size <= most:
        return min(size, most) if isinstance(size, int) else most
    return min(range(most, 3, -1), key=lambda rows: (-size % rows) / size + 0.02 * (most - rows))
