"""Describes the caller's arrays that share memory: one as a view of another.

Reads: shapes and strides. Writes: nothing. Leaves: a View, or None if no chain of view steps describes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from mlirad.frontend.values.numpy_strides import strides_of
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import New
from mlirad.signature import ArrayLeaf


@dataclass(frozen=True)
class Alias:
    """An argument that is a view of another array, `base` (the number of a leaf, or -1 - k for capture k)."""

    base: int
    view: View


@dataclass(frozen=True)
class MemorySpan:
    """Where the elements of an array are in memory, counted in elements; `start` is the place of the first one."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def view_within(base: ArrayLeaf, base_span: MemorySpan, leaf: ArrayLeaf, span: MemorySpan) -> View | None:
    """The array `leaf` as a view of `base`, if each element occurs only once."""
    view = View.of(base.shape, base.dtype, strides_of(base), base.readonly)
    found = _sliced(view, base_span, span) or _through_line(view, base_span, span)
    if found is None:
        return None
    return dataclasses.replace(found, strides=strides_of(leaf), readonly=leaf.readonly)


def _sliced(view: View, base: MemorySpan, part: MemorySpan) -> View | None:
    """A slice of the base: each of the part's axes runs along one axis of the base."""
    first = _coordinates(base, part.start)
    if first is None:
        return None
    ndim = len(base.shape)
    sizes, strides, axes = [1] * ndim, [1] * ndim, list[int | New]()
    for size, stride in zip(part.shape, part.strides, strict=True):
        if size == 1 or stride == 0:
            axes.append(New(size))
            continue
        second = _coordinates(base, part.start + stride)
        if second is None:
            return None
        steps = [after - before for before, after in zip(first, second, strict=True)]
        moved = [axis for axis, step in enumerate(steps) if step]
        if len(moved) != 1 or sizes[moved[0]] != 1:
            return None
        (axis,) = moved
        if not 0 <= first[axis] + (size - 1) * steps[axis] < base.shape[axis]:
            return None
        sizes[axis], strides[axis] = size, steps[axis]
        axes.append(axis)
    return view.affine(axes, first, sizes, strides)


def _coordinates(array: MemorySpan, place: int) -> list[int] | None:
    """The index of the element at a place; None if there is none."""
    rest = place - array.start
    rest -= sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True) if stride < 0)
    found = [0] * len(array.shape)
    for axis in sorted(range(len(found)), key=lambda axis: -abs(array.strides[axis])):
        size, stride = array.shape[axis], array.strides[axis]
        if size > 1:
            index, rest = divmod(rest, abs(stride))
            if not 0 <= index < size:
                return None
            found[axis] = index if stride > 0 else size - 1 - index
    return found if rest == 0 else None


def _through_line(view: View, base: MemorySpan, part: MemorySpan) -> View | None:
    """A part of a base whose elements are equally spaced on one line: flatten the base to that line, then view it."""
    axes = [axis for axis in range(len(base.shape)) if base.shape[axis] > 1]
    axes.sort(key=lambda axis: -abs(base.strides[axis]))
    unit = abs(base.strides[axes[-1]]) if axes else 1
    reach = unit
    for axis in reversed(axes):
        if abs(base.strides[axis]) != reach:
            return None
        reach *= base.shape[axis]
    low = base.start + sum(min(0, (n - 1) * s) for n, s in zip(base.shape, base.strides, strict=True))
    if (part.start - low) % unit or any(s % unit for n, s in zip(part.shape, part.strides, strict=True) if n > 1):
        return None
    strides = [1 if base.strides[axis] > 0 else -1 for axis in range(len(base.shape))]
    starts = [0 if stride > 0 else size - 1 for size, stride in zip(base.shape, strides, strict=True)]
    ordered = view.affine(axes, starts, base.shape, strides)
    count = prod(base.shape)
    line = ordered.reshaped((count,), (1,))
    wanted = MemorySpan(
        (part.start - low) // unit, part.shape, tuple(s // unit for s in _used(part.shape, part.strides))
    )
    found = _sliced(line, MemorySpan(0, (count,), (1,)), wanted)
    return found if found is not None else _folded(line, count, wanted)


def _used(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The strides, with 0 for axes of size 0 or 1."""
    return [stride if size > 1 else 0 for size, stride in zip(shape, strides, strict=True)]


def _folded(line: View, count: int, part: MemorySpan) -> View | None:
    """A part of a line: a slice of a contiguous section that is folded into several axes."""
    lengths = sorted({abs(stride) for stride in part.strides if stride}, reverse=True)
    if not lengths or any(long % short for long, short in pairwise(lengths)):
        return None
    inner = [long // short for long, short in zip(lengths, [*lengths[1:], 1], strict=True)]
    rows = next(n for n, stride in zip(part.shape, part.strides, strict=True) if abs(stride) == lengths[0])
    low = part.start + sum(min(0, (n - 1) * s) for n, s in zip(part.shape, part.strides, strict=True))
    for first in (low - low % lengths[0], low, count - rows * lengths[0]):
        stop = first + rows * lengths[0]
        if not 0 <= first <= low or stop > count:
            continue
        shape = (rows, *(inner if lengths[-1] > 1 else inner[:-1]))
        strides = tuple(lengths if lengths[-1] == 1 else [*lengths, 1])
        folded = line.affine((0,), (first,), (stop - first,)).reshaped(shape, strides)
        found = _sliced(folded, MemorySpan(first, shape, strides), part)
        if found is not None:
            return found
    return None
