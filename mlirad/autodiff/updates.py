"""Writes of elements, slices and index arrays: where they write, and the read that has the value they overwrite.

Reads: updates of arrays. Writes: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mlirad.dialect.ops.gather import GatherOp, ScatterUpdateOp
from mlirad.dialect.ops.indexing import ElementUpdateOp, ExtractOp, ExtractSliceOp, SliceUpdateOp

UpdateOp = ElementUpdateOp | SliceUpdateOp | ScatterUpdateOp
READS = ExtractOp | ExtractSliceOp | GatherOp


def indices_of(write: UpdateOp) -> Sequence[SSAValue]:
    """Where an update writes."""
    return write.starts if isinstance(write, SliceUpdateOp) else write.indices


def places_of(op: Operation) -> Sequence[SSAValue]:
    """Where an op reads or writes the array, of a slice also how much of it."""
    return indices_of(op) if isinstance(op, UpdateOp) else op.operands[1:]


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
    if isinstance(write, ScatterUpdateOp):
        return isinstance(op, GatherOp) and op.properties == write.properties
    return isinstance(op, ExtractSliceOp) and op.sizes == write.sizes and op.strides == write.strides
