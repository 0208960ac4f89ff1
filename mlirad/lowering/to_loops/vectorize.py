"""Builds the loops of a nest from its schedule: vectors with a masked last step, and accumulators in registers.

Reads: nests and schedules. Writes: scf, memref, vector and the body's ops. Leaves: the linalg op, which the caller
erases.

Reductions along the vectors are in `row_reductions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from mlirad.lowering.loop_builder import Index
from mlirad.lowering.to_loops.loop_schedule import TILE
from mlirad.lowering.to_loops.nest_points import Values
from mlirad.lowering.to_loops.row_reductions import RowEmitter

_FEW_COLUMNS = 128
"""Up to this many columns are summed one group of vectors after the other, with all sums in registers."""
_CHEAP = 16
"""A body of at most this cost may be repeated for shorter vectors at the end."""
_EXACT = ("arith.", "linalg.")
"""Ops that give the same digits on vectors of each length."""


class NestEmitter(RowEmitter):
    """Builds the loops of one nest."""

    def emit(self) -> None:
        schedule = self.schedule
        self._hoist()
        outer = [d for d in schedule.order if d not in schedule.reduced and d != schedule.vector]
        if schedule.strip is not None:
            self._strips([d for d in outer if d not in schedule.strip], *schedule.strip)
        elif not schedule.accumulated:
            self._loops(outer, (), lambda _: self._along_points())
        elif schedule.vector in schedule.reduced:
            self._reduce_rows(outer)
        else:
            self._loops(outer, (), lambda _: self._columns())

    # -- loops -----------------------------------------------------------------------------------------------------

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
