"""Rebuilds the views that a function returns, from NumPy arrays.

Reads: an array and steps. Writes: nothing. Gives: a view that shares its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.contract.results import PartStep, ReshapeStep, RunTime, ViewResult, ViewStep, WindowsStep


def view_of(array: np.ndarray, leaf: ViewResult, results: Sequence[Any]) -> np.ndarray:
    """The view `leaf` of its base, which is `array`."""
    steps = [_with_numbers(step, results) for step in leaf.steps]
    view = array
    try:
        for step in steps:
            view = _seen_by(view, step)
    except ValueError:
        # A single step need not be a view if all steps together are: a diagonal is a slice of all elements in a line.
        parts = [step for step in steps if isinstance(step, PartStep)]
        view = _by_strides(array, [step for step in steps if not isinstance(step, PartStep)])
        for step in parts:
            view = _seen_by(view, step)
    if leaf.readonly and view.flags.writeable:
        view = view.view()
        view.flags.writeable = False
    return view


def _seen_by(array: np.ndarray, step: _Step) -> np.ndarray:
    if isinstance(step, _Slice):
        return _slice(array, step)
    if isinstance(step, _Reshape):
        return array.reshape(step.shape, copy=False)
    if isinstance(step, PartStep):
        return getattr(array, step.part)
    strides = [array.strides[axis] * by for axis, by in zip(step.axes, step.steps, strict=True)]
    return np.lib.stride_tricks.as_strided(array, step.shape, strides)


@dataclass(frozen=True)
class _Slice:
    """A SliceStep with known numbers."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    axes: tuple[int | None, ...]
    repeats: tuple[int, ...]


@dataclass(frozen=True)
class _Reshape:
    """A ReshapeStep with known numbers."""

    base: tuple[int, ...]
    shape: tuple[int, ...]


_Placed = _Slice | _Reshape | WindowsStep
_Step = _Placed | PartStep


def _with_numbers(step: ViewStep, results: Sequence[Any]) -> _Step:
    def known(numbers: Sequence[int | RunTime]) -> tuple[int, ...]:
        return tuple(int(results[number.index]) if isinstance(number, RunTime) else number for number in numbers)

    if isinstance(step, WindowsStep | PartStep):
        return step
    if isinstance(step, ReshapeStep):
        return _Reshape(known(step.base), known(step.shape))
    return _Slice(known(step.starts), known(step.sizes), step.strides, step.axes, known(step.repeats))


def _slice(array: np.ndarray, step: _Slice) -> np.ndarray:
    entries: list[Any] = []
    for axis, (start, size, stride) in enumerate(zip(step.starts, step.sizes, step.strides, strict=True)):
        stop = start + size * stride
        if axis not in step.axes:
            entries.append(start)
        else:
            entries.append(slice(start, None if stop < 0 else stop, stride) if size else slice(0, 0))
    part = array[(*entries, ...)]
    kept = [axis for axis in step.axes if axis is not None]
    if kept != sorted(kept):
        part = part.transpose([sorted(kept).index(axis) for axis in kept])
    if None in step.axes:
        part = part[(*(None if axis is None else slice(None) for axis in step.axes), ...)]
        if part.shape != step.repeats:
            strides = [0 if axis is None else by for axis, by in zip(step.axes, part.strides, strict=True)]
            part = np.lib.stride_tricks.as_strided(part, step.repeats, strides, subok=True)
    return part


def _by_strides(array: np.ndarray, steps: Sequence[_Placed]) -> np.ndarray:
    """The view, with strides computed from the distances of neighbours in memory. A copy if no strides give its
    elements: the array lies in memory in another order than NumPy's would."""
    last = steps[-1]
    shape = last.repeats if isinstance(last, _Slice) else last.shape

    def place(*index: int) -> tuple[int, ...]:
        for step in reversed(steps):
            index = _below(step, index)
        return index

    def distance(axis: int) -> int:
        near = place(*(0 for _ in shape))
        far = place(*(int(other == axis) for other in range(len(shape))))
        return sum((b - a) * stride for a, b, stride in zip(near, far, array.strides, strict=True))

    first = array[(*place(*(0 for _ in shape)), ...)]
    strides = tuple(distance(axis) if size > 1 else 0 for axis, size in enumerate(shape))
    offsets = _copied(_offsets(array.shape, array.strides), steps)
    if offsets.size and not np.array_equal(offsets - offsets.flat[0], _offsets(shape, strides)):
        return _copied(array, steps)
    return np.lib.stride_tricks.as_strided(first, shape, strides)


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """The distance of each element from the first one in memory, in bytes."""
    offsets = np.zeros(shape, np.int64)
    for axis, stride in enumerate(strides):
        offsets += np.arange(shape[axis]).reshape(-1, *(1 for _ in shape[axis + 1 :])) * stride
    return offsets


def _copied(array: np.ndarray, steps: Sequence[_Placed]) -> np.ndarray:
    """The result of the steps on an array, as a copy if it is not a view."""
    for step in steps:
        array = array.reshape(step.shape) if isinstance(step, _Reshape) else _seen_by(array, step)
    return array


def _below(step: _Placed, index: Sequence[int]) -> tuple[int, ...]:
    """The index in the base of the element at `index` in the step's result."""
    if isinstance(step, _Reshape):
        return tuple(map(int, np.unravel_index(np.ravel_multi_index(tuple(index), step.shape), step.base)))
    if isinstance(step, WindowsStep):
        walks = list(zip(step.axes, step.steps, index, strict=True))
        return tuple(sum(by * at for other, by, at in walks if other == axis) for axis in range(step.rank))
    along = dict(zip(step.axes, index, strict=True))
    return tuple(
        start + stride * along.get(axis, 0)
        for axis, (start, stride) in enumerate(zip(step.starts, step.strides, strict=True))
    )
