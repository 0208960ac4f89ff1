"""Writes of elements and slices: what a write overwrites, and the write that undoes it.

Reads: an update, and the array before or after it. Writes: the read or write that undoes it. Leaves: the update.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.indexing import (
    ElementUpdateOp,
    ExtractOp,
    ExtractSliceOp,
    InsertOp,
    InsertSliceOp,
    SliceUpdateOp,
)

UpdateOp = ElementUpdateOp | SliceUpdateOp
READS = ExtractOp | ExtractSliceOp


def indices_of(write: UpdateOp) -> Sequence[SSAValue]:
    """Where an update writes."""
    return write.indices if isinstance(write, ElementUpdateOp) else write.starts


def places_of(op: Operation) -> Sequence[SSAValue]:
    """Where an op reads or writes the array, of a slice also how much of it."""
    return indices_of(op) if isinstance(op, ElementUpdateOp | SliceUpdateOp) else op.operands[1:]


def overwritten(write: UpdateOp, array: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """What stands in `array` at the place of the write."""
    if isinstance(write, ElementUpdateOp):
        return emit(ExtractOp, array, *indices).value
    return write.read(Expr(array), Expr(write.value), [Expr(index) for index in indices]).value


def taken_back(write: UpdateOp, old: SSAValue, array: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """The array as it was before the write."""
    if isinstance(write, ElementUpdateOp):
        return emit(InsertOp, old, array, *indices).value
    return emit(InsertSliceOp, old, array, *indices, sizes=write.sizes, strides=write.strides).value


def read_again(op: Operation, array: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """What `op` reads, or writes, at its place in the array."""
    if isinstance(op, ElementUpdateOp | SliceUpdateOp):
        return overwritten(op, array, indices)
    assert isinstance(op, NdOp)
    return op.rebuild(Expr(array), *(Expr(index) for index in indices)).value


def equal_read(write: UpdateOp) -> SSAValue | None:
    """A value that was read, ahead of the write and in its block, of exactly what the write overwrites."""
    for use in write.t.uses:
        op = use.operation
        if use.index == 0 and op.parent is write.parent and op.is_before_in_block(write) and _is_same_place(op, write):
            return op.results[0]
    return None


def _is_same_place(op: Operation, write: UpdateOp) -> bool:
    if tuple(op.operands[1:]) != tuple(indices_of(write)):
        return False
    if isinstance(write, ElementUpdateOp):
        return isinstance(op, ExtractOp)
    return isinstance(op, ExtractSliceOp) and op.sizes == write.sizes and op.strides == write.strides
