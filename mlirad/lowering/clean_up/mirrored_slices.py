"""Slices that have the same elements as another slice of the array, in the opposite order along some axes.

Reads: nd. Writes: reads of an array's elements in the opposite order. Leaves: everything else.

`y[:k]` and `y[k - 1 :: -1]` are such slices: `np.flip` of what a loop has written, and its cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from mlirad.analysis.trip_forms import Form, linear
from mlirad.dialect.arrays.slices import ExtractSliceOp, SliceUpdateOp
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, apply, constant, emit
from mlirad.dialect.core.op import accessed_subset
from mlirad.dialect.ops.movement import size_along, size_of

AnySlice = ExtractSliceOp | SliceUpdateOp


def mirrored_axes(one: AnySlice, other: AnySlice) -> tuple[int, ...]:
    """The axes along which two slices of one array have the same elements in the opposite order, if they have the same
    elements in the same order along all others; no axes if that is not certain."""
    strides = list(zip(ints(one.strides), ints(other.strides), strict=True))
    if ints(one.sizes) != ints(other.sizes) or all(a == b for a, b in strides):
        return ()
    found: list[int] = []
    for axis, (stride, of_other) in enumerate(strides):
        length = _length(one, axis)
        if length is None or length != _length(other, axis) or abs(stride) != abs(of_other):
            return ()
        apart = linear(one.starts[axis]) - linear(other.starts[axis])
        if stride == of_other:
            if apart != Form():
                return ()
            continue
        last = length - Form(1)
        if apart != last.scaled(of_other):
            return ()
        found.append(axis)
    return tuple(found)


def flipped(array: SSAValue, axes: Sequence[int]) -> Expr:
    """The array in the opposite order along these axes."""
    shape = types.shape(array.type)
    sizes = [size_along(array, axis) if size < 0 else constant(size, types.I64) for axis, size in enumerate(shape)]
    zero = constant(0, types.I64)
    starts = [apply(np.maximum, size - 1, zero) if axis in axes else zero for axis, size in enumerate(sizes)]
    lengths = [size for size, known in zip(sizes, shape, strict=True) if known < 0]
    strides = [-1 if axis in axes else 1 for axis in range(len(shape))]
    return emit(ExtractSliceOp, Expr(array), *starts, *lengths, sizes=shape, strides=strides)


def _length(op: AnySlice, axis: int) -> Form | None:
    """How many elements a slice has along an axis; None if that is the size of another array. Slices may be empty only
    if the length is not known, and then they are equal in any order."""
    subset = accessed_subset(op)
    assert subset is not None
    size = types.shape(subset.part.type)[axis]
    if size >= 0:
        return Form(size)
    source = size_of(subset.part, axis)
    return linear(source) if isinstance(source, SSAValue) else None
