"""Recognises products of a matrix with windows of an array, and packs the windows' columns for register tiles. The
columns of the matrix may run along several dimensions that are not one in memory.

Reads: nests c[i, h, w] += a[i, k, l] * x[h + k, w + l] and c[k, l, j] += x[h + k, w + l] * b[j, h, w], with any number
of such dimensions. Writes: loops that pack windows, or sum along them. Leaves: the tiles (`register_tiles.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from mlirad.lowering.loop_body import Body
from mlirad.lowering.loop_builder import Index, LoopBuilder, vector_of
from mlirad.lowering.to_loops.loop_nest import Nest, Operand, merged
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.packed_factors import Panel
from mlirad.lowering.to_loops.products.product_blocks import DEPTH


@dataclass(frozen=True)
class WindowedFactor:
    """The factor x[h + k, w + l] as a matrix: its rows run along the dimensions k, l, its columns along h, w.

    It is the second factor, with columns that are packed, or the first one, which tiles read element by element.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    sizes: Mapping[int, int]
    """Of these dimensions."""
    is_left: bool = False
    first_row: Index = 0
    """The first row of the part that is multiplied."""

    @property
    def depth(self) -> int:
        """The most steps of the sum between two accesses of the result: whole lines of the summed dimensions."""
        return DEPTH // self._inner * self._inner

    @property
    def _inner(self) -> int:
        return prod(self.sizes[d] for d in (self.columns if self.is_left else self.rows)[1:])

    def sum(
        self,
        builder: LoopBuilder,
        depths: tuple[Index, Index],
        totals: Sequence[SSAValue],
        step: Callable[[Index, Sequence[SSAValue], Mapping[int, Index]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """The loops along the columns: totals = step(column, totals, subscripts)."""
        start, end = (builder.divide(each, self._inner) for each in depths)

        def loops(
            dimensions: Sequence[int], column: Index, here: Mapping[int, Index], values: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            if not dimensions:
                return step(column, values, here)
            first, *others = dimensions
            inner = prod(self.sizes[d] for d in others)
            lower, upper = (0, self.sizes[first]) if here else (start, end)

            def body(index: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                at = builder.add(column, builder.multiply(index, inner))
                return loops(others, at, {**here, first: index}, carried)

            return builder.loop(lower, upper, 1, values, body)

        return list(loops(self.columns, 0, {}, totals))

    def row(self, builder: LoopBuilder, number: Index) -> dict[int, Index]:
        """The subscripts of a row."""
        return self._split(builder, builder.add(self.first_row, number), self.rows)

    def _split(self, builder: LoopBuilder, number: Index, dimensions: Sequence[int]) -> dict[int, Index]:
        """A number that counts through all of these dimensions, as their subscripts."""
        found: dict[int, Index] = {}
        for d in reversed(dimensions[1:]):
            size = self.sizes[d]
            found[d], number = self._remainder(builder, number, size), builder.divide(number, size)
        return found | dict.fromkeys(dimensions[:1], number)

    def pack(
        self,
        builder: LoopBuilder,
        source: Operand,
        subscripts: Mapping[int, Index],
        panel: Panel,
        depths: tuple[Index, Index],
        column: Index,
        vectors: int,
    ) -> None:
        """Copy columns from one on, for these rows, into the panel. subscripts: of the dimensions around.

        A vector of columns consists of pieces, one of each line of x that it crosses.
        """
        pieces = [self._pieces(builder, builder.add(column, v * panel.lanes), panel.lanes) for v in range(vectors)]
        zeros = builder.number(0, vector_of(source.element, panel.lanes))
        type = zeros.type

        def copy(row: Index, here: Mapping[int, Index]) -> None:
            for v, parts in enumerate(pieces):
                value = zeros
                for mask, there in parts:
                    place = source.place(builder, {**subscripts, **here, **there})
                    operands = [source.value, *map(builder.value, place)]
                    if mask is None:
                        value = builder.op(vector.LoadOp, operands, type)
                    else:
                        value = builder.op(vector.MaskedLoadOp, [*operands, mask, value], type)
                builder.store(value, panel.buffer, [row, v * panel.lanes])

        def loops(dimensions: Sequence[int], row: Index, here: Mapping[int, Index]) -> None:
            if not dimensions:
                return copy(row, here)
            first, *others = dimensions
            inner = prod(self.sizes[d] for d in others)

            def body(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                loops(others, builder.add(row, builder.multiply(index, inner)), {**here, first: index})
                return ()

            builder.loop(0, self.sizes[first], 1, (), body)

        start, end = (builder.divide(each, self._inner) for each in depths)

        def outer(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = builder.add(panel.row, builder.multiply(builder.subtract(index, start), self._inner))
            loops(self.rows[1:], row, {self.rows[0]: index})
            return ()

        builder.loop(start, end, 1, (), outer)

    def _pieces(
        self, builder: LoopBuilder, column: Index, lanes: int
    ) -> list[tuple[SSAValue | None, dict[int, Index]]]:
        """The mask of each piece of a vector, and the subscripts of the element that its first lane would have."""
        *outer, last = self.columns
        length, total = self.sizes[last], prod(self.sizes[d] for d in self.columns)
        line, at = builder.divide(column, length), self._remainder(builder, column, length)
        left = builder.subtract(total, column)
        found: list[tuple[SSAValue | None, dict[int, Index]]] = []
        before: SSAValue | None = None
        for number in range(min((lanes - 2) // length + 2, total // length)):
            place = self._split(builder, builder.add(line, number), outer)
            place[last] = builder.subtract(at, number * length)
            mask = builder.mask(builder.minimum(builder.subtract((number + 1) * length, at), left), lanes)
            own = mask
            if before is not None:
                whole = builder.number(1, vector_of(i1, lanes)) if mask is None else mask
                own = builder.op(arith.XOrIOp, [whole, before], before.type)
            found.append((own, place))
            if mask is None:
                break
            before = mask
        return found

    def _remainder(self, builder: LoopBuilder, index: Index, size: int) -> Index:
        return builder.subtract(index, builder.multiply(builder.divide(index, size), size))


@dataclass(frozen=True)
class SplitOperand(Operand):
    """A factor whose columns run along several dimensions that are not one in memory. At its place, the first one's
    subscript is the number of a column."""

    columns: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    """The sizes of the columns' dimensions."""

    @property
    def dimensions(self) -> frozenset[int]:
        return super().dimensions.difference(self.columns[1:])

    def is_unit(self, dimension: int) -> bool:
        return dimension not in self.columns and super().is_unit(dimension)

    def place(self, builder: LoopBuilder, subscripts: Mapping[int, Index]) -> list[Index]:
        first, *others = self.columns
        number, found = subscripts[first], dict(subscripts)
        for d, size in zip(reversed(others), reversed(self.lengths[1:]), strict=True):
            before = builder.divide(number, size)
            found[d], number = builder.subtract(number, builder.multiply(before, size)), before
        return super().place(builder, found | {first: number})

    @staticmethod
    def of(operand: Operand, columns: tuple[int, ...], sizes: Mapping[int, int]) -> SplitOperand:
        lengths = tuple(sizes[d] for d in columns)
        return SplitOperand(operand.value, operand.subscripts, operand.shape, operand.strides, columns, lengths)


def match_windowed(nest: Nest, body: Body, builder: LoopBuilder) -> tuple[Nest, Contraction, WindowedFactor] | None:
    """The nest as a product with windows, and the nest in which these are a matrix; None if it is no such product."""
    if len(nest.inputs) != 2 or len(nest.outputs) != 1 or not body.is_multiply_add:
        return None
    if not all(operand.is_memref for operand in nest.operands):
        return None
    plain = [all(s.atom is not None or not s.terms for s in operand.subscripts) for operand in nest.operands]
    if plain not in ([True, False, True], [False, True, True]):
        return None
    (a, x), c = (nest.inputs if plain[0] else reversed(nest.inputs)), nest.outputs[0]
    if c.subscripts and c.subscripts[-1].atom not in x.dimensions:
        return _match_first(nest, a, x, c, builder)
    rows = tuple(s.atom for s in a.subscripts if s.atom is not None and s.atom not in c.dimensions)
    columns = tuple(s.atom for s in c.subscripts if s.atom is not None and s.atom not in a.dimensions)
    around = [d for d in nest.live if d in c.dimensions and d in a.dimensions]
    heights = [d for d in around if d not in x.dimensions]
    known = _known(nest, (*rows, *columns))
    if not rows or not columns or len(heights) != 1 or known is None or not x.is_unit(columns[-1]):
        return None
    if set(nest.live) != {*rows, *columns, *around} or prod(known[d] for d in rows[1:]) > DEPTH:
        return None
    own, out = merged(a, rows, nest, builder) or SplitOperand.of(a, rows, known), merged(c, columns, nest, builder)
    if out is None or not out.is_unit(columns[0]):
        return None
    others = tuple(d for d in around if d != heights[0])
    product = Contraction(own, x, out, heights[0], columns[0], rows[0], others)
    return _whole(nest, known, rows, columns), product, WindowedFactor(rows, columns, known)


def _match_first(
    nest: Nest, b: Operand, x: Operand, c: Operand, builder: LoopBuilder
) -> tuple[Nest, Contraction, WindowedFactor] | None:
    """A nest c[k, l, j] += x[h + k, w + l] * b[j, h, w]."""
    rows = tuple(s.atom for s in c.subscripts if s.atom is not None and s.atom not in b.dimensions)
    columns = tuple(s.atom for s in b.subscripts if s.atom is not None and s.atom not in c.dimensions)
    around = [d for d in nest.live if d in c.dimensions and d in b.dimensions]
    widths, known = [d for d in around if d not in x.dimensions], _known(nest, (*rows, *columns))
    if not rows or not columns or len(widths) != 1 or known is None or not c.is_unit(widths[0]):
        return None
    if set(nest.live) != {*rows, *columns, *around} or prod(known[d] for d in columns[1:]) > DEPTH:
        return None
    own, out = merged(b, columns, nest, builder), merged(c, rows, nest, builder)
    if own is None or out is None:
        return None
    others = tuple(d for d in around if d != widths[0])
    product = Contraction(x, own, out, rows[0], widths[0], columns[0], others)
    return _whole(nest, known, rows, columns), product, WindowedFactor(rows, columns, known, is_left=True)


def _known(nest: Nest, dimensions: Sequence[int]) -> dict[int, int] | None:
    """The sizes of these dimensions, if all are known."""
    found = {d: size for d in dimensions if isinstance(size := nest.sizes[d], int)}
    return found if len(found) == len(set(dimensions)) else None


def _whole(nest: Nest, known: Mapping[int, int], *groups: Sequence[int]) -> Nest:
    """The nest with each group of dimensions as its first one."""
    sizes = list(nest.sizes)
    for group in groups:
        for d in group:
            sizes[d] = 1
        sizes[group[0]] = prod(known[d] for d in group)
    return replace(nest, sizes=tuple(sizes))
