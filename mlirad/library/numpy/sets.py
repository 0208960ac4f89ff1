"""Arrays as sets: distinct elements, unions, differences, membership."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells

_Counts: Any = type(np.unique_counts(np.zeros(0)))
_Inverse: Any = type(np.unique_inverse(np.zeros(0)))
_All: Any = type(np.unique_all(np.zeros(0)))


@spells("numpy.unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    del sorted  # may be sorted even if that was not requested
    x = np.asarray(ar)
    if axis is not None:
        return _unique_lines(x, axis, return_index, return_inverse, return_counts)
    needs_order = return_index or return_inverse
    flat = np.ravel(x)
    order = np.argsort(flat, stable=return_index) if needs_order else flat
    ordered = flat[order] if needs_order else np.sort(flat)
    is_new = _is_new(ordered, equal_nan)
    found = [ordered[is_new]]
    _add(found, order, is_new, x.shape, return_index, return_inverse, return_counts)
    return found[0] if len(found) == 1 else tuple(found)


def _is_new(ordered: Any, equal_nan: bool) -> Any:
    """Which of the sorted elements differ from the one before."""
    is_new = np.ones(ordered.shape, bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f" and equal_nan:
        is_new[1:] &= ~np.isnan(ordered[:-1])
    return is_new


def _add(found: Any, order: Any, is_new: Any, shape: Any, has_index: bool, has_inverse: bool, has_counts: bool) -> None:
    if has_index:
        found.append(order[is_new])
    if has_inverse:
        inverse = np.empty(is_new.shape, np.int64)
        inverse[order] = np.cumsum(is_new) - 1
        found.append(np.reshape(inverse, shape))
    if has_counts:
        found.append(np.diff(np.append(np.flatnonzero(is_new), len(is_new))))


def _unique_lines(x: Any, axis: Any, has_index: bool, has_inverse: bool, has_counts: bool) -> Any:
    lines = np.moveaxis(x, axis, 0)
    if isinstance(axis, (tuple, list)):
        raise TypeError(f"list indices must be integers or slices, not {type(axis).__name__}")
    flat = np.reshape(lines, (len(lines), lines.size // max(len(lines), 1)))
    order = np.arange(len(flat))
    for k in range(flat.shape[1] - 1, -1, -1):
        order = order[np.argsort(flat[order, k], stable=True)]
    ordered = flat[order]
    is_new = np.ones(len(flat), bool)
    is_new[1:] = np.any(ordered[1:] != ordered[:-1], 1)
    found = [np.moveaxis(lines[order[is_new]], 0, axis)]
    _add(found, order, is_new, (len(flat),), has_index, has_inverse, has_counts)
    return found[0] if len(found) == 1 else tuple(found)


@spells("numpy.unique_values")
def unique_values(x: Any, /) -> Any:
    return unique(x, equal_nan=False)


@spells("numpy.unique_counts")
def unique_counts(x: Any, /) -> Any:
    values, counts = unique(x, return_counts=True, equal_nan=False)
    return _Counts(values, counts)


@spells("numpy.unique_inverse")
def unique_inverse(x: Any, /) -> Any:
    values, inverse = unique(x, return_inverse=True, equal_nan=False)
    return _Inverse(values, inverse)


@spells("numpy.unique_all")
def unique_all(x: Any, /) -> Any:
    values, index, inverse, counts = unique(x, True, True, True, equal_nan=False)
    return _All(values, index, inverse, counts)


@spells("numpy.union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(np.concatenate((ar1, ar2), None))


@spells("numpy.intersect1d")
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    first, second = np.ravel(ar1), np.ravel(ar2)
    if not return_indices:
        both = np.sort(np.concatenate((first, second) if assume_unique else (unique(first), unique(second))))
        return both[:-1][both[1:] == both[:-1]]
    index, other = np.arange(len(first)), np.arange(len(second))
    if not assume_unique:
        first, index = unique(first, True)
        second, other = unique(second, True)
    both = np.concatenate((first, second))
    order = np.argsort(both, stable=True)
    both = both[order]
    is_in = both[1:] == both[:-1]
    return both[:-1][is_in], index[order[:-1][is_in]], other[order[1:][is_in] - len(first)]


@spells("numpy.setxor1d")
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    parts = (ar1, ar2) if assume_unique else (unique(ar1), unique(ar2))
    both = np.sort(np.concatenate(parts, None))
    is_new = np.ones(len(both) + 1, bool)
    is_new[1:-1] = both[1:] != both[:-1]
    return both[is_new[1:] & is_new[:-1]]


@spells("numpy.setdiff1d")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    x = np.ravel(ar1) if assume_unique else unique(ar1)
    return x[~_is_in(x, np.asarray(ar2))]


@spells("numpy.isin")
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    del assume_unique  # nothing is gained by it
    shape, x, others = np.shape(element), np.ravel(element), np.asarray(test_elements)
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    if kind == "table" and (x.dtype.kind == "f" or others.dtype.kind == "f"):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind."
        )
    found = _is_in(x, others)
    return np.reshape(~found if invert else found, shape)


def _is_in(x: Any, others: Any) -> Any:
    """Which elements of x are among the others: each is searched for in the sorted others."""
    if others.size == 0:
        return np.zeros(x.shape, bool)
    dtype = np.result_type(x.dtype, others.dtype)
    wanted, ordered = x.astype(dtype), np.sort(others.astype(dtype), None)
    places = np.searchsorted(ordered, wanted)
    return ordered[np.minimum(places, len(ordered) - 1)] == wanted
