"""Methods of `numpy.random.Generator` that choose or reorder elements of arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mlirad.library.random.continuous import random
from mlirad.library.random.discrete import integers
from mlirad.library.random.draws import drawn, number_of


def shuffle(self: Any, x: Any, axis: int = 0) -> None:
    if not isinstance(x, np.ndarray):
        raise NotImplementedError(
            "rng.shuffle of anything but an array is not compiled",
            "shuffle the indices: order = rng.permutation(len(x))",
        )
    axis = normalize_axis_index(axis, x.ndim)
    rows = x if axis == 0 else np.swapaxes(x, 0, axis)
    if x.ndim == 1 or x.size != 0:
        _shuffle(self, rows, 1)


def _shuffle(rng: Any, rows: Any, first: Any) -> None:
    """Exchange each row with a random row before it, from the last one on."""
    for i in range(rows.shape[0] - 1, first - 1, -1):
        _exchange(rows, i, drawn(rng._bitgen_words, "interval", None, i).astype(np.int64))


def _shuffle_places(rng: Any, places: Any, first: Any) -> None:
    """The same for integers, which NumPy draws with another function."""
    for i in range(places.shape[0] - 1, first - 1, -1):
        _exchange(places, i, drawn(rng._bitgen_words, "bounded_uint64", None, 0, i).astype(np.int64))


def _exchange(rows: Any, i: Any, j: Any) -> None:
    if rows.ndim == 1:
        held = rows[j]
        rows[j] = rows[i]
        rows[i] = held
    else:
        row = rows[j].copy()
        rows[j] = rows[i]
        rows[i] = row


def permutation(self: Any, x: Any, axis: int = 0) -> Any:
    if not isinstance(x, np.ndarray) and isinstance(x, (int, np.integer)):
        places = np.arange(x)
        _shuffle(self, places, 1)
        return places
    array = np.array(x)
    axis = normalize_axis_index(axis, array.ndim)
    if array.ndim == 1:
        _shuffle(self, array, 1)
        return array
    places = np.arange(array.shape[axis])
    _shuffle(self, places, 1)
    return np.take(array, places, axis=axis)


def permuted(self: Any, x: Any, *, axis: Any = None, out: Any = None) -> Any:
    if out is not None:
        if out.shape != np.shape(x):
            raise ValueError("out must have the same shape as x")
        out[...] = permuted(self, x, axis=axis)
        return out
    array = np.array(x)
    if axis is None:
        flat = array.ravel()
        _shuffle(self, flat, 1)
        return flat.reshape(array.shape)
    axis = normalize_axis_index(axis, array.ndim)
    last = np.moveaxis(array, axis, -1).copy()
    rows = last.reshape(-1, array.shape[axis])
    for number in range(rows.shape[0]):
        _shuffle(self, rows[number], 0)
    return np.moveaxis(rows.reshape(last.shape), -1, axis).copy()


def choice(
    self: Any, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
) -> Any:
    array = np.asarray(a)
    is_count = array.ndim == 0
    count = operator.index(a) if is_count else array.shape[axis]
    shape = () if size is None else np.empty(size).shape
    if count <= 0 and number_of(shape) != 0:
        what = "a must be a positive integer" if is_count else "a cannot be empty"
        raise ValueError(f"{what} unless no samples are taken")
    weights = None if p is None else _weights(p, count)
    if replace:
        places = _with_replacement(self, count, shape, weights)
    elif weights is not None:
        places = _by_weights(self, weights, shape)
    else:
        places = _without_replacement(self, count, shape, shuffle)
    if size is None:
        number = int(places)
        return number if is_count else np.take(array, number, axis=axis)
    return places if is_count else np.take(array, places, axis=axis)


def _weights(p: Any, count: Any) -> Any:
    given = np.asarray(p)
    weights = given.astype(np.float64)
    if weights.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if weights.shape[0] != count:
        raise ValueError("a and p must have same size")
    total, rest = weights[0], 0.0  # Kahan's sum
    for i in range(1, count):
        y = weights[i] - rest
        t = total + y
        rest = (t - total) - y
        total = t
    if np.isnan(total):
        raise ValueError("Probabilities contain NaN")
    if np.any(weights < 0):
        raise ValueError("Probabilities are not non-negative")
    tolerance = max(
        float(np.sqrt(np.finfo(given.dtype if given.dtype.kind == "f" else np.float64).eps)), 1.4901161193847656e-08
    )
    if abs(total - 1.0) > tolerance:
        raise ValueError("Probabilities do not sum to 1. See Notes section of docstring for more information.")
    return weights


def _with_replacement(rng: Any, count: Any, shape: Any, weights: Any) -> Any:
    if weights is None:
        return integers(rng, 0, count, shape)
    return np.searchsorted(_distribution(weights), random(rng, shape), side="right")


def _distribution(weights: Any) -> Any:
    total = np.cumsum(weights)
    return total / total[-1]


def _by_weights(rng: Any, weights: Any, shape: Any) -> Any:
    """Different indices, by weight: duplicates are drawn again, from the remaining ones."""
    size = number_of(shape)
    _require_fewer(size, weights.shape[0])
    if np.count_nonzero(weights > 0) < size:
        raise ValueError("Fewer non-zero entries in p than size")
    found, left, known = np.zeros(size, np.int64), weights.copy(), 0
    while known < size:
        total = _distribution(left)
        for _ in range(size - known):
            place = np.searchsorted(total, random(rng), side="right")
            if left[place] != 0.0:
                found[known] = place
                left[place] = 0.0
                known += 1
    return found.reshape(shape)


def _require_fewer(size: Any, count: Any) -> None:
    if size > count:
        raise ValueError("Cannot take a larger sample than population when replace is False")


def _without_replacement(rng: Any, count: Any, shape: Any, is_shuffled: bool) -> Any:
    size = number_of(shape)
    _require_fewer(size, count)
    if count > 10000 and size > count // (50 if is_shuffled else 20):
        places = np.arange(count)
        _shuffle_places(rng, places, max(count - size, 1))
        return places[count - size :].copy().reshape(shape)
    places = np.empty(size, np.int64)
    if is_shuffled or size > 0:
        _floyd(rng, count, size, places)
    if is_shuffled:
        _shuffle_places(rng, places, 1)
    return places.reshape(shape)


def _floyd(rng: Any, count: Any, size: Any, places: Any) -> None:
    """Robert Floyd's algorithm: the number drawn, or the last possible one if the number was already drawn."""
    is_taken = np.zeros(count, np.bool_)
    for i in range(size):
        last = count - size + i
        place = drawn(rng._bitgen_words, "bounded_uint64", None, 0, last).astype(np.int64)
        if is_taken[place]:
            place = last
        is_taken[place] = True
        places[i] = place
