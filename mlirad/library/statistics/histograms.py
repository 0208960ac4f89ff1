"""Histograms in one and several dimensions, and counts of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.numpy.searching import places_among
from mlirad.library.spells import spells


@spells("numpy.bincount")
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    places = np.asarray(x)
    if places.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if places.ndim > 1:
        raise ValueError("object too deep for desired array")
    if not np.can_cast(places.dtype, np.int64):
        raise TypeError(
            f"Cannot cast array data from dtype('{places.dtype}') to dtype('int64') according to the rule 'safe'"
        )
    places = places.astype(np.int64)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if len(places) == 0:
        return np.zeros(minlength, np.int64)
    if weights is not None and len(weights) != len(places):
        raise ValueError("The weights and list don't have the same length.")
    if np.min(places) < 0:
        raise ValueError("'list' argument must have no negative elements")
    length = max(int(np.max(places)) + 1, minlength)
    if weights is None:
        counts = np.zeros(length, np.int64)
        np.add.at(counts, places, 1)
        return counts
    totals = np.zeros(length)
    np.add.at(totals, places, np.asarray(weights).astype(np.float64))
    return totals


@spells("numpy.histogram")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    x = np.ravel(a)
    x = x.astype(np.uint8) if x.dtype == bool else x
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
        bins = _number_of_bins(x, bins, range)
    edges = histogram_bin_edges(a, bins, range)
    floats = x.astype(np.result_type(x, edges))
    if np.ndim(bins) == 0:
        within = (floats - edges[0]) / (edges[-1] - edges[0]) * bins
        is_in = (floats >= edges[0]) & (floats <= edges[-1])
        place = np.minimum(np.where(is_in, within, 0).astype(np.int64), bins - 1)
        place = np.where(is_in & (floats < edges[place]), place - 1, place)
        place = np.where(is_in & (floats >= edges[place + 1]) & (place != bins - 1), place + 1, place)
    else:
        is_in = (floats >= edges[0]) & (floats <= edges[-1])
        place = np.clip(places_among(edges, floats, True) - 1, 0, len(edges) - 2)
    held = np.ones(len(x), np.int64) if weights is None else np.ravel(weights)
    counts = np.zeros(len(edges) - 1, held.dtype)
    np.add.at(counts, place, np.where(is_in, held, np.zeros((), held.dtype)))
    if density:
        return counts / np.diff(edges).astype(float) / np.sum(counts), edges
    return counts, edges


@spells("numpy.histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    x = np.ravel(a)
    x = x.astype(np.uint8) if x.dtype == bool else x
    if np.ndim(bins) > 1:
        raise ValueError("`bins` must be 1d, when an array")
    if np.ndim(bins) == 1:
        edges = np.asarray(bins)
        if np.any(edges[:-1] > edges[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
        bins = _number_of_bins(x, bins, range)
    if not isinstance(bins, (int, np.integer)):
        raise TypeError("`bins` must be an integer, a string, or an array")
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    first, last = _ends(x, range)
    edges = np.linspace(first, last, bins + 1, dtype=np.result_type(first, last, x))
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {bins} finite-sized bins.")
    return edges


def _number_of_bins(x: Any, rule: str, given: Any) -> Any:
    """The number of bins for the bin width that one of NumPy's rules gives."""
    if rule not in ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"):
        raise ValueError(f"{rule!r} is not a valid estimator for `bins`")
    if rule == "stone" or given is not None:
        raise NotImplementedError("this rule for the number of bins is not compiled", "give the number, or the edges")
    if x.size == 0:
        return 1
    first, last = _ends(x if x.dtype.kind == "f" else x.astype(np.float64), None)
    width = np.float64(_width_of_bins(x, rule))
    if x.dtype.kind in "iu" and 0 < width < 1:
        width = np.float64(1.0)
    return int(np.ceil((last - first) / width)) if width > 0 else 1


def _width_of_bins(x: Any, rule: str) -> Any:
    size, spread = x.size, np.ptp(x) * 1.0
    if rule == "sqrt":
        return spread / np.sqrt(size)
    if rule == "sturges":
        return spread / (np.log2(size) + 1.0)
    if rule == "rice":
        return spread / (2.0 * size ** (1.0 / 3))
    if rule == "scott":
        return (24.0 * np.pi**0.5 / size) ** (1.0 / 3.0) * np.std(x)
    if rule == "doane":
        sigma = np.std(x)
        if size < 3 or sigma <= 0:
            return np.float64(0.0)
        skew = np.mean(((x - np.mean(x)) / sigma) ** 3)
        error = np.sqrt(6.0 * (size - 2) / ((size + 1.0) * (size + 3)))
        return np.float64(spread / (1.0 + np.log2(size) + np.log2(1.0 + np.abs(skew) / error)))
    upper, lower = np.percentile(x, [75, 25])
    freedman = 2.0 * (upper - lower) * size ** (-1.0 / 3.0)
    if rule == "fd":
        return freedman
    sturges = spread / (np.log2(size) + 1.0)
    return np.minimum(np.maximum(freedman, spread / np.sqrt(size) / 2), sturges)


def _ends(x: Any, given: Any) -> Any:
    if given is not None:
        first, last = given
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif x.size == 0:
        first, last = 0, 1
    else:
        first, last = np.min(x), np.max(x)
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        return first - 0.5, last + 0.5
    return first, last


@spells("numpy.histogram2d")
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    both = bins if _is_number(bins) or len(bins) == 2 else (bins, bins)
    counts, edges = histogramdd([x, y], both, range, density, weights)
    return counts, edges[0], edges[1]


@spells("numpy.histogramdd")
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if isinstance(sample, np.ndarray):
        columns = [np.ravel(sample)] if sample.ndim < 2 else list(np.moveaxis(sample, -1, 0))
    else:
        columns = [np.asarray(each) for each in sample]
        for each in columns:
            if each.shape != columns[0].shape:
                raise ValueError("setting an array element with a sequence: the columns have different shapes")
        if columns and columns[0].ndim == 0:
            columns = [np.stack(columns)]
        elif columns:
            dtype = np.result_type(*columns)
            columns = [each.astype(dtype) for each in columns]
    return _counted_in_cells(columns, bins, range, density, weights)


def _counted_in_cells(columns: Any, bins: Any, ends: Any, density: Any, weights: Any) -> Any:
    for each in columns:
        if each.ndim > 1:
            raise ValueError("too many values to unpack (expected 2)")
    rank = len(columns)
    if not _is_number(bins) and len(bins) != rank:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if ends is not None and len(ends) != rank:
        raise ValueError("range argument must have one entry per dimension")
    each_bins = (bins,) * rank if _is_number(bins) else bins
    each_ends = (None,) * rank if ends is None else ends
    edges = [_edges(column, each, own) for column, each, own in zip(columns, each_bins, each_ends, strict=True)]
    shape = tuple([len(each) - 1 for each in edges])
    held: Any = np.ones(columns[0].shape) if weights is None else np.asarray(weights, np.float64)
    if held.shape != columns[0].shape:
        raise ValueError("The weights and list don't have the same length.")
    places = []
    for column, each in zip(columns, edges, strict=True):
        numbers = column.astype(np.result_type(column, each))
        held = np.where((numbers >= each[0]) & (numbers <= each[-1]), held, 0.0)
        places.append(np.clip(places_among(each, numbers, True) - 1, 0, len(each) - 2))
    counts = np.zeros(shape)
    np.add.at(counts, tuple(places), held)
    if density:
        total = np.sum(counts)
        for axis in range(rank):
            widths = np.diff(edges[axis])
            counts = counts / np.reshape(widths, [-1 if k == axis else 1 for k in range(rank)])
        counts = counts / total
    return counts, edges


def _is_number(bins: Any) -> bool:
    return not isinstance(bins, (tuple, list)) and np.ndim(bins) == 0


def _edges(column: Any, bins: Any, ends: Any) -> Any:
    """The edges along one axis."""
    if np.ndim(bins) == 1:
        edges = np.asarray(bins)
        if np.any(edges[:-1] > edges[1:]):
            raise ValueError("`bins[0]` must be monotonically increasing, when an array")
        return edges
    if np.ndim(bins) > 1:
        raise ValueError("`bins[0]` must be a scalar or 1d array")
    if bins < 1:
        raise ValueError("`bins[0]` must be positive, when an integer")
    first, last = _ends(column if column.dtype.kind == "f" else column.astype(np.float64), ends)
    return np.linspace(first, last, bins + 1)
