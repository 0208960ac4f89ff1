"""Medians, quantiles and percentiles, of all numbers or ignoring nan."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mlirad.library.numpy.sorting import neighbours
from mlirad.library.spells import spells
from mlirad.library.statistics.averages import weights_of


@spells("numpy.median")
def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    lines = _lines(x, axis)
    if len(lines) == 0:
        middle = np.mean(lines, 0)
    else:
        half = len(lines) // 2
        low, high, last = neighbours(lines, half - 1 + len(lines) % 2, half)
        middle = np.mean(np.stack([low, high]), 0) if len(lines) % 2 == 0 else np.mean(np.stack([high]), 0)
        if x.dtype.kind == "f":
            middle = np.where(np.isnan(last), last, middle)[()]
    return _kept(middle, x, axis, ()) if keepdims else middle


@spells("numpy.quantile")
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Any:
    shares = _shares(q, "Quantiles must be in the range [0, 1]")
    return _quantiles(a, shares, _is_weak(q), axis, method, keepdims, weights)


@spells("numpy.percentile")
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Any:
    shares = _shares(np.true_divide(q, 100), "Percentiles must be in the range [0, 100]")
    return _quantiles(a, shares, _is_weak(q), axis, method, keepdims, weights)


@spells("numpy.nanmedian")
def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    if x.size == 0:
        return np.nanmean(x, axis, keepdims=keepdims)
    if x.dtype.kind != "f":
        return np.asarray(median(x, axis, keepdims=True)) if keepdims else median(x, axis)
    lines = _lines(x, axis)
    ordered = np.reshape(np.sort(lines, 0), (len(lines), -1))
    count = np.sum(~np.isnan(ordered), 0)
    half = np.maximum(count - 1, 0) // 2
    low, high = [np.take_along_axis(ordered, each[None], 0)[0] for each in (half, count // 2 * (count > 0))]
    middle = np.where(count % 2 == 0, np.mean(np.stack([low, high]), 0), high)
    found = np.reshape(np.where(count == 0, np.asarray(np.nan, x.dtype), middle), lines.shape[1:])[()]
    return np.asarray(_kept(found, x, axis, ())) if keepdims else found


@spells("numpy.nanquantile")
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Any:
    shares = _shares(q, "Quantiles must be in the range [0, 1]")
    return _nan_quantiles(a, shares, _is_weak(q), axis, method, keepdims, weights)


@spells("numpy.nanpercentile")
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Any:
    shares = _shares(np.true_divide(q, 100), "Percentiles must be in the range [0, 100]")
    return _nan_quantiles(a, shares, _is_weak(q), axis, method, keepdims, weights)


def _shares(q: Any, message: str) -> Any:
    shares = np.asarray(q)
    if shares.size == 0 and shares.ndim != 1:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")
    if not np.all((shares >= 0) & (shares <= 1)):
        raise ValueError(message)
    if shares.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    return shares


def _is_weak(q: Any) -> bool:
    return isinstance(q, (int, float)) and not isinstance(q, np.generic)


def _quantiles(a: Any, shares: Any, is_weak: bool, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
    x = np.asarray(a)
    lines = _lines(x, axis)
    if weights is not None:
        found = _weighted(x, lines, shares, axis, method, weights)
    else:
        found = _of_lines(lines, shares, is_weak, method)
    return _kept(found, x, axis, shares.shape) if keepdims else found


def _nan_quantiles(a: Any, shares: Any, is_weak: bool, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
    x = np.asarray(a)
    if weights is not None:
        raise NotImplementedError("weights of quantiles without nan are not compiled", "mask what is nan")
    if x.size == 0:
        return np.nanmean(x, axis, keepdims=keepdims)
    if x.dtype.kind != "f":
        return _quantiles(x, shares, is_weak, axis, method, keepdims, None)
    found = _of_numbers(x, shares, is_weak, axis, method)
    return _kept(found, x, axis, shares.shape) if keepdims else found


def _of_lines(lines: Any, shares: Any, is_weak: bool, method: str) -> Any:
    place = _place(len(lines), shares, method)
    if len(lines) == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if place.dtype.kind in "iu":
        if place.ndim == 0:
            found, _, last = neighbours(lines, place[()], place[()])
        else:
            ordered = np.sort(lines, 0)
            found, last = ordered[place], ordered[-1]
    else:
        before, after = _around(len(lines), place)
        if place.ndim == 0:
            low, high, last = neighbours(lines, before[()], after[()])
        else:
            ordered = np.sort(lines, 0)
            low, high, last = ordered[before], ordered[after], ordered[-1]
        part = _part(place, before, method)
        found = _between(low, high, float(part) if is_weak else np.reshape(part, part.shape + (1,) * (lines.ndim - 1)))
    return np.where(np.isnan(last), last.astype(found.dtype), found)[()] if lines.dtype.kind == "f" else found


def _of_numbers(x: Any, shares: Any, is_weak: bool, axis: Any, method: str) -> Any:
    """The quantiles of each line, ignoring nan."""
    lines = _lines(x, axis)
    ordered = np.reshape(np.sort(lines, 0), (len(lines), -1))
    count = np.sum(~np.isnan(ordered), 0)
    flat = np.reshape(shares, (-1, 1))
    place = _place(count, flat, method)
    if place.dtype.kind in "iu":
        found = np.take_along_axis(ordered, np.maximum(place, 0), 0)
    else:
        before, after = _around(count, place)
        part = _part(place, before, method)
        low = np.take_along_axis(ordered, np.maximum(before, 0), 0)
        high = np.take_along_axis(ordered, np.maximum(after, 0), 0)
        dtype = shares.dtype if shares.dtype.kind == "f" else part.dtype
        found = _between(low, high, part.astype(x.dtype if is_weak else dtype))
    found = np.where(count == 0, np.asarray(np.nan, found.dtype), found)
    return np.reshape(found, shares.shape + lines.shape[1:])[()]


def _weighted(x: Any, lines: Any, shares: Any, axis: Any, method: str, weights: Any) -> Any:
    """The first number at which the cumulative weight reaches the share of the total weight."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim, "axis")
    factors = np.broadcast_to(weights_of(np.asarray(weights), x, axes), x.shape)
    if np.any(factors < 0):
        raise ValueError("Weights must be non-negative.")
    if len(lines) == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    numbers = np.reshape(lines, (len(lines), -1))
    order = np.argsort(numbers, 0, stable=True)
    ordered = np.take_along_axis(numbers, order, 0)
    sums = np.cumsum(np.take_along_axis(np.reshape(_lines(factors, axis), numbers.shape), order, 0), 0, np.float64)
    sums = sums / sums[-1]
    if np.any(np.isnan(sums[-1])):
        raise ValueError("Weights included NaN, inf or were all zero.")
    sums = np.where(sums == 0, -1.0, sums)
    flat = np.reshape(shares, (-1, 1, 1))
    place = np.minimum(np.sum(sums < flat, 1), len(lines) - 1)
    found = np.take_along_axis(ordered, place, 0)
    if x.dtype.kind == "f":
        found = np.where(np.isnan(ordered[-1]), ordered[-1], found)
    return np.reshape(found, shares.shape + lines.shape[1:])


# The constants of Hyndman and Fan: the index is n q + a + q (1 - a - b) - 1.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
_METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen"),
    *("weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"),
)


def _place(count: Any, shares: Any, method: str) -> Any:
    """The index of each share among so many sorted numbers: an integer, or a place between two of them."""
    if method not in _METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {_METHODS}")
    if method in _CONTINUOUS:
        a, b = _CONTINUOUS[method]
        return np.asarray(count * shares + (a + shares * (1 - a - b)) - 1)
    if method == "linear":
        return np.asarray((count - 1) * shares)
    if method == "averaged_inverted_cdf":
        return np.asarray(count * shares - 1.0)
    if method == "inverted_cdf":
        place = np.asarray(count * shares - 1.0)
        return np.maximum(np.ceil(place), 0).astype(np.int64)
    if method == "closest_observation":
        place = np.asarray(count * shares - 1 - 0.5)
        low = np.floor(place)
        return np.maximum(np.where((place == low) & (low % 2 == 1), low, low + 1), 0).astype(np.int64)
    place = np.asarray((count - 1) * shares)
    if method == "lower":
        return np.floor(place).astype(np.int64)
    if method == "higher":
        return np.ceil(place).astype(np.int64)
    if method == "nearest":
        return np.round(place).astype(np.int64)
    return np.asarray(0.5 * (np.floor(place) + np.ceil(place)))


def _around(count: Any, place: Any) -> Any:
    """The two indices around a place."""
    low = np.floor(place)
    is_above, is_below = place >= count - 1, place < 0
    before = np.where(is_above, count - 1, np.where(is_below, 0, low)).astype(np.int64)
    return before, np.where(is_above, count - 1, np.where(is_below, 0, low + 1)).astype(np.int64)


def _part(place: Any, before: Any, method: str) -> Any:
    """The distance of a place from the index before it."""
    part = np.asarray(place - before)
    if method == "averaged_inverted_cdf":
        return np.where(part == 0, 0.5, 1.0)
    return np.where(place % 1 == 0, 0.0, 0.5) if method == "midpoint" else part


def _between(low: Any, high: Any, part: Any) -> Any:
    """Interpolate between two neighbours, starting from the nearer one, as NumPy does."""
    step = np.subtract(high, low)
    return np.where(part >= 0.5, high - step * (1 - part), low + step * part)[()]


def _lines(x: Any, axis: Any) -> Any:
    """The array with the reduced axes merged into the first one."""
    if axis is None:
        return np.ravel(x)
    if not isinstance(axis, tuple):
        return np.moveaxis(x, axis, 0)
    moved = np.moveaxis(x, axis, range(len(axis)))
    return np.reshape(moved, (-1, *moved.shape[len(axis) :]))


def _kept(found: Any, x: Any, axis: Any, shape: Any) -> Any:
    """The result, with axes of size 1 in place of the reduced ones."""
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    return np.reshape(found, shape + tuple([1 if k in axes else x.shape[k] for k in range(x.ndim)]))
