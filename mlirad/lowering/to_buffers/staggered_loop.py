"""Builds the loop over the rows of a run of staggered nests, or the parallel loop over its strips.

Reads: a `StaggeredRun` with its lags, and its `Strips` if threads share it. Writes: the loop, with the nests on
subviews of one row. Leaves: none of the nests of the run, nor memory that only they use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.expr import current_location, emitting, insert
from mlirad.dialect.core.scalars import compare, number
from mlirad.lowering.rewriting import erase, rebuilt
from mlirad.lowering.strip_sums import add_up, allocated, cell_of, index, parallel_body
from mlirad.lowering.to_buffers.row_nests import erase_memory, move_behind, shape_of
from mlirad.lowering.to_buffers.staggered_runs import ShiftedAccess, ShiftedNest, StaggeredRun
from mlirad.lowering.to_buffers.staggered_strips import Strips, StripSpan


@dataclass(frozen=True)
class _Turn:
    """The rows of nests that run under one test: `count` rows from row `first` on. Row `i` runs at time `i + lag`.

    count: None if there is a row at all times of the loop. is_again: whether the rows are another strip's.
    """

    nests: Sequence[ShiftedNest]
    lag: int
    first: SSAValue | None
    count: SSAValue | int | None
    is_again: bool = False


@dataclass(frozen=True)
class _Strip:
    """The memory of a strip, or of the whole loop.

    places: for each ring, its first row, if it is not row 0. cells: for each sum of all elements, the sum of the
    current row. elsewhere: where rows that are another strip's are written, for each operand that others see.
    """

    places: Mapping[SSAValue, SSAValue]
    cells: Mapping[SSAValue, SSAValue]
    elsewhere: Mapping[SSAValue, SSAValue]


@dataclass
class StaggeredLoop:
    """rings: for memory that only the run uses, what replaces it, and its rows: n rows for each strip; row i is stored
    as row i modulo n. cells, sums: for each sum of all elements, the sum of the current row, and the sums of all rows.
    elsewhere: for operands that others see, a row for each strip.
    """

    run: StaggeredRun
    lags: Sequence[int]
    strips: Strips | None = None
    rings: dict[SSAValue, tuple[SSAValue, int]] = field(default_factory=dict)
    cells: dict[SSAValue, SSAValue] = field(default_factory=dict)
    sums: dict[SSAValue, SSAValue] = field(default_factory=dict)
    elsewhere: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def emit(self) -> None:
        """Replace the nests."""
        nests = self.run.nests
        last = nests[-1].op
        assert last.parent is not None
        with emitting(InsertPoint.before(last), last.location):
            self._make_memory()
            if self.strips is None:
                self._whole()
            else:
                self._in_strips(self.strips)
            for nest in nests:
                for whole, combiner in nest.sums.items():
                    add_up(self.sums[whole], whole, combiner)
        move_behind(self.run.later, last)
        for nest in nests:
            erase(nest.op)
        for base in self.rings:
            erase_memory(base)

    @property
    def _times(self) -> tuple[int, int]:
        """The first time of the run, and the time after the last."""
        ends = [lag + nest.rows for nest, lag in zip(self.run.nests, self.lags, strict=True)]
        return min(self.lags), max(ends)

    def _make_memory(self) -> None:
        strips = [] if self.strips is None else [self.strips.count]
        rings = self.run.rings(self.lags) if self.strips is None else self.run.own(self.lags)
        if self.strips is not None and self.strips.waiting:
            rings = {}  # the rows that wait need those of two strips
        for base, rows in rings.items():
            assert isinstance(base.type, MemRefType)
            shape = [rows * (strips[0] if strips else 1), *shape_of(base)[1:]]
            self.rings[base] = allocated(base.type.element_type, shape), rows
            self.rings[base][0].name_hint = base.name_hint
        for place, nest in enumerate(self.run.nests):
            for whole, combiner in nest.sums.items():
                self.cells[whole] = allocated(combiner.element, strips)
                self.sums[whole] = allocated(combiner.element, [nest.rows])
            if self.strips is not None and self.strips.spans[place].is_again:
                for each in nest.accesses:
                    type = each.value.type
                    if each.shift is not None and each.is_written and each.base not in self.rings:
                        assert isinstance(type, MemRefType)
                        self.elsewhere[each.value] = allocated(type.element_type, [*strips, *shape_of(each.value)[1:]])

    def _whole(self) -> None:
        first, end = self._times
        turns: list[_Turn] = []
        numbered = zip(self.run.nests, self.lags, strict=True)
        for (lag, rows), group in groupby(numbered, key=lambda each: (each[1], each[0].rows)):
            is_always = lag == first and lag + rows == end
            turns.append(_Turn([nest for nest, _ in group], lag, None, None if is_always else rows))
        self._loop(index(first), index(end), turns, _Strip({}, self.cells, {}))

    def _in_strips(self, strips: Strips) -> None:
        self._share(strips, strips.count, strips.begin, strips.length, strips.spans)
        if any(strips.waiting):
            seams = [StripSpan(0, rows, None) if rows else None for rows in strips.waiting]
            self._share(strips, strips.count - 1, strips.begin + strips.length, 0, seams)

    def _share(self, strips: Strips, count: int, first: int, length: int, spans: Sequence[StripSpan | None]) -> None:
        """A parallel loop over strips of `length` times. first: the first time of the first of them. spans: None for
        nests that do not run."""
        body = parallel_body(count)
        with emitting(InsertPoint.at_end(body), current_location()):
            begin = plus(_times(body.args[0], strips.length), first)
            self._one_strip(spans, begin, plus(begin, length), body.args[0])
            insert(scf.ReduceOp())

    def _one_strip(self, spans: Sequence[StripSpan | None], begin: SSAValue, end: SSAValue, number: SSAValue) -> None:
        turns: list[_Turn] = []
        given = zip(self.run.nests, self.lags, spans, strict=True)
        numbered = [(nest, lag, span) for nest, lag, span in given if span is not None]
        for (lag, rows, span), group in groupby(numbered, key=lambda each: (each[1], each[0].rows, each[2])):
            nests = [nest for nest, _, _ in group]
            start, stop = plus(begin, span.first - lag), plus(end, span.last - lag)
            if span.own is None:
                turns.append(_turn(nests, lag, start, stop, rows, is_again=False))
                continue
            own = plus(begin, span.own - lag), plus(end, span.own - lag)
            if span.first < span.own:
                turns.append(_turn(nests, lag, start, own[0], rows, is_again=True))
            turns.append(_turn(nests, lag, *own, rows, is_again=False))
            if span.own < span.last:
                turns.append(_turn(nests, lag, own[1], stop, rows, is_again=True))
        places = {base: _times(number, rows) for base, (_, rows) in self.rings.items()}
        cells = {whole: cell_of(cells, number) for whole, cells in self.cells.items()}
        elsewhere = {value: _row_of(rows, number, shape_of(value)) for value, rows in self.elsewhere.items()}
        first, last = self._times
        start = insert(arith.MaxSIOp(index(first), plus(begin, min([span.first for *_, span in numbered])))).result
        stop = insert(arith.MinSIOp(index(last), plus(end, max([span.last for *_, span in numbered])))).result
        self._loop(start, stop, turns, _Strip(places, cells, elsewhere))

    def _loop(self, first: SSAValue, end: SSAValue, turns: Sequence[_Turn], strip: _Strip) -> None:
        body = Block(arg_types=[IndexType()])
        (time,) = body.args
        insert(scf.ForOp(first, end, index(1), [], Region(body)))
        with emitting(InsertPoint.at_end(body), current_location()):
            for turn in turns:
                row = _minus(time, turn.lag)
                if turn.count is None:
                    self._rows(turn, row, strip)
                    continue
                passed = row if turn.first is None else insert(arith.SubiOp(row, turn.first)).result
                count = index(turn.count) if isinstance(turn.count, int) else turn.count
                inside = Block()
                insert(scf.IfOp(compare("ult", passed, count), [], Region(inside)))
                with emitting(InsertPoint.at_end(inside), current_location()):
                    self._rows(turn, row, strip)
                    insert(scf.YieldOp())
            insert(scf.YieldOp())

    def _rows(self, turn: _Turn, row: SSAValue, strip: _Strip) -> None:
        """One row of each nest."""
        for nest in turn.nests:
            for whole, combiner in nest.sums.items():
                neutral = number(combiner.neutral_number, combiner.element)
                insert(memref.StoreOp.get(neutral, strip.cells[whole], []))
            accesses = iter(nest.accesses)
            operands = [
                self._row(next(accesses), row, strip, turn.is_again) if isinstance(value.type, MemRefType) else value
                for value in nest.op.operands
            ]
            regions = [region.clone() for region in nest.op.regions]
            insert(rebuilt(nest.op, operands, [], regions)).location = nest.op.location
            for whole in nest.sums if not turn.is_again else ():
                sum = insert(memref.LoadOp.get(strip.cells[whole], [])).res
                insert(memref.StoreOp.get(sum, self.sums[whole], [row]))

    def _row(self, access: ShiftedAccess, row: SSAValue, strip: _Strip, is_again: bool) -> SSAValue:
        """One row of an operand."""
        value, ring = access.value, self.rings.get(access.base)
        if not access.has_rows:
            return strip.cells.get(value, value)
        if is_again and access.is_written and value in strip.elsewhere:
            return strip.elsewhere[value]
        if ring is None or access.shift is None:
            return _row_of(value, row, shape_of(value))
        memory, rows = ring
        place = insert(arith.RemUIOp(plus(row, access.shift), index(rows))).result
        if access.base in strip.places:
            place = insert(arith.AddiOp(place, strip.places[access.base])).result
        if value is access.base:
            return _row_of(memory, place, shape_of(value))
        view = value.owner
        assert isinstance(view, memref.SubviewOp)
        dynamic = iter(view.offsets)
        given = [next(dynamic) if each == DYNAMIC_INDEX else each for each in view.static_offsets.get_values()]
        return part(memory, [place, *given[1:]], [1, *shape_of(value)[1:]], view.static_strides.get_values())


def _turn(
    nests: Sequence[ShiftedNest], lag: int, start: SSAValue, stop: SSAValue, rows: int, *, is_again: bool
) -> _Turn:
    """The rows from one to another, if the nests have them. rows: the number of rows of the nests."""
    first = insert(arith.MaxSIOp(start, index(0))).result
    count = insert(arith.SubiOp(insert(arith.MinSIOp(stop, index(rows))).result, first)).result
    return _Turn(nests, lag, first, insert(arith.MaxSIOp(count, index(0))).result, is_again)


def _row_of(memory: SSAValue, row: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A row of memory. shape: the shape of the operand, with all its rows."""
    return part(memory, [row, *[0] * len(shape[1:])], [1, *shape[1:]], [1] * len(shape))


def part(
    memory: SSAValue, offsets: Sequence[SSAValue | int], sizes: Sequence[SSAValue | int], strides: Sequence[int]
) -> SSAValue:
    """A subview of memory."""
    type = memory.type
    assert isinstance(type, MemRefType)
    result = memref.SubviewOp.infer_result_type(type, offsets, sizes, strides)
    return insert(memref.SubviewOp.get(memory, offsets, sizes, strides, result)).results[0]


def _minus(value: SSAValue, other: int) -> SSAValue:
    return insert(arith.SubiOp(value, index(other))).result if other else value


def plus(value: SSAValue, other: int) -> SSAValue:
    return insert(arith.AddiOp(value, index(other))).result if other else value


def _times(value: SSAValue, other: int) -> SSAValue:
    return insert(arith.MuliOp(value, index(other))).result
