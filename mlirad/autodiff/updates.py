"""Writes of elements and slices: where they write, and the read that has the value they overwrite.

Reads: updates of arrays. Writes: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mlirad.dialect.ops.indexing import ElementUpdateOp, ExtractOp, ExtractSliceOp, SliceUpdateOp

UpdateOp = ElementUpdateOp | SliceUpdateOp
READS = ExtractOp | ExtractSliceOp


def indices_of(write: UpdateOp) -> Sequence[SSAValue]:
    """Where an update writes."""
    return write.indices if isinstance(write, ElementUpdateOp) else write.starts


def places_of(op: Operation) -> Sequence[SSAValue]:
    """Where an op reads or writes the array, of a slice also how much of it."""
    return indices_of(op) if isinstance(op, ElementUpdateOp | SliceUpdateOp) else op.operands[1:]


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
