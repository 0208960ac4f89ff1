"""Emits reads and writes at the place that another op reads or writes.

Reads: a read or write of an element, a slice or places of index arrays, and an array. Writes: the same read, the read
of what the write overwrites, or the write that undoes it. Leaves: the op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mlirad.autodiff.updates import UpdateOp
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.gather import ScatterOp, ScatterUpdateOp
from mlirad.dialect.ops.indexing import ElementUpdateOp, ExtractOp, InsertOp, InsertSliceOp


def read_overwritten(write: UpdateOp, array: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """What `array` holds at the place of the write."""
    if isinstance(write, ElementUpdateOp):
        return emit(ExtractOp, array, *indices).value
    if isinstance(write, ScatterUpdateOp):
        return write.read(Expr(array), [Expr(index) for index in indices]).value
    return write.read(Expr(array), Expr(write.value), [Expr(index) for index in indices]).value


def undo_write(write: UpdateOp, old: SSAValue, array: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """The array as it was before the write."""
    if isinstance(write, ElementUpdateOp):
        return emit(InsertOp, old, array, *indices).value
    if isinstance(write, ScatterUpdateOp):
        return emit(ScatterOp, old, array, *indices, **write.properties).value
    return emit(InsertSliceOp, old, array, *indices, sizes=write.sizes, strides=write.strides).value


def read_same_place(op: Operation, array: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """What `array` holds at the place that `op` reads or writes."""
    if isinstance(op, UpdateOp):
        return read_overwritten(op, array, indices)
    assert isinstance(op, NdOp)
    return op.rebuild(Expr(array), *(Expr(index) for index in indices)).value
