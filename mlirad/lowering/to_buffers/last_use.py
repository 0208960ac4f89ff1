"""Moves: an op that overwrites a tensor, or hands it on, takes its memory if that is the tensor's last use.

Reads: a function of stage `linalg`. Writes: copies, before the uses that are not the last, and after the views whose
source is overwritten while they live. Leaves: tensors each of whose buffers has one owner at a time, so that every
overwriting op may work in place.

One walk backwards. An owner moves if nothing uses it later (the other branch of an `if` is not later), no loop lies
between its definition and the use, and it is not the caller's. Asking for a shape is not a use. A view that is only
read borrows: it does not prevent a move, but becomes a copy if its source is overwritten while it is live, since a
slice never costs more than the whole. A view that is overwritten takes over its source's memory, or is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import CopyOp, FillOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import block_of
from mlirad.dialect.core.expr import building, insert, located
from mlirad.dialect.core.upstream import written
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.lowering.size_bounds import bound_of, set_bound
from mlirad.lowering.tensor_memory import (
    VIEWS,
    captured_reads,
    input_count,
    is_argument_of,
    is_empty,
    is_linalg,
    is_output_read,
    is_static,
    is_tensor,
    is_view,
    is_written_where_read,
    overwritten_by,
    ties,
    viewed,
    views_of,
)
from mlirad.lowering.to_buffers.strided import identity, is_identity, view_type


@dataclass(frozen=True)
class Reusable:
    """Result `number` of an op may be computed into any of `dying`, whose contents nothing needs after the op."""

    op: LinalgStructuredOperation
    number: int
    dying: tuple[SSAValue, ...]


def empty_like(value: SSAValue) -> SSAValue:
    """New memory, at the insertion point, of value's shape."""
    assert isinstance(value.type, TensorType)
    sizes: list[SSAValue] = []
    if is_empty(value):
        assert isinstance(value.owner, Operation)
        sizes = list(value.owner.operands)
    else:
        for axis, size in enumerate(value.type.get_shape()):
            if size == DYNAMIC_INDEX:
                index = insert(arith.ConstantOp(IntegerAttr.from_index_int_value(axis))).result
                sizes.append(insert(tensor.DimOp(value, index)).result)
    empty = insert(tensor.EmptyOp(sizes, value.type))
    if sizes:
        set_bound(empty, bound_of(value))
    return empty.tensor


def _same_memory(value: SSAValue) -> SSAValue | None:
    """The operand whose memory value is in, or in a part of, if nothing is copied."""
    if type(value) is not OpResult:
        return None
    return value.op.operands[0] if type(value.op) in VIEWS else overwritten_by(value)


def copied(value: SSAValue) -> SSAValue:
    """A copy of value, at the insertion point. What holds nothing, or one scalar everywhere, need not be read."""
    memory = empty_like(value)
    if is_empty(value):
        return memory
    if isinstance(value.owner, FillOp):
        return written(FillOp, value.owner.inputs[0], memory)
    return written(CopyOp, value, memory)


class LastUses:
    """The walk over one function. `written`: the arguments that may be overwritten, in the order of their results.

    reusable: in the order of the walk, the elementwise ops on dying operands.
    """

    def __init__(self, function: func.FuncOp, written: dict[SSAValue, int]) -> None:
        self.entry = function.body.block
        self.written = written
        self.reusable: list[Reusable] = []
        self._loop_of: dict[Block, Operation | None] = {}
        # What has a later use of its own, and what a view with a later use looks at; both undone between branches.
        self._live: set[SSAValue] = set()
        self._looked_at: set[SSAValue] = set()
        self._log: list[tuple[set[SSAValue], SSAValue]] = []
        # Views whose memory an op takes, and views that must be copies.
        self._taken: set[SSAValue] = set()
        self._copies: set[SSAValue] = set()
        self._layouts: dict[SSAValue, MemRefType | None] = {}
        self._walk(self.entry, None)

    def _walk(self, block: Block, loop: Operation | None) -> None:
        self._loop_of[block] = loop
        op = block.last_op
        while op is not None:
            # What a visit inserts is next to `op`, and needs no visit.
            previous = op.prev_op
            visit = _VISITS.get(type(op))
            if visit is not None:
                visit(self, op)
            elif is_linalg(op):
                self._linalg(op)
            op = previous

    # Uses.

    def _mark(self, value: SSAValue) -> None:
        self._add(self._live, value)
        while is_view(value):
            assert isinstance(value.owner, Operation)
            value = value.owner.operands[0]
            if value in self._looked_at:
                return
            self._add(self._looked_at, value)

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
        if is_argument_of(value, self.entry) and value not in self.written:
            return False
        if type(value.owner) is arith.ConstantOp:
            return False
        assert op.parent is not None
        return self._loop_of[block_of(value)] is self._loop_of[op.parent]

    def _is_contiguous(self, value: SSAValue) -> bool:
        """Whether value's memory is C-contiguous."""
        layout = self._layout(value)
        return layout is not None and is_identity(layout)

    def _layout(self, value: SSAValue) -> MemRefType | None:
        """The memref type of value if all that can be in place is; None where that could not be said."""
        layouts, chain = self._layouts, [value]
        while chain[-1] not in layouts and (before := _same_memory(chain[-1])) is not None:
            chain.append(before)
        last = chain.pop()
        if last not in layouts:
            layouts[last] = identity(last.type)
        layout = layouts[last]
        for later in reversed(chain):
            if is_view(later) and layout is not None:
                assert isinstance(later.owner, Operation)
                layout = view_type(layout, later.owner)
            layouts[later] = layout
        return layout

    def _take(self, value: SSAValue, is_whole: bool, by: SSAValue | None = None) -> None:
        """Value's memory is overwritten or handed on; is_whole: by a user that needs it C-contiguous."""
        if is_view(value):
            self._taken.add(value)
            if is_whole and not self._is_contiguous(value):
                self._copies.add(value)
        self._copies.update(view for view in views_of(value) if view is not by and self._is_live(view))

    def _consume(self, op: Operation, index: int, is_whole: bool = True) -> None:
        value = op.operands[index]
        is_in_pieces = is_whole and not is_view(value) and not self._is_contiguous(value)
        if self._is_movable(value, op) and not is_in_pieces:
            self._take(value, is_whole)
        else:
            with in_place_of(op):
                op.operands[index] = copied(value)
            if is_empty(value) or isinstance(value.owner, FillOp):
                return
        self._mark(value)

    def _consume_all(self, op: Operation, indices: Sequence[int]) -> None:
        for index in indices:
            if is_tensor(op.operands[index]):
                self._consume(op, index)

    # What each op does.

    def _extract(self, op: tensor.ExtractOp) -> None:
        self._mark(op.tensor)

    def _insert(self, op: tensor.InsertOp) -> None:
        self._consume(op, 1, is_whole=False)

    def _insert_slice(self, op: tensor.InsertSliceOp) -> None:
        self._mark(op.source)
        self._consume(op, 1, is_whole=False)

    def _view(self, op: Operation) -> None:
        result, source = op.results[0], op.operands[0]
        if result in self._taken and result not in self._copies:
            if self._is_movable(source, op):
                self._take(source, is_whole=False, by=result)
            else:
                self._copies.add(result)
        is_used = self._is_live(result)
        if self._layout(result) is None and self._layout(source) is not None:
            self._make_contiguous(op, 0)
            source = op.operands[0]
        if result in self._copies and isinstance(op, tensor.CastOp) and is_static(source.type):
            # Memory of static size has a place in the arena.
            with in_place_of(op):
                op.operands[0] = copied(source)
        elif result in self._copies:
            assert op.parent is not None
            with building(InsertPoint.after(op)), located(op.location):
                copy = copied(result)
            # Shapes may still be asked of the view: the copy does so itself.
            result.replace_uses_with_if(
                copy, lambda use: use.operation is not copy.owner and not isinstance(use.operation, tensor.DimOp)
            )
        if is_used:
            self._mark(source)

    def _linalg(self, op: LinalgStructuredOperation) -> None:
        if type(op) is FillOp and op.results[0].first_use is None:
            # Every use has become a copy.
            erase(op)
            return
        captured = captured_reads(op)
        first = input_count(op)
        read: list[int] = []
        for index, memory in enumerate(tuple(op.operands)[first:], first):
            if is_output_read(op, index):
                read.append(index)
                continue
            dying = self._dying(op, index, captured)
            if not (is_empty(memory) and memory.has_one_use() and self._is_movable(memory, op)):
                with in_place_of(op):
                    op.operands[index] = empty_like(memory)
            if dying:
                self.reusable.append(Reusable(op, index - first, dying))
        overwritten: dict[SSAValue, int] = {}
        for index in read:
            overwritten.setdefault(op.operands[index], index)
        inputs = tuple(op.operands)[:first]
        for index, value in enumerate(inputs):
            is_in_place = value in overwritten and is_written_where_read(op, index, overwritten[value])
            if is_tensor(value) and not is_in_place:
                self._mark(value)
        for value in captured:
            self._mark(value)
        for index in read:
            self._consume(op, index, is_whole=False)
        # In place or not, the inputs are read.
        for value in overwritten:
            if value in inputs:
                self._mark(value)

    def _dying(self, op: LinalgStructuredOperation, index: int, captured: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        """The operands whose memory the output `index` might have: their contents are read in place, or not at all."""
        operands = tuple(op.operands)
        first, memory = input_count(op), operands[index]
        kept = {viewed(value) for value in captured}
        kept.update(other for number, other in enumerate(operands) if number >= first and number != index)
        found: list[SSAValue] = []
        for value in dict.fromkeys((*operands[:first], memory)):
            if is_view(value) or is_empty(value) or value.type != memory.type or self._is_live(value) or value in kept:
                continue
            if not self._is_movable(value, op) or not self._is_contiguous(value):
                continue
            readers = [number for number in range(first) if viewed(operands[number]) is value]
            if all(operands[number] is value and is_written_where_read(op, number, index) for number in readers):
                found.append(value)
        return tuple(found)

    def _make_contiguous(self, op: Operation, index: int) -> None:
        """Make the operand C-contiguous for `op`, which only reads it."""
        value = op.operands[index]
        if is_view(value):
            if not self._is_contiguous(value):
                self._copies.add(value)
        elif not self._is_contiguous(value):
            with in_place_of(op):
                op.operands[index] = copied(value)
            self._mark(value)

    def _call(self, op: func.CallOp) -> None:
        taken = [index for index, _ in ties(op) if is_tensor(op.operands[index])]
        for index, value in enumerate(op.operands):
            if is_tensor(value) and index not in taken:
                self._make_contiguous(op, index)
                self._mark(op.operands[index])
        for index in taken:
            self._consume(op, index)

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

        # What stays in its place is moved first: if it is yielded twice, the other one is the copy.
        self._consume_all(op, sorted(range(len(op.operands)), key=is_elsewhere))

    def _condition(self, op: scf.ConditionOp) -> None:
        self._consume_all(op, range(1, len(op.operands)))

    def _return(self, op: func.ReturnOp) -> None:
        tied: Collection[int] = self.written.values()
        self._consume_all(op, sorted(range(len(op.operands)), key=lambda index: index not in tied))


_VISITS: dict[type[Operation], Callable[[LastUses, Any], None]] = {
    tensor.ExtractOp: LastUses._extract,
    tensor.InsertOp: LastUses._insert,
    tensor.InsertSliceOp: LastUses._insert_slice,
    **dict.fromkeys(VIEWS, LastUses._view),
    func.CallOp: LastUses._call,
    scf.IfOp: LastUses._if,
    scf.ForOp: LastUses._for,
    scf.WhileOp: LastUses._while,
    scf.YieldOp: LastUses._yield,
    scf.ConditionOp: LastUses._condition,
    func.ReturnOp: LastUses._return,
}
