"""Inserts copies where arrays may not move (`analysis/moves.py`), and finds ops that may overwrite dying operands.

Reads: a function of stage `linalg`. Writes: copies, before uses that are not the last, and after views whose source is
overwritten while they are live. Leaves: tensors with buffers that have one owner at a time, so every overwriting op may
work in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import CopyOp, FillOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.bounds import element_bound, note_bound
from mlirad.analysis.memory import (
    VIEWS,
    captured_reads,
    input_count,
    is_empty,
    is_linalg,
    is_tensor,
    is_view,
    overwritten_by,
    ties,
    viewed,
)
from mlirad.analysis.moves import ArrayMoves
from mlirad.dialect.core.expr import building, insert, located
from mlirad.dialect.core.upstream import written
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.lowering.tensor_memory import is_output_read, is_static, is_written_where_read
from mlirad.lowering.to_buffers.strided import identity, is_identity, view_type


@dataclass(frozen=True)
class Reusable:
    """Result `number` of an op may be computed into any of `dying`, whose contents are dead after the op."""

    op: LinalgStructuredOperation
    number: int
    dying: tuple[SSAValue, ...]


def empty_like(value: SSAValue) -> SSAValue:
    """New memory with value's shape, at the insertion point."""
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
        note_bound(empty, element_bound(value))
    return empty.tensor


def _same_memory(value: SSAValue) -> SSAValue | None:
    """The operand whose memory contains value's memory, if nothing is copied."""
    if type(value) is not OpResult:
        return None
    return value.op.operands[0] if type(value.op) in VIEWS else overwritten_by(value)


def copied(value: SSAValue) -> SSAValue:
    """A copy of value, at the insertion point. Empty memory, or an array filled with one scalar, need not be read."""
    memory = empty_like(value)
    if is_empty(value):
        return memory
    if isinstance(value.owner, FillOp):
        return written(FillOp, value.owner.inputs[0], memory)
    return written(CopyOp, value, memory)


class LastUses(ArrayMoves):
    """The moves of a function of stage `linalg`, with the copies that they need.

    reusable: the elementwise ops on dying operands, in the order of the walk.
    """

    def __init__(self, function: func.FuncOp, written: Mapping[SSAValue, int]) -> None:
        self.reusable: list[Reusable] = []
        self._layouts: dict[SSAValue, MemRefType | None] = {}
        super().__init__(function, written)

    def _is_contiguous(self, value: SSAValue) -> bool:
        """Whether value's memory is C-contiguous."""
        layout = self._layout(value)
        return layout is not None and is_identity(layout)

    def _layout(self, value: SSAValue) -> MemRefType | None:
        """The memref type of value, if everything possible is done in place; None if that cannot be determined."""
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

    def _copy(self, op: Operation, index: int) -> bool:
        value = op.operands[index]
        with in_place_of(op):
            op.operands[index] = copied(value)
        return not (is_empty(value) or isinstance(value.owner, FillOp))

    def _settle(self, op: Operation, source: SSAValue) -> SSAValue:
        (result,) = op.results
        if self._layout(result) is None and self._layout(source) is not None:
            self._make_contiguous(op, 0)
            source = op.operands[0]
        if result in self.copied_views and isinstance(op, tensor.CastOp) and is_static(source.type):
            # Memory of static size has a place in the arena.
            with in_place_of(op):
                op.operands[0] = copied(source)
        elif result in self.copied_views:
            assert op.parent is not None
            with building(InsertPoint.after(op)), located(op.location):
                copy = copied(result)
            # The view's shape may still be needed: the copy provides it.
            result.replace_uses_with_if(
                copy, lambda use: use.operation is not copy.owner and not isinstance(use.operation, tensor.DimOp)
            )
        return source

    def _op(self, op: Operation) -> None:
        if is_linalg(op):
            self._linalg(op)
        elif isinstance(op, func.CallOp):
            self._call(op)
        else:
            super()._op(op)

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
        """The operands whose memory output `index` could take: their contents are read in place, or not at all."""
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
        if self._is_contiguous(value):
            return
        if is_view(value) and not _is_only_inserted(op):
            self.copied_views.add(value)
            return
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


def _is_only_inserted(op: Operation) -> bool:
    """Whether the array in another shape only becomes a slice of another array: then the copy can be made there."""
    user = op.results[0].get_user_of_unique_use() if len(op.results) == 1 else None
    return isinstance(user, tensor.InsertSliceOp) and user.source is op.results[0]
