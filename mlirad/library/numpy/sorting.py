"""Functions based on sorting: partitions, and positions of numbers in sorted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mlirad.library.numpy.axes import require_axis
from mlirad.library.numpy.searching import places_among
from mlirad.library.spells import spells

_MANY = 5000
"""From this many elements on, one element is selected without sorting the others."""


@spells(method="sort")
def sort_in_place(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> None:
    if axis is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    a[...] = np.sort(a, axis, kind, stable=stable)


@spells("numpy.partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> Any:
    """The elements on both sides of element kth are sorted too, if they are few, or several are requested."""
    x = np.asarray(a)
    place = _kth(x, kth, axis, kind)
    if x.ndim != 1 or np.ndim(place) > 0 or len(x) < _MANY:
        return np.sort(x, axis)
    middle, _, _ = neighbours(x, place, place)
    if middle != middle:
        return np.concatenate((x[~np.isnan(x)], x[np.isnan(x)]))
    return np.concatenate((x[x < middle], x[x == middle], x[~(x <= middle)]))


@spells("numpy.argpartition", method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> Any:
    x = np.asarray(a)
    place = _kth(x, kth, axis, kind)
    if x.ndim != 1 or np.ndim(place) > 0 or len(x) < _MANY:
        return np.argsort(x, axis)
    middle, _, _ = neighbours(x, place, place)
    if middle != middle:
        return np.concatenate((np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))))
    parts = np.flatnonzero(x < middle), np.flatnonzero(x == middle), np.flatnonzero(~(x <= middle))
    return np.concatenate(parts)


@spells(method="partition")
def partition_in_place(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> None:
    if axis is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    a[...] = partition(a, kth, axis, kind)


def _kth(x: Any, kth: Any, axis: Any, kind: str) -> Any:
    """The requested places, counted from the front. Raises NumPy's errors."""
    if not isinstance(axis, bool):
        require_axis(axis)
    if not isinstance(kind, str):
        raise TypeError(f"select kind must be str, not {type(kind).__name__}")
    if kind != "introselect":
        raise ValueError(f"partition kind must be 'introselect' (got {kind!r})")
    if axis is not None:
        normalize_axis_index(axis, x.ndim)
    place = np.asarray(kth)
    if place.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if place.ndim > 1:
        raise ValueError("object too deep for desired array")
    length = x.size if axis is None else x.shape[axis]
    if x.size > 0 and np.any((place < -length) | (place >= length)):
        worst = np.ravel(place)[np.argmax((place < -length) | (place >= length))]
        raise ValueError(f"kth(={worst + length if worst < 0 else worst}) out of bounds ({length})")
    return np.where(place < 0, place + length, place)[()]


def neighbours(lines: Any, first: Any, second: Any) -> Any:
    """The elements at the sorted places `first` and `second` (the same, or the next one) along the first axis, and the
    last one, which shows whether there is a nan.

    For many numbers, a sorted sample gives two bounds that very likely enclose them, and only the numbers between these
    bounds are sorted. If the bounds turn out wrong, all numbers are sorted.
    """
    if lines.ndim != 1 or len(lines) < _MANY or lines.dtype.kind == "b":
        ordered = np.sort(lines, 0)
        return ordered[first], ordered[second], ordered[-1]
    length = len(lines)
    stride = max(length // 4096, 1)
    sample = np.sort(lines[::stride])
    place = first * len(sample) // length
    low, high = sample[max(place - 160, 0)], sample[min(place + 160, len(sample) - 1)]
    below = np.count_nonzero(lines < low)
    above = np.count_nonzero(lines > high)
    last = np.max(lines)
    if below <= first and second < length - above and last == last:
        between = np.sort(lines[(lines >= low) & (lines <= high)])
        return between[first - below], between[second - below], last
    ordered = np.sort(lines)
    return ordered[first], ordered[second], ordered[-1]


@spells("numpy.lexsort")
def lexsort(keys: Any, axis: int = -1) -> Any:
    if axis is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    if not isinstance(axis, bool):
        require_axis(axis)
    if len(keys) == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    arrays = [np.asarray(key) for key in keys]
    for each in arrays:
        if each.shape != arrays[0].shape:
            raise ValueError("all keys need to be the same shape")
    if arrays[0].ndim == 0 and axis in (0, -1):
        return np.int64(0)
    normalize_axis_index(axis, arrays[0].ndim)
    order = np.argsort(arrays[0], axis, stable=True)
    for key in arrays[1:]:
        if order.ndim == 1:
            order = order[np.argsort(key[order], stable=True)]
        else:
            moved = np.argsort(np.take_along_axis(key, order, axis), axis, stable=True)
            order = np.take_along_axis(order, moved, axis)
    return order


@spells("numpy.searchsorted", method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    x, wanted = np.asarray(a), np.asarray(v)
    if x.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if x.ndim else "object of too small depth for desired array"
        )
    if sorter is not None:
        order = np.asarray(sorter)
        if order.dtype.kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if order.shape != x.shape:
            raise ValueError("sorter.size must equal a.size")
        x = x[order]
    return places_among(x, wanted, side == "right")[()]
