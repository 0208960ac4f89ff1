"""The memref types of tensors, and of views of memrefs: the layouts that MLIR infers.

Reads: types, and the ops that create views. Writes: nothing. Gives: memref types, with the identity layout if possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from mlirad.lowering.tensor_memory import Slice
from mlirad.xdsl_support.once_per_object import once

Strides = list[int | None]
Integers = DenseArrayBase[IntegerType]


@once
def identity(type: Attribute) -> MemRefType:
    """A C-contiguous memref of the tensor's shape."""
    assert isinstance(type, TensorType)
    return MemRefType(type.element_type, type.shape)


def is_identity(type: MemRefType) -> bool:
    return type.layout.__class__ is NoneAttr


def subview_type(source: MemRefType, slice: Slice, shape: Sequence[int]) -> MemRefType:
    """The type of `slice` of a memref; `shape` may lack dimensions of size 1 that the slice has."""
    return _subview_type(source, slice.static_offsets, slice.static_sizes, slice.static_strides, tuple(shape))


@lru_cache(maxsize=1024)
def _subview_type(
    source: MemRefType, offsets: Integers, sizes: Integers, steps: Integers, shape: tuple[int, ...]
) -> MemRefType:
    strides: Strides = []
    offset = source.get_offset()
    for stride, start, step in zip(_strides(source), offsets.get_values(), steps.get_values(), strict=True):
        strides.append(None if stride is None or step == DYNAMIC_INDEX else stride * step)
        if start == 0 or offset is None:
            continue
        offset = None if stride is None or start == DYNAMIC_INDEX else offset + stride * start
    kept = _kept_dimensions(sizes.get_values(), shape)
    return _strided(source, shape, [strides[number] for number in kept], offset)


def collapsed_type(source: MemRefType, op: tensor.CollapseShapeOp) -> MemRefType | None:
    """The type of a memref with dimensions merged, or None if they have no common stride."""
    shape = _shape(op)
    if is_identity(source):
        return MemRefType(source.element_type, shape)
    if is_rank_reduction(source, op):
        kept = [_strides(source)[number] for number in _moving(source, op)]
        return _strided(source, shape, kept, source.get_offset())
    sizes, strides = source.get_shape(), _strides(source)
    merged: Strides = []
    for group in _groups(op.reassociation):
        while len(group) > 1 and sizes[group[-1]] == 1:
            group = group[:-1]
        inner = group[-1]
        expected = strides[inner]
        # As in MLIR: the strides of other dimensions of size 1 count.
        for number in reversed(group):
            if strides[number] != expected or (expected is None and number != inner):
                return None
            expected = None if expected is None or sizes[number] < 0 else expected * sizes[number]
        merged.append(strides[inner])
    return _strided(source, shape, merged, source.get_offset())


def is_rank_reduction(source: MemRefType, op: tensor.CollapseShapeOp) -> bool:
    """Whether only dimensions of size 1 are dropped: such a view is a memref.subview, whatever the strides are."""
    sizes = source.get_shape()
    groups = _groups(op.reassociation)
    return all(sum(sizes[each] != 1 for each in group) <= 1 for group in groups)


def _moving(source: MemRefType, op: tensor.CollapseShapeOp) -> list[int]:
    """For each group of dimensions, the dimension of a size other than 1, or the first."""
    sizes = source.get_shape()
    return [next((each for each in group if sizes[each] != 1), group[0]) for group in _groups(op.reassociation)]


def expanded_type(source: MemRefType, op: tensor.ExpandShapeOp) -> MemRefType:
    """The type of a memref with dimensions split."""
    shape = _shape(op)
    if is_identity(source):
        return MemRefType(source.element_type, shape)
    split: Strides = []
    for stride, group in zip(_strides(source), _groups(op.reassociation), strict=True):
        for place in range(len(group)):
            inner = [shape[number] for number in group[place + 1 :]]
            split.append(None if stride is None or min(inner, default=0) < 0 else stride * prod(inner))
    return _strided(source, shape, split, source.get_offset())


def view_type(source: MemRefType, op: Operation) -> MemRefType | None:
    """The type of the view that `op` takes of a memref, or None if it needs a copy."""
    match op:
        case tensor.ExtractSliceOp():
            return subview_type(source, op, _shape(op))
        case tensor.CollapseShapeOp():
            return collapsed_type(source, op)
        case tensor.ExpandShapeOp():
            return expanded_type(source, op)
        case tensor.ReshapeOp() if is_identity(source):
            return identity(op.result.type)
        case tensor.CastOp():
            assert isinstance(op.dest.type, TensorType)
            return MemRefType(source.element_type, op.dest.type.shape, source.layout)
    return None


def _shape(op: tensor.ExtractSliceOp | tensor.CollapseShapeOp | tensor.ExpandShapeOp) -> tuple[int, ...]:
    assert isinstance(op.result.type, TensorType)
    return op.result.type.get_shape()


def _groups(reassociation: ArrayAttr[ArrayAttr[IntegerAttr]]) -> list[list[int]]:
    return [[number.value.data for number in group] for group in reassociation]


def _strides(type: MemRefType) -> Sequence[int | None]:
    strides = type.get_strides()
    assert strides is not None
    return strides


def _kept_dimensions(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for number, size in enumerate(sizes):
        if len(kept) < len(shape) and size == shape[len(kept)]:
            kept.append(number)
    return kept


def _strided(source: MemRefType, shape: Sequence[int], strides: Strides, offset: int | None) -> MemRefType:
    return MemRefType(source.element_type, shape, StridedLayoutAttr(strides, offset))
