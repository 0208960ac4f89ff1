"""Removes what no result and no effect needs: dead ops, dead branches' results, and dead loop carries.

Reads and writes: any stage, in place. Leaves: the ops and carries that a result of a function or an effect needs.

A carry lives or dies as one thing: its initial value, its arguments, what is yielded for it, and its result. So the
whole forward loop goes where only the reverse loop of linear code is left. A loop that nothing needs is removed, also
a `while` that might not have ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from mlirad.lowering.callees import RemovableCalls
from mlirad.lowering.carries import Carries, StructuredOp, carry_of, is_structured
from mlirad.lowering.rewriting import erase, is_removable, is_terminator, only_computes


@dataclass(frozen=True)
class Dce(ModulePass):
    """Mark what is needed, backwards from effects and results; sweep the rest."""

    name = "mlirad-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        eliminate(op)


def eliminate(op: Operation) -> None:
    """Remove what is dead in the regions of op."""
    marks = _Marks(RemovableCalls(op))
    for inner in op.walk():
        if inner is not op and marks.is_root(inner):
            marks.need_op(inner)
    marks.spread()
    marks.sweep(op)


@dataclass
class _Marks:
    """What is needed; `pending` values are marked, but what they need is not yet. removable: functions (callees.py)."""

    removable: RemovableCalls
    ops: set[Operation] = field(default_factory=set)
    values: set[SSAValue] = field(default_factory=set)
    pending: list[SSAValue] = field(default_factory=list)

    def is_root(self, op: Operation) -> bool:
        if only_computes(op.__class__):
            return False
        if is_terminator(op.__class__):
            # What ends a region is needed if the op around it is; what ends a function always is.
            parent = op.parent_op()
            return parent is not None and parent.has_trait(IsolatedFromAbove)
        if isinstance(op, func.CallOp) and op.callee.string_value() in self.removable:
            return False
        # A structured op is needed for what is in it and comes out of it, never for itself.
        return not is_structured(op) and not is_removable(op)

    def need(self, value: SSAValue) -> None:
        if value not in self.values:
            self.values.add(value)
            self.pending.append(value)

    def need_op(self, op: Operation) -> None:
        """op runs: so do the ops around it."""
        current: Operation | None = op
        while current is not None and current not in self.ops:
            self.ops.add(current)
            if is_structured(current):
                assert isinstance(current, StructuredOp)
                needed = Carries(current).controls
            else:
                needed = tuple(current.operands)
            for value in needed:
                self.need(value)
            if current.regions and not is_structured(current):
                self._need_all_inside(current)
            current = current.parent_op()

    def _need_all_inside(self, op: Operation) -> None:
        """The terminators of an op that is no loop or branch, so that what they pass on is kept."""
        for region in op.regions:
            for block in region.blocks:
                if block.last_op is not None and not isinstance(op, ModuleOp):
                    self.need_op(block.last_op)

    def spread(self) -> None:
        while self.pending:
            value = self.pending.pop()
            owner, number = value.owner, None
            if isinstance(value, BlockArgument):
                assert isinstance(owner, Block)
                op = owner.parent_op()
                if op is not None and is_structured(op):
                    number = carry_of(owner, value)
            else:
                assert isinstance(value, OpResult)
                op, number = value.op, value.index
            if op is None:
                continue
            self.need_op(op)
            if number is not None and number >= 0 and is_structured(op):
                assert isinstance(op, StructuredOp)
                for part in Carries(op).values(number):
                    self.need(part)

    def sweep(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in reversed(list(block.ops)):
                    if inner in self.ops:
                        self._trim(inner)
                    elif not is_terminator(inner.__class__):
                        erase(inner)

    def _trim(self, op: Operation) -> None:
        """Sweep inside a living op, and drop its dead carries. Only what goes round still names what was swept."""
        self.sweep(op)
        if is_structured(op):
            assert isinstance(op, StructuredOp)
            needed = [result in self.values for result in op.results]
            Carries(op).keep(lambda number: needed[number])
