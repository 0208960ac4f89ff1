"""Builds reductions along the dimension that fills vectors: sums of rows, products of a matrix and a vector.

Reads: nests and schedules. Writes: scf, memref, vector and the body's ops. Leaves: other nests (`vectorize.py`).

The order of a sum depends only on the sizes: `unroll` vectors of partial sums, then a balanced tree. Long sums restart
their partial sums now and then, so that rounding errors grow slowly. Partial sums of float32 are added up in float64.

Short rows are reduced together for the sake of their last steps, whose vectors then hold a lane for each row. Some long
rows are read side by side: a processor fetches ahead in each page by itself, and reads what the rows share once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from mlirad.analysis.bounds import interval_of
from mlirad.lowering.across_lanes import fold_lanes, fold_rows, tree
from mlirad.lowering.loop_body import Body, Combiner, select
from mlirad.lowering.loop_builder import Index, LoopBuilder, vector_of
from mlirad.lowering.to_loops.loop_nest import Nest
from mlirad.lowering.to_loops.loop_schedule import Schedule, may_fold_rows
from mlirad.lowering.to_loops.nest_points import PointEmitter, Values

_BLOCK, _NARROW_BLOCK = 256, 64
"""Steps after which partial sums restart; fewer for float32."""

Inner = Callable[[Values], Values]


@dataclass(frozen=True)
class _Row:
    """A row that is open beside others: its subscript, and what was read of it before its loop."""

    subscript: Index
    hoisted: dict[int, SSAValue]


class RowEmitter(PointEmitter):
    """Builds loops over `bounds`, the range of each dimension, and reductions along rows.

    `rows` are those that are open beside one another, along the dimension `across`. Values of several rows are lists:
    the first row's, then the second's.
    """

    def __init__(self, nest: Nest, schedule: Schedule, body: Body, builder: LoopBuilder):
        super().__init__(nest, schedule, body, builder)
        self.bounds: dict[int, tuple[Index, Index]] = {d: (0, size) for d, size in enumerate(nest.sizes)}
        self.across, self.rows = 0, list[_Row]()

    # -- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, d: int, lower: Index, upper: Index, step: int, carried: Values, inner: Inner) -> Values:
        """A loop over a dimension. Values that depend on no inner loop are read at its top."""
        return self.builder.loop(lower, upper, step, carried, lambda index, values: self._at(d, index, values, inner))

    def _at(self, d: int, index: Index, carried: Values, inner: Inner) -> Values:
        subscripts, hoisted = dict(self.subscripts), dict(self.hoisted)
        self.subscripts[d] = index
        if d != self.schedule.vector:
            self._hoist()
        results = inner(carried)
        self.subscripts, self.hoisted = subscripts, hoisted
        return results

    def _rest(self, main: Index, unroll: int, carried: Values, inner: Inner) -> Values:
        """The elements along the vector dimension after the last step of `unroll` vectors, vector by vector."""
        schedule, v = self.schedule, self.schedule.vector
        assert v is not None
        size = self.nest.sizes[v]
        if unroll > 1 or schedule.is_masked:
            return self._loop(v, main, size, schedule.lanes, carried, inner)
        return self.builder.last(main, size, carried, lambda index, values: self._at(v, index, values, inner))

    def _loops(self, dimensions: Sequence[int], carried: Values, inner: Inner) -> Values:
        if not dimensions:
            return inner(carried)
        first, *others = dimensions
        lower, upper = self.bounds[first]
        return self._loop(first, lower, upper, 1, carried, lambda values: self._loops(others, values, inner))

    def _mask(self) -> SSAValue | None:
        """The mask of the lanes before the end of the vector dimension."""
        v = self.schedule.vector
        assert v is not None
        return self.builder.mask(self.builder.subtract(self.nest.sizes[v], self.subscripts[v]), self.schedule.lanes)

    def _move(self, start: Index | None, step: int) -> None:
        """Set the vector dimension's subscript to `step` vectors after `start`."""
        if start is not None and self.schedule.vector is not None:
            self.subscripts[self.schedule.vector] = self.builder.add(start, step * self.schedule.lanes)

    # -- rows ------------------------------------------------------------------------------------------------------

    def _reduce_rows(self, outer: Sequence[int]) -> None:
        """outer: the dimensions of the results."""
        schedule = self.schedule
        if outer and may_fold_rows(self.nest, schedule, self.body, outer[-1]):
            self._loops(outer[:-1], (), lambda _: self._fold_rows(outer[-1]))
        elif outer and schedule.rows > 1:
            self._loops(outer[:-1], (), lambda _: self._fold_some_rows(outer[-1]))
        else:
            self._loops(outer, (), lambda _: self._fold())

    def _fold_some_rows(self, across: int) -> Values:
        """Reduce long rows, some at a time. The order of each sum stays."""
        builder, size, count = self.builder, self.nest.sizes[across], self.schedule.rows
        main = builder.round_down(size, count)
        builder.loop(0, main, count, (), lambda first, _: self._fold_beside(across, first, count))
        if isinstance(size, int):
            return self._fold_beside(across, main, size % count)
        return self._loop(across, main, size, 1, (), lambda _: self._fold())

    def _fold_beside(self, across: int, first: Index, count: int) -> Values:
        """Reduce these rows side by side."""
        subscripts, hoisted = dict(self.subscripts), self.hoisted
        self.across = across
        for number in range(count):
            row = self.builder.add(first, number)
            self.subscripts[across], self.hoisted = row, dict(hoisted)
            self._hoist()
            self.rows.append(_Row(row, self.hoisted))
        if count:
            self._fold()
        self.rows.clear()
        self.subscripts, self.hoisted = subscripts, hoisted
        return ()

    def _each_row(self, values: Values, inner: Inner) -> Values:
        """What `inner` returns for the values of each row."""
        if not self.rows:
            return inner(values)
        width, results, hoisted = len(values) // len(self.rows), list[SSAValue](), self.hoisted
        for number, row in enumerate(self.rows):
            self.subscripts[self.across], self.hoisted = row.subscript, row.hoisted
            results += inner(values[number * width : (number + 1) * width])
        self.hoisted = hoisted
        return results

    def _fold(self) -> Values:
        """Reduce along the vector dimension: lanes and unrolled vectors hold partial results."""
        schedule = self.schedule
        outer = [d for d in schedule.order if d in schedule.reduced and d != schedule.vector]
        before = self._each_row((), lambda _: [self._read(self.nest.outputs[i], None) for i in schedule.accumulated])
        if all(combiner.is_in_order for combiner in self._combiners):
            totals = self._loops(outer, before, self._row_in_order)
            return self._write_totals(totals)
        start = self._neutral(schedule.unroll)
        parts = self._loops(outer, start, lambda values: self._fold_row(values, is_inner=bool(outer)))
        totals = self._join(before, self._each_row(parts, self._totals))
        self._each_row(totals, self._write_totals)
        return ()

    def _totals(self, parts: Values) -> Values:
        """The result of each output, of the partial results of a row."""
        builder, results = self.builder, list[SSAValue]()
        for combiner, part in zip(self._combiners, self._vectors(parts), strict=True):
            results.append(fold_lanes(builder, part, lambda a, b, c=combiner: c.apply(builder, a, b)))
        return results

    def _write_totals(self, totals: Values) -> Values:
        for i, total in zip(self.schedule.accumulated, totals, strict=True):
            self._write(total, self.nest.outputs[i], None)
        return ()

    def _vectors(self, parts: Values) -> list[SSAValue]:
        """The partial results of all unrolled vectors, in one vector for each output."""
        combiners = self._combiners
        return [
            tree(parts[number :: len(combiners)], lambda a, b, c=combiner: c.apply(self.builder, a, b))
            for number, combiner in enumerate(combiners)
        ]

    def _fold_rows(self, rows: int) -> Values:
        """Reduce short rows along the vector dimension, as many at a time as a vector has lanes: their results, which
        are neighbours in memory, are then one vector. The order of each sum stays."""
        schedule, builder, size = self.schedule, self.builder, self.nest.sizes[rows]

        def each(start: Index, _: Values) -> Values:
            subscripts, hoisted, found = dict(self.subscripts), self.hoisted, list[list[SSAValue]]()
            for number in range(schedule.lanes):
                self.subscripts[rows], self.hoisted = builder.add(start, number), dict(hoisted)
                self._hoist()
                found.append(self._vectors(self._fold_row(self._neutral(schedule.unroll), is_inner=False)))
            self.subscripts[rows] = start
            for i, combiner, *parts in zip(schedule.accumulated, self._combiners, *found, strict=True):
                out = self.nest.outputs[i]
                before = builder.load(out.value, self._place(out), schedule.lanes)
                total = fold_rows(builder, parts, lambda a, b, c=combiner: c.apply(builder, a, b))
                builder.store(combiner.apply(builder, before, total), out.value, self._place(out))
            self.subscripts, self.hoisted = subscripts, hoisted
            return ()

        main = builder.round_down(size, schedule.lanes)
        builder.loop(0, main, schedule.lanes, (), each)
        return self._loop(rows, main, size, 1, (), lambda _: self._fold())

    def _row_in_order(self, totals: Values) -> Values:
        """Go along the vector dimension once: compute elements in vectors, and combine them one after the other."""
        schedule, v = self.schedule, self.schedule.vector
        assert v is not None
        size = self.nest.sizes[v]
        main = 0 if schedule.is_masked else self.builder.round_down(size, schedule.lanes)
        totals = self._loop(v, 0, main, schedule.lanes, totals, lambda values: self._in_order(values, None))
        return self._rest(main, 1, totals, lambda values: self._in_order(values, self._mask()))

    def _in_order(self, totals: Values, mask: SSAValue | None) -> Values:
        """The totals, combined with the elements of one vector; lanes past the end add the neutral element."""
        neutral = self._neutral(1)
        elements = self._point(neutral, mask)
        if mask is not None:
            elements = [select(self.builder, mask, *pair) for pair in zip(elements, neutral, strict=True)]
        results: list[SSAValue] = []
        for combiner, total, vector_of_elements in zip(self._combiners, totals, elements, strict=True):
            for lane in range(self.schedule.lanes):
                element = self.builder.extract(vector_of_elements, lane, combiner.element)
                total = combiner.apply(self.builder, total, element)
            results.append(total)
        return results

    @property
    def _combiners(self) -> list[Combiner]:
        combiners = [combiner for combiner in self.schedule.combiners if combiner is not None]
        assert len(combiners) == len(self.schedule.accumulated)
        return combiners

    def _neutral(self, unroll: int) -> list[SSAValue]:
        """The initial accumulators of all rows, grouped by vector."""
        neutral = [c.neutral(self.builder, self.schedule.lanes) for c in self._combiners]
        return neutral * (unroll * max(len(self.rows), 1))

    @property
    def _is_narrow(self) -> bool:
        """Whether there are sums of float32."""
        return any(combiner.widened is not combiner for combiner in self._combiners)

    @property
    def _block(self) -> int:
        """The steps after which partial results restart."""
        return _NARROW_BLOCK if self._is_narrow else _BLOCK

    def _sums(self, unroll: int) -> list[SSAValue]:
        """The initial sums, to which the partial results of blocks are added."""
        neutral = [c.widened.neutral(self.builder, self.schedule.lanes) for c in self._combiners]
        return neutral * (unroll * max(len(self.rows), 1))

    def _gather_parts(self, sums: Values, parts: Values) -> Values:
        """The sums with the partial results of a block."""
        builder, made = self.builder, []
        for number, (whole, part) in enumerate(zip(sums, parts, strict=True)):
            combiner = self._combiners[number % len(self._combiners)].widened
            wide = part if part.type == whole.type else builder.op(arith.ExtFOp, [part], whole.type)
            made.append(combiner.apply(builder, whole, wide))
        return made

    def _narrowed(self, sums: Values) -> list[SSAValue]:
        """The sums in the width of the accumulators."""
        types = [vector_of(combiner.element, self.schedule.lanes) for combiner in self._combiners]
        wanted = (types[number % len(types)] for number in range(len(sums)))
        return [
            whole if whole.type == type else self.builder.op(arith.TruncFOp, [whole], type)
            for whole, type in zip(sums, wanted, strict=True)
        ]

    def _fold_row(self, values: Values, *, is_inner: bool) -> Values:
        """Go along the vector dimension once: whole vectors, then one under a mask."""
        schedule, builder, v = self.schedule, self.builder, self.schedule.vector
        assert v is not None
        size, step = self.nest.sizes[v], schedule.unroll * schedule.lanes
        block = step * self._block
        main = size if schedule.is_masked else builder.round_down(size, step)
        is_rounded = any(combiner.is_rounded for combiner in self._combiners)
        # An unknown size with a bound of at most one block needs no loop over blocks.
        most = 2 * block if isinstance(size, int) else block
        if is_rounded and (size if isinstance(size, int) else interval_of(size).high) > most:

            def run(start: Index, sums: Values) -> Values:
                end = builder.minimum(builder.add(start, block), main)
                return self._gather_parts(sums, self._sweep(start, end, self._neutral(schedule.unroll)))

            sums = builder.loop(0, main, block, self._sums(schedule.unroll), run)
            values = self._join(values, self._narrowed(sums))
        elif is_rounded and (not isinstance(size, int) or (is_inner and size >= 8 * step)):
            values = self._join(values, self._sweep(0, main, self._neutral(schedule.unroll)))
        else:
            values = self._sweep(0, main, values)
        return self._rest(main, schedule.unroll, values, self._last)

    def _sweep(self, start: Index, end: Index, values: Values) -> Values:
        """Full vectors from `start` to `end`: unrolled, if that is a multiple; or single ones to any end, under
        masks."""
        schedule, v = self.schedule, self.schedule.vector
        assert v is not None
        count = len(schedule.accumulated)
        if schedule.is_masked:
            return self._loop(v, start, end, schedule.lanes, values, self._last)

        def each(first: Index, values: Values) -> Values:
            results: list[SSAValue] = []
            for u in range(schedule.unroll):
                self._move(first, u)
                results += self._point(values[u * count : (u + 1) * count], None)
            return results

        def each_row(values: Values) -> Values:
            first = self.subscripts[v]
            return self._each_row(values, lambda values: each(first, values))

        return self._loop(v, start, end, schedule.unroll * schedule.lanes, values, each_row)

    def _join(self, values: Values, parts: Values) -> Values:
        combiners = self._combiners * (len(values) // len(self._combiners))
        return [c.apply(self.builder, a, b) for c, a, b in zip(combiners, values, parts, strict=True)]

    def _last(self, values: Values) -> Values:
        """Combine one vector into the first accumulators; lanes past the end stay unchanged."""
        mask, count = self._mask(), len(self.schedule.accumulated)

        def each(values: Values) -> Values:
            results = self._point(values[:count], mask)
            if mask is not None:
                results = [select(self.builder, mask, *pair) for pair in zip(results, values[:count], strict=True)]
            return [*results, *values[count:]]

        return self._each_row(values, each)
