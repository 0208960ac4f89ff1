"""Moves: which op may overwrite which array. An op that overwrites an array, or passes it on, takes its memory if this
is the array's last use; otherwise it needs a copy.

Reads: any tensor stage, nd or upstream (`memory.py` describes the ops). Writes: nothing. Leaves: the operands and views
that have to be copied.

The analysis is one backward walk. An owner can be moved if it has no later use (the other branch of an `if` is not
later), if no loop lies between its definition and the use, and if it is not the caller's. Reading a shape is not a use.
A view that is only read borrows: it does not prevent a move. It becomes a copy if its source is overwritten while the
view is live, because a slice never costs more than the whole array. A view that is overwritten takes over its source's
memory, or is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith, func, scf
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from mlirad.analysis.loops import block_of
from mlirad.analysis.memory import is_tensor, is_view, memory_of, reads, takes, ties, viewed_operand, views_of
from mlirad.dialect.core.op import NdOp


class ArrayMoves:
    """The walk over one function. `written`: the arguments that may be overwritten, in the order of their results.

    copied: the operands to copy, each as an op and an index. copied_views: the views to copy. A pass that inserts the
    copies during the walk, or knows more about memory, extends the class.
    """

    def __init__(self, function: func.FuncOp, written: Mapping[SSAValue, int]) -> None:
        self.entry = function.body.block
        self.written = written
        self.copied: set[tuple[Operation, int]] = set()
        self.copied_views: set[SSAValue] = set()
        self._loop_of: dict[Block, Operation | None] = {}
        # Values with a later use of their own, and sources of views with a later use; both are reset between branches.
        self._live: set[SSAValue] = set()
        self._looked_at: set[SSAValue] = set()
        self._log: list[tuple[set[SSAValue], SSAValue]] = []
        # Views whose memory an op takes.
        self._taken: set[SSAValue] = set()
        self._walk(self.entry, None)

    def _walk(self, block: Block, loop: Operation | None) -> None:
        self._loop_of[block] = loop
        op = block.last_op
        while op is not None:
            # Ops inserted by a visit are next to `op`, and need no visit.
            previous = op.prev_op
            visit = _VISITS.get(type(op))
            if visit is not None:
                visit(self, op)
            elif viewed_operand(type(op)) is not None:
                self._view(op)
            else:
                self._op(op)
            op = previous

    # --- uses ---------------------------------------------------------------------------------------------------

    def _mark(self, value: SSAValue) -> None:
        self._add(self._live, value)
        for source in memory_of(value)[1:]:
            if source in self._looked_at:
                return
            self._add(self._looked_at, source)

    def _add(self, where: set[SSAValue], value: SSAValue) -> None:
        if value not in where:
            where.add(value)
            self._log.append((where, value))

    def _is_live(self, value: SSAValue) -> bool:
        """Whether value, or a view of it, has a later use."""
        return value in self._live or value in self._looked_at

    def _is_movable(self, value: SSAValue, op: Operation) -> bool:
        """Whether value's own uses allow `op` to take its memory."""
        if value in self._live:
            return False
        if _is_argument_of(value, self.entry) and value not in self.written:
            return False
        if _is_constant(value.owner):
            return False
        assert op.parent is not None
        return self._loop_of[block_of(value)] is self._loop_of[op.parent]

    def _take(self, value: SSAValue, is_whole: bool, by: SSAValue | None = None) -> None:
        """Value's memory is overwritten or passed on; is_whole: by a user that needs it C-contiguous."""
        if is_view(value):
            self._taken.add(value)
            if is_whole and not self._is_contiguous(value):
                self.copied_views.add(value)
        self.copied_views.update(view for view in views_of(value) if view is not by and self._is_live(view))

    def _consume(self, op: Operation, index: int, is_whole: bool = True) -> None:
        value = op.operands[index]
        is_in_pieces = is_whole and not is_view(value) and not self._is_contiguous(value)
        if self._is_movable(value, op) and not is_in_pieces:
            self._take(value, is_whole)
        elif not self._copy(op, index):
            return
        self._mark(value)

    def _consume_all(self, op: Operation, indices: Sequence[int]) -> None:
        for index in indices:
            if is_tensor(op.operands[index]):
                self._consume(op, index)

    # --- hooks for subclasses that know more ------------------------------------------------------------------------

    def _is_contiguous(self, value: SSAValue) -> bool:
        """Whether a value's memory is C-contiguous. Bufferization knows; here every value counts as contiguous."""
        return True

    def _copy(self, op: Operation, index: int) -> bool:
        """Make an operand a copy. Returns whether the value itself is read for it."""
        self.copied.add((op, index))
        return True

    def _settle(self, op: Operation, source: SSAValue) -> SSAValue:
        """Decide whether a view's result is a copy; no earlier op can change that. Returns the value that is read for
        it."""
        return source

    # --- what each op does --------------------------------------------------------------------------------------

    def _op(self, op: Operation) -> None:
        for index in reads(op):
            self._mark(op.operands[index])
        for index, _ in ties(op):
            self._consume(op, index, is_whole=False)

    def _view(self, op: Operation) -> None:
        place = viewed_operand(type(op))
        assert place is not None
        result, source = op.results[0], op.operands[place]
        if result in self._taken and result not in self.copied_views:
            if self._is_movable(source, op):
                self._take(source, is_whole=False, by=result)
            else:
                self.copied_views.add(result)
        is_used = self._is_live(result)
        source = self._settle(op, source)
        if is_used:
            self._mark(source)

    def _if(self, op: scf.IfOp) -> None:
        assert op.parent is not None
        loop, start = self._loop_of[op.parent], len(self._log)
        self._walk(op.true_region.block, loop)
        used = self._log[start:]
        del self._log[start:]
        for where, value in used:
            where.discard(value)
        if op.false_region.blocks:
            self._walk(op.false_region.block, loop)
        for where, value in used:
            self._add(where, value)

    def _for(self, op: scf.ForOp) -> None:
        self._walk(op.body.block, op)
        self._consume_all(op, range(len(op.operands) - 1, 2, -1))

    def _while(self, op: scf.WhileOp) -> None:
        self._walk(op.after_region.block, op)
        self._walk(op.before_region.block, op)
        self._consume_all(op, range(len(op.operands) - 1, -1, -1))

    def _yield(self, op: scf.YieldOp) -> None:
        block = op.parent
        assert block is not None
        shift = 1 if isinstance(op.parent_op(), scf.ForOp) else 0

        def is_elsewhere(index: int) -> bool:
            value = op.operands[index]
            return not (isinstance(value, BlockArgument) and value.block is block and value.index == index + shift)

        # A value that keeps its place is moved first: if it is yielded twice, the other one is the copy.
        self._consume_all(op, sorted(range(len(op.operands)), key=is_elsewhere))

    def _condition(self, op: scf.ConditionOp) -> None:
        self._consume_all(op, range(1, len(op.operands)))

    def _return(self, op: func.ReturnOp) -> None:
        tied: Collection[int] = self.written.values()
        self._consume_all(op, sorted(range(len(op.operands)), key=lambda index: index not in tied))


_VISITS: dict[type[Operation], Callable[[ArrayMoves, Any], None]] = {
    scf.IfOp: ArrayMoves._if,
    scf.ForOp: ArrayMoves._for,
    scf.WhileOp: ArrayMoves._while,
    scf.YieldOp: ArrayMoves._yield,
    scf.ConditionOp: ArrayMoves._condition,
    func.ReturnOp: ArrayMoves._return,
}


def _is_constant(op: Operation | Block) -> bool:
    return type(op) is arith.ConstantOp or (isinstance(op, NdOp) and isinstance(op.contents(), Attribute))


def _is_argument_of(value: SSAValue, block: Block) -> bool:
    return type(value) is BlockArgument and value.block is block


@dataclass
class Lifetimes:
    """The positions in one block where values are taken. Valid until the order of the block's ops changes."""

    block: Block
    _order: dict[Operation, int] = field(default_factory=dict)
    _taken: dict[SSAValue, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._order = {op: number for number, op in enumerate(self.block.ops)}

    def is_taken_between(self, value: SSAValue, start: Operation, end: Operation) -> bool:
        """Whether an op after `start` and before `end`, all in the block, takes the memory that value is read from."""
        places = self._places(value)
        if not places:
            return False
        first, last = self._order[start], self._order[end]
        return any(first < place < last for place in places)

    def _places(self, value: SSAValue) -> list[int]:
        """The positions where the memory that value is read from is taken."""
        places = self._taken.get(value)
        if places is None:
            uses = [use for owner in memory_of(value) for use in owner.uses if takes(use)]
            ops = (self.block.find_ancestor_op_in_block(use.operation) for use in uses)
            places = self._taken[value] = [self._order[op] for op in ops if op is not None]
        return places
