"""Builds the loop over blocks of elements of a run of staggered nests on arrays with one axis.

Reads: a `StaggeredRun` whose rows are single elements, with its lags. Writes: the loop, with the nests on subviews of a
block. Leaves: none of the nests of the run, nor memory that only they use.

A block has the elements whose times are from `time` to `time + length`: of each nest, those from `time - lag` on.
Within a block, nests run in program order. Memory that only the run uses has the elements that a block touches; of
these, the next block still needs the last ones, which move to the front.

    time  0 1 2 3 | 4 5 6 7         the second nest, which reads elements i and i + 1, has lag 1:
    first 0 1 2 3 | 4 5 6 7         its element 3 needs element 4 of the first
    second  0 1 2 | 3 4 5 6
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.expr import emitting, insert
from mlirad.dialect.core.scalars import compare
from mlirad.lowering.rewriting import erase, rebuilt
from mlirad.lowering.to_buffers.row_nests import erase_memory, move_behind, shape_of
from mlirad.lowering.to_buffers.share_rows import allocated, index
from mlirad.lowering.to_buffers.staggered_loop import minus, part, plus
from mlirad.lowering.to_buffers.staggered_runs import ShiftedAccess, ShiftedNest, StaggeredRun

_BYTES = 12 << 10
"""Of a block, all arrays together: part of a first-level cache, into which the next blocks are fetched ahead."""
_WHOLE_VECTORS, _SHORTEST = 64, 128
"""A block has a multiple of so many elements; and at least so many, or the loops around nests would take longer than
the nests."""


@dataclass
class StaggeredBlocks:
    """windows: for memory that only the run uses, what replaces it, and the distance from its first element to the
    first of the block's times."""

    run: StaggeredRun
    lags: Sequence[int]
    windows: dict[SSAValue, tuple[SSAValue, int]] = field(default_factory=dict)

    def emit(self) -> None:
        """Replace the nests."""
        nests = self.run.nests
        last = nests[-1].op
        assert last.parent is not None
        with emitting(InsertPoint.before(last), last.location):
            spans = self._make_windows()
            first, end = min(self.lags), max(lag + nest.rows for lag, nest in zip(self.lags, nests, strict=True))
            body = Block(arg_types=[IndexType()])
            insert(scf.ForOp(index(first), index(end), index(self.length), [], Region(body)))
            with emitting(InsertPoint.at_end(body), last.location):
                for nest, lag in zip(nests, self.lags, strict=True):
                    self._elements(nest, minus(body.args[0], lag), body.args[0])
                for base, span in spans.items():
                    self._keep(self.windows[base][0], span)
                insert(scf.YieldOp())
        move_behind(self.run.later, last)
        for nest in nests:
            erase(nest.op)
        for base in self.windows:
            erase_memory(base)

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

    def _elements(self, nest: ShiftedNest, first: SSAValue, time: SSAValue) -> None:
        """The elements of a nest in a block, which would begin with `first` if there were one."""
        start = insert(arith.MaxSIOp(first, index(0))).result
        end = insert(arith.MinSIOp(plus(first, self.length), index(nest.rows))).result
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
