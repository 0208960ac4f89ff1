"""Removes dead code: ops, results of branches, and loop-carried values that neither a result nor an effect needs.

Reads and writes: any stage, in place. Leaves: the code that a result of a function or an effect needs.

A loop-carried value lives or dies as a whole: its initial value, its arguments, its yielded value, and its result. So
the forward loop of linear code is removed if only the reverse loop is needed. A dead loop is removed, even a `while`
that might not have terminated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from mlirad.analysis.call_graph import RemovableCalls
from mlirad.analysis.loops import Carries, StructuredOp, carry_number, is_structured
from mlirad.dialect.core.effect_table import is_removable
from mlirad.lowering.rewriting import erase
from mlirad.xdsl_support.effects import is_terminator, only_computes
from mlirad.xdsl_support.traversal import ops_inside, ops_of


@dataclass(frozen=True)
class Dce(ModulePass):
    """Mark live code, backwards from effects and results; erase the rest.

    Before:

        func.func @f(%x: f64) -> f64 {
          %unused = nd.sin %x : f64
          %y = nd.cos %x : f64
          func.return %y : f64
        }

    After `mlirad-dce`:

        func.func @f(%x: f64) -> f64 {
          %y = nd.cos %x : f64
          func.return %y : f64
        }
    """

    name = "mlirad-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        eliminate(op)


def eliminate(op: Operation) -> None:
    """Remove dead code in the regions of op."""
    marks = _Marks(RemovableCalls(op))
    for inner in ops_inside(op):
        if not only_computes(inner.__class__) and marks.is_root(inner):
            marks.need_op(inner)
    marks.spread()
    marks.sweep(op)


@dataclass
class _Marks:
    """The live ops and carries, and the blocks that run; `pending` are marked, but their operands are not yet.
    removable: functions (callees.py)."""

    removable: RemovableCalls
    ops: set[Operation] = field(default_factory=set)
    carries: set[tuple[Operation, int]] = field(default_factory=set)
    blocks: set[Block] = field(default_factory=set)
    pending: list[Operation | tuple[Operation, int]] = field(default_factory=list)

    def is_root(self, op: Operation) -> bool:
        """Whether an op with effects is live by itself."""
        if is_terminator(op.__class__):
            # The terminator of a region is live if the op around it is; the terminator of a function always is.
            parent = op.parent_op()
            return parent is not None and parent.has_trait(IsolatedFromAbove)
        if isinstance(op, func.CallOp) and op.callee.string_value() in self.removable:
            return False
        # A structured op is live because of its contents and results, never by itself.
        return not is_structured(op) and not is_removable(op)

    def need_op(self, op: Operation) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self.pending.append(op)

    def need(self, value: SSAValue) -> None:
        """Mark the op that defines a value; for a structured op, also the carry."""
        if isinstance(value, OpResult):
            op, number = value.op, value.index
        else:
            assert isinstance(value, BlockArgument)
            op, number = value.block.parent_op(), carry_number(value)
        if op is None:
            return
        self.need_op(op)
        if op.regions and number >= 0 and is_structured(op) and (op, number) not in self.carries:
            self.carries.add((op, number))
            self.pending.append((op, number))

    def spread(self) -> None:
        """Mark the operands of the marked ops and carries."""
        while self.pending:
            marked = self.pending.pop()
            for value in self._of_carry(*marked) if isinstance(marked, tuple) else self._of_op(marked):
                self.need(value)

    def _of_carry(self, op: Operation, number: int) -> Sequence[SSAValue]:
        assert isinstance(op, StructuredOp)
        return Carries(op).values(number)

    def _of_op(self, op: Operation) -> Iterable[SSAValue]:
        """The values that a live op needs. The ops around it also run."""
        block = op.parent
        if block is not None and block not in self.blocks:
            self.blocks.add(block)
            around = block.parent_op()
            if around is not None:
                self.need_op(around)
        if not op.regions:
            return op.operands
        if is_structured(op):
            assert isinstance(op, StructuredOp)
            return Carries(op).controls
        self._need_all_inside(op)
        return op.operands

    def _need_all_inside(self, op: Operation) -> None:
        """Mark the terminators of an op that is not a loop or branch, so that their operands are kept."""
        for region in op.regions:
            for block in region.blocks:
                if block.last_op is not None and not isinstance(op, ModuleOp):
                    self.need_op(block.last_op)

    def sweep(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in reversed(ops_of(block)):
                    if inner not in self.ops:
                        if not is_terminator(inner.__class__):
                            erase(inner)
                    elif inner.regions:
                        self._trim(inner)

    def _trim(self, op: Operation) -> None:
        """Sweep inside a live op, and drop its dead carries. Only carried values still use the swept values."""
        self.sweep(op)
        if is_structured(op):
            assert isinstance(op, StructuredOp)
            Carries(op).keep(lambda number: (op, number) in self.carries)
