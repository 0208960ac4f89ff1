"""Builds the loop over blocks of elements of a run of staggered nests on arrays with one axis.

Reads: a `StaggeredRun` whose rows are single elements, with its lags. Writes: the loop, with the nests on subviews of a
block. Leaves: none of the nests of the run; without strips, nor memory that only they use.

A block has the elements whose times are from `time` to `time + length`: of each nest, those from `time - lag` on.
Within a block, nests run in program order. Memory that only the run uses has the elements that a block touches; of
these, the next block still needs the last ones, which move to the front.

    time  0 1 2 3 | 4 5 6 7         the second nest, which reads elements i and i + 1, has lag 1:
    first 0 1 2 3 | 4 5 6 7         its element 3 needs element 4 of the first
    second  0 1 2 | 3 4 5 6
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.expr import current_location, emitting, insert
from mlirad.dialect.core.scalars import compare
from mlirad.lowering.rewriting import erase, rebuilt
from mlirad.lowering.strip_sums import allocated, index, parallel_body
from mlirad.lowering.to_buffers.row_nests import erase_memory, move_behind, shape_of
from mlirad.lowering.to_buffers.staggered_loop import part, plus
from mlirad.lowering.to_buffers.staggered_runs import ShiftedAccess, ShiftedNest, StaggeredRun
from mlirad.lowering.to_buffers.staggered_strips import Strips

_BYTES = 12 << 10
"""Of a block, all arrays together: part of a first-level cache, into which the next blocks are fetched ahead."""
_WHOLE_VECTORS, _SHORTEST = 64, 128
"""A block has a multiple of so many elements; and at least so many, or the loops around nests would take longer than
the nests."""


_Limits = Sequence[tuple[SSAValue, SSAValue]]


@dataclass
class StaggeredBlocks:
    """strips: those that threads run, each by blocks. windows: for memory that only the run uses, what replaces it, and
    the distance from its first element to the first of the block's times."""

    run: StaggeredRun
    lags: Sequence[int]
    strips: Strips | None = None
    windows: dict[SSAValue, tuple[SSAValue, int]] = field(default_factory=dict)

    def emit(self) -> None:
        """Replace the nests."""
        nests = self.run.nests
        last = nests[-1].op
        assert last.parent is not None
        with emitting(InsertPoint.before(last), last.location):
            if self.strips is None:
                spans = self._make_windows()
                first, end = self._times
                self._blocks(index(first), index(end), [(index(0), index(nest.rows)) for nest in nests], spans)
            else:
                self._in_strips(self.strips)
        move_behind(self.run.later, last)
        for nest in nests:
            erase(nest.op)
        for base in self.windows:
            erase_memory(base)

    @property
    def _times(self) -> tuple[int, int]:
        """The first time of the run, and the time after the last."""
        ends = [lag + nest.rows for nest, lag in zip(self.run.nests, self.lags, strict=True)]
        return min(self.lags), max(ends)

    def _in_strips(self, strips: Strips) -> None:
        """The strips, and then the elements that wait for all of them. Memory stays as it is."""
        given = list(zip(self.run.nests, self.lags, strips.waiting, strict=True))
        first, end = map(index, self._times)

        def strip(begin: SSAValue) -> None:
            stop = plus(begin, strips.length)
            limits = [
                (_highest(plus(begin, rows - lag), index(0)), _lowest(plus(stop, -lag), index(nest.rows)))
                for nest, lag, rows in given
            ]
            self._blocks(_highest(begin, first), _lowest(stop, end), limits, {})

        def seam(begin: SSAValue) -> None:
            for nest, lag, rows in given:
                if rows:
                    start, stop = plus(begin, -lag), plus(begin, rows - lag)
                    self._elements(nest, _highest(start, index(0)), _lowest(stop, index(nest.rows)), begin)

        _share(strips.count, strips.begin, strips.length, strip)
        if any(strips.waiting):
            _share(strips.count - 1, strips.begin + strips.length, strips.length, seam)

    def _blocks(self, first: SSAValue, end: SSAValue, limits: _Limits, spans: Mapping[SSAValue, int]) -> None:
        """The blocks from one time to another. limits: for each nest, its first element and the one behind the last.
        spans: for each window, the elements that the next block needs."""
        body = Block(arg_types=[IndexType()])
        (time,) = body.args
        insert(scf.ForOp(first, end, index(self.length), [], Region(body)))
        with emitting(InsertPoint.at_end(body), current_location()):
            for nest, lag, (low, high) in zip(self.run.nests, self.lags, limits, strict=True):
                start = plus(time, -lag)
                self._elements(nest, _highest(start, low), _lowest(plus(start, self.length), high), time)
            for base, span in spans.items():
                self._keep(self.windows[base][0], span)
            insert(scf.YieldOp())

    @property
    def length(self) -> int:
        """The elements of a block."""
        arrays = {
            each.base: each.bytes_of_element for nest in self.run.nests for each in nest.accesses if each.has_rows
        }
        bytes = sum(arrays.values())
        return max(_SHORTEST, _BYTES // bytes // _WHOLE_VECTORS * _WHOLE_VECTORS)

    def _make_windows(self) -> dict[SSAValue, int]:
        """Allocate them; for each, the elements that the next block needs."""
        spans = {base: count - 1 for base, count in self.run.rings(self.lags).items()}
        spans = {
            base: span for base, span in spans.items() if span <= self.length and self.length + span < shape_of(base)[0]
        }
        for base, span in spans.items():
            assert isinstance(base.type, MemRefType)
            made = allocated(base.type.element_type, [self.length + span])
            made.name_hint = base.name_hint
            self.windows[base] = made, max(self._distances(base))
        return spans

    def _distances(self, base: SSAValue) -> list[int]:
        """How long after its own number an element is touched, by each access."""
        return [
            lag - each.shift
            for nest, lag in zip(self.run.nests, self.lags, strict=True)
            for each in nest.accesses
            if each.base is base and each.shift is not None
        ]

    def _elements(self, nest: ShiftedNest, start: SSAValue, end: SSAValue, time: SSAValue) -> None:
        """The elements of a nest from one to another, if there are any. time: the first of the block."""
        count = insert(arith.SubiOp(end, start)).result
        inside = Block()
        insert(scf.IfOp(compare("sgt", count, index(0)), [], Region(inside)))
        with emitting(InsertPoint.at_end(inside), nest.op.location):
            accesses = iter(nest.accesses)
            operands = [
                self._part(next(accesses), start, count, time) if isinstance(value.type, MemRefType) else value
                for value in nest.op.operands
            ]
            insert(rebuilt(nest.op, operands, [], [region.clone() for region in nest.op.regions]))
            insert(scf.YieldOp())

    def _part(self, access: ShiftedAccess, start: SSAValue, count: SSAValue, time: SSAValue) -> SSAValue:
        """The part of an operand that a nest accesses in a block."""
        if not access.has_rows:
            return access.value
        if access.base not in self.windows or access.shift is None:
            return part(access.value, [start], [count], [1])
        window, distance = self.windows[access.base]
        place = insert(arith.SubiOp(plus(start, access.shift + distance), time)).result
        return part(window, [place], [count], [1])

    def _keep(self, window: SSAValue, span: int) -> None:
        """Move what the next block needs to the front."""
        if span:
            source = part(window, [self.length], [span], [1])
            insert(memref.CopyOp(source, part(window, [0], [span], [1])))


def _share(count: int, first: int, length: int, inner: Callable[[SSAValue], None]) -> None:
    """A parallel loop over strips of `length` times. first: the first time of the first of them."""
    body = parallel_body(count)
    with emitting(InsertPoint.at_end(body), current_location()):
        inner(plus(insert(arith.MuliOp(body.args[0], index(length))).result, first))
        insert(scf.ReduceOp())


def _highest(one: SSAValue, other: SSAValue) -> SSAValue:
    return insert(arith.MaxSIOp(one, other)).result


def _lowest(one: SSAValue, other: SSAValue) -> SSAValue:
    return insert(arith.MinSIOp(one, other)).result
