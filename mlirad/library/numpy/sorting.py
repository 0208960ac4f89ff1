"""What follows from sorting: medians, quantiles, partitions, distinct elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells(method="sort")
def sort_in_place(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> None:
    if axis is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    a[...] = np.sort(a, axis, kind, stable=stable)


@spells("numpy.partition")
def partition(a: Any, kth: int, axis: Any = -1) -> Any:
    """Sorted altogether: element kth is where it belongs, and the others are on their sides of it."""
    ordered = np.sort(a, axis)
    length = ordered.shape[-1 if axis is None else axis]
    if ordered.size and (kth < -length or kth >= length):
        raise ValueError(f"kth(={kth + length if kth < 0 else kth}) out of bounds ({length})")
    return ordered


@spells("numpy.median")
def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    along = _lines(x, axis)
    if len(along) == 0:
        middle = np.mean(along, 0)
    else:
        half = len(along) // 2
        middle = np.mean(along[half : half + 1] if len(along) % 2 else along[half - 1 : half + 1], 0)
        if x.dtype.kind == "f":
            middle = np.where(np.isnan(along[-1]), along[-1], middle)[()]
    return _kept(middle, x, axis) if keepdims else middle


@spells("numpy.quantile")
def quantile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _quantiles(a, q, axis, keepdims, "Quantiles must be in the range [0, 1]")


@spells("numpy.percentile")
def percentile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    hundred = np.asarray(a).dtype.type(100) if np.asarray(a).dtype.kind == "f" else 100
    return _quantiles(a, np.true_divide(q, hundred), axis, keepdims, "Percentiles must be in the range [0, 100]")


def _quantiles(a: Any, q: Any, axis: Any, keepdims: bool, message: str) -> Any:
    x = np.asarray(a)
    along = _lines(x, axis)
    is_weak = isinstance(q, (int, float)) and x.dtype.kind == "f"
    shares = np.asarray(q, x.dtype if is_weak else None)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise ValueError(message)
    if len(along) == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if shares.ndim == 0:
        found = _quantile(along, shares[()])
        return _kept(found, x, axis) if keepdims else found
    rows = [_quantile(along, share) for share in shares]
    return np.stack([_kept(row, x, axis) if keepdims else row for row in rows], 0)


def _quantile(along: Any, share: Any) -> Any:
    """Between two neighbours, from the nearer one, as NumPy computes it."""
    place = share * (len(along) - 1)
    first = min(int(place), len(along) - 1)
    low, high = along[first], along[min(first + 1, len(along) - 1)]
    part = place - first
    step = np.subtract(high, low)
    found = high - step * (1 - part) if part >= 0.5 else low + step * part
    return np.where(np.isnan(along[-1]), along[-1], found)[()] if along.dtype.kind == "f" else found


def _lines(x: Any, axis: Any) -> Any:
    """The elements in order along the first axis."""
    if not isinstance(axis, tuple):
        return np.sort(x, None) if axis is None else np.sort(np.moveaxis(x, axis, 0), 0)
    moved = np.moveaxis(x, axis, range(len(axis)))
    return np.sort(np.reshape(moved, (-1, *moved.shape[len(axis) :])), 0)


def _kept(found: Any, x: Any, axis: Any) -> Any:
    return np.reshape(found, (1,) * x.ndim) if axis is None else np.expand_dims(found, axis)


@spells("numpy.searchsorted", method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    x, wanted = np.asarray(a), np.asarray(v)
    if x.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if x.ndim else "object of too small depth for desired array"
        )
    values = np.ravel(wanted)
    places = np.empty(values.shape, np.int64)
    for k in range(len(values)):
        low, high = 0, len(x)
        while low < high:
            middle = (low + high) // 2
            is_before = x[middle] < values[k] or (values[k] != values[k] and x[middle] == x[middle])
            if side == "right":
                is_before = not (values[k] < x[middle] or (x[middle] != x[middle] and values[k] == values[k]))
            if is_before:
                low = middle + 1
            else:
                high = middle
        places[k] = low
    return np.reshape(places, wanted.shape)[()]


@spells("numpy.unique")
def unique(ar: Any) -> Any:
    x = np.sort(ar, None)
    if len(x) == 0:
        return x
    is_new = np.ones(x.shape, bool)
    is_new[1:] = x[1:] != x[:-1]
    if x.dtype.kind == "f":
        is_new[1:] &= ~np.isnan(x[:-1])
    return x[is_new]
