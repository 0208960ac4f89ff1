"""Builds the loops of a nest from its schedule: vectors with a masked last step, and accumulators in registers.

Reads: nests and schedules. Writes: scf, memref, vector and the body's ops. Leaves: the linalg op, which the caller
erases.

The order of a sum depends only on the sizes: `unroll` vectors of partial sums, then a balanced tree. Long sums restart
their partial sums now and then, so that rounding errors grow slowly. Partial sums of float32 are added up in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects import arith, scf
from xdsl.ir import SSAValue

from mlirad.analysis.bounds import interval_of
from mlirad.lowering.loop_body import Body, Combiner, select
from mlirad.lowering.loop_builder import Index, LoopBuilder, tree, vector_of
from mlirad.lowering.to_loops.loop_nest import Nest
from mlirad.lowering.to_loops.loop_schedule import TILE, Schedule, may_fold_rows
from mlirad.lowering.to_loops.nest_points import PointEmitter, Values

_BLOCK, _NARROW_BLOCK = 256, 64
"""Steps after which partial sums restart; fewer for float32."""
_FEW_COLUMNS = 128
"""Up to this many columns are summed one group of vectors after the other, with all sums in registers."""
_CHEAP = 16
"""A body of at most this cost may be repeated for shorter vectors at the end."""
_EXACT = ("arith.", "linalg.")
"""Ops that give the same digits on vectors of each length."""

Inner = Callable[[Values], Values]


class NestEmitter(PointEmitter):
    """Builds the loops of one nest. `bounds` holds the range of each dimension."""

    def __init__(self, nest: Nest, schedule: Schedule, body: Body, builder: LoopBuilder):
        super().__init__(nest, schedule, body, builder)
        self.bounds: dict[int, tuple[Index, Index]] = {d: (0, size) for d, size in enumerate(nest.sizes)}

    def emit(self) -> None:
        schedule = self.schedule
        self._hoist()
        outer = [d for d in schedule.order if d not in schedule.reduced and d != schedule.vector]
        if schedule.strip is not None:
            self._strips([d for d in outer if d not in schedule.strip], *schedule.strip)
        elif not schedule.accumulated:
            self._loops(outer, (), lambda _: self._along_points())
        elif schedule.vector in schedule.reduced:
            if outer and may_fold_rows(self.nest, schedule, self.body, outer[-1]):
                self._loops(outer[:-1], (), lambda _: self._fold_rows(outer[-1]))
            else:
                self._loops(outer, (), lambda _: self._fold())
        else:
            self._loops(outer, (), lambda _: self._columns())

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

    def _along(self, unroll: int, inner: Callable[[int, SSAValue | None], object]) -> Values:
        """Run `inner(unroll, no mask)` along the vector dimension while it fits, then `inner(1, mask)` up to the
        end."""
        schedule, builder, v = self.schedule, self.builder, self.schedule.vector

        def call(count: int, mask: SSAValue | None) -> Values:
            inner(count, mask)
            return ()

        if v is None:
            return call(1, None)
        size = self.nest.sizes[v]
        main = 0 if schedule.is_masked else builder.round_down(size, unroll * schedule.lanes)
        self._loop(v, 0, main, unroll * schedule.lanes, (), lambda _: call(unroll, None))
        self._rest(main, unroll, (), lambda _: call(1, self._mask()))
        return ()

    def _along_points(self) -> Values:
        """Run along the vector dimension, if points are only stored."""
        schedule, v = self.schedule, self.schedule.vector
        size = None if v is None else self.nest.sizes[v]
        if v is None or not isinstance(size, int) or not self._may_halve(size % schedule.lanes):
            return self._along(1, lambda _, mask: self._point((), mask))
        first, lanes = 0, schedule.lanes
        while first < size:
            self.schedule, end = replace(schedule, lanes=lanes), first + (size - first) // lanes * lanes
            self._loop(v, first, end, lanes, (), lambda _: self._point((), None))
            first, lanes = end, lanes // 2
        self.schedule = schedule
        return ()

    def _may_halve(self, rest: int) -> bool:
        """Whether the last elements are computed in one or two shorter vectors, and not under a mask: if the next trip
        of a loop reads them, it need not wait until they are in the cache, as after a masked store."""
        is_cheap = self.body.cost <= _CHEAP and all(op.name.startswith(_EXACT) for op in self.body.block.ops)
        is_in_loop = isinstance(self.builder.anchor.parent_op(), scf.ForOp | scf.WhileOp)
        return is_cheap and is_in_loop and not self.schedule.is_masked and 1 <= rest.bit_count() <= 2

    def _mask(self) -> SSAValue | None:
        """The mask of the lanes before the end of the vector dimension."""
        v = self.schedule.vector
        assert v is not None
        return self.builder.mask(self.builder.subtract(self.nest.sizes[v], self.subscripts[v]), self.schedule.lanes)

    def _strips(self, outer: Sequence[int], along: int, across: int) -> None:
        """Loops of a transposition: a short strip keeps the other dimension's cache lines for the next strip."""
        size = self.nest.sizes[along]

        def strip(start: Index) -> Values:
            end = self.builder.minimum(self.builder.add(start, TILE), size)
            return self._loops(
                [across], (), lambda _: self._loop(along, start, end, 1, (), lambda _: self._point((), None))
            )

        def strips(_: Values) -> Values:
            self.builder.loop(0, size, TILE, (), lambda start, _: strip(start))
            return ()

        self._loops(outer, (), strips)

    # -- reductions ------------------------------------------------------------------------------------------------

    def _columns(self) -> Values:
        """Reduce along dimensions with larger strides than the results'. Long ones are reduced in strips of rows.

        A strip is read row by row, in memory order; between strips the results are in memory.
        """
        schedule, builder = self.schedule, self.builder
        rows = schedule.reduced[0]
        size = self.nest.sizes[rows]
        if schedule.vector is None or (isinstance(size, int) and size <= 2 * TILE):
            return self._along(schedule.unroll, self._accumulate)

        accumulate = self._accumulate
        if None not in schedule.combiners and self._is_narrow:
            columns = self.nest.sizes[schedule.vector]
            if len(schedule.reduced) == 1 and isinstance(columns, int) and columns <= _FEW_COLUMNS:
                return self._along(schedule.unroll, self._accumulate_blocks)
            accumulate = self._accumulate_apart

        def strip(start: Index, _: Values) -> Values:
            self.bounds[rows] = start, builder.minimum(builder.add(start, TILE), size)
            return self._along(schedule.unroll, accumulate)

        return builder.loop(0, size, TILE, (), strip)

    def _accumulate(self, unroll: int, mask: SSAValue | None) -> None:
        """Reduce for one element, or for neighbouring elements in `unroll` vectors."""
        self._update(unroll, mask, lambda before, start: self._reduce(unroll, mask, start, before))

    def _accumulate_apart(self, unroll: int, mask: SSAValue | None) -> None:
        """The same, but the old value is added last, not first."""

        def total(before: Values, start: Index | None) -> Values:
            return self._join(before, self._reduce(unroll, mask, start, self._neutral(unroll)))

        self._update(unroll, mask, total)

    def _accumulate_blocks(self, unroll: int, mask: SSAValue | None) -> None:
        """The same for long columns, using the partial results of blocks of rows."""
        (rows,) = self.schedule.reduced
        size, block = self.nest.sizes[rows], self._block

        def total(before: Values, start: Index | None) -> Values:
            def run(first: Index, sums: Values) -> Values:
                self.bounds[rows] = first, self.builder.minimum(self.builder.add(first, block), size)
                return self._gather_parts(sums, self._reduce(unroll, mask, start, self._neutral(unroll)))

            sums = self.builder.loop(0, size, block, self._sums(unroll), run)
            return self._join(before, self._narrowed(sums))

        self._update(unroll, mask, total)

    def _update(self, unroll: int, mask: SSAValue | None, total: Callable[[Values, Index | None], Values]) -> None:
        """Replace the accumulated outputs by the values that `total` computes from them."""
        v, count = self.schedule.vector, len(self.schedule.accumulated)
        start = None if v is None else self.subscripts[v]
        before: list[SSAValue] = []
        for u in range(unroll):
            self._move(start, u)
            before += [self._read(self.nest.outputs[i], mask) for i in self.schedule.accumulated]
        totals = total(before, start)
        for u in range(unroll):
            self._move(start, u)
            for i, each in zip(self.schedule.accumulated, totals[u * count : (u + 1) * count], strict=True):
                self._write(each, self.nest.outputs[i], mask)

    def _reduce(self, unroll: int, mask: SSAValue | None, start: Index | None, totals: Values) -> Values:
        """The loops over the reduced dimensions, for the `unroll` vectors from `start` on."""
        count = len(self.schedule.accumulated)

        def each(values: Values) -> Values:
            results: list[SSAValue] = []
            for u in range(unroll):
                self._move(start, u)
                results += self._point(values[u * count : (u + 1) * count], mask)
            return results

        return self._loops(self.schedule.reduced, totals, each)

    def _move(self, start: Index | None, step: int) -> None:
        """Set the vector dimension's subscript to `step` vectors after `start`."""
        if start is not None and self.schedule.vector is not None:
            self.subscripts[self.schedule.vector] = self.builder.add(start, step * self.schedule.lanes)

    def _fold(self) -> Values:
        """Reduce along the vector dimension: lanes and unrolled vectors hold partial results."""
        schedule, builder = self.schedule, self.builder
        outer = [d for d in schedule.order if d in schedule.reduced and d != schedule.vector]
        before = [self._read(self.nest.outputs[i], None) for i in schedule.accumulated]
        if all(combiner.is_in_order for combiner in self._combiners):
            totals = self._loops(outer, before, self._row_in_order)
            for i, total in zip(schedule.accumulated, totals, strict=True):
                self._write(total, self.nest.outputs[i], None)
            return ()
        start = self._neutral(schedule.unroll)
        parts = self._loops(outer, start, lambda values: self._fold_row(values, is_inner=bool(outer)))
        sums = zip(schedule.accumulated, self._combiners, self._vectors(parts), before, strict=True)
        for i, combiner, part, old in sums:
            total = builder.fold_lanes(part, lambda a, b, c=combiner: c.apply(builder, a, b))
            self._write(combiner.apply(builder, old, total), self.nest.outputs[i], None)
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
                total = builder.fold_rows(parts, lambda a, b, c=combiner: c.apply(builder, a, b))
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
        """The initial accumulators, grouped by vector."""
        return [c.neutral(self.builder, self.schedule.lanes) for c in self._combiners] * unroll

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
        return [c.widened.neutral(self.builder, self.schedule.lanes) for c in self._combiners] * unroll

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

        def each(values: Values) -> Values:
            first = self.subscripts[v]
            results: list[SSAValue] = []
            for u in range(schedule.unroll):
                self._move(first, u)
                results += self._point(values[u * count : (u + 1) * count], None)
            return results

        return self._loop(v, start, end, schedule.unroll * schedule.lanes, values, each)

    def _join(self, values: Values, parts: Values) -> Values:
        combiners = self._combiners * (len(values) // len(self._combiners))
        return [c.apply(self.builder, a, b) for c, a, b in zip(combiners, values, parts, strict=True)]

    def _last(self, values: Values) -> Values:
        """Combine one vector into the first accumulators; lanes past the end stay unchanged."""
        mask, count = self._mask(), len(self.schedule.accumulated)
        results = self._point(values[:count], mask)
        if mask is not None:
            results = [select(self.builder, mask, *pair) for pair in zip(results, values[:count], strict=True)]
        return [*results, *values[count:]]
