"""Elements selected by arrays of integers: taken, along an axis, or on a mesh; repeated elements."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mlirad.library.numpy.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.take", method="take", complex=True)
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    require_axis(axis)
    x = np.ravel(a) if axis is None else np.atleast_1d(a)
    place = 0 if axis is None else normalize_axis_index(axis, x.ndim)
    places = np.asarray(indices, np.int64 if isinstance(indices, int) else None)
    if places.size == 0 and not isinstance(indices, np.ndarray):
        places = places.astype(np.int64)
    if places.dtype.kind not in "biu":
        raise NotImplementedError("places that are not integers are not compiled", "convert them first: .astype(int)")
    if places.dtype.kind == "b" or mode != "raise":
        places = places.astype(np.int64)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")
    size = x.shape[place]
    if size == 0 and places.size > 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "wrap":
        places = places % size
    elif mode == "clip":
        places = np.minimum(np.maximum(places, 0), size - 1)
    return x[(slice(None),) * place + (places,)].copy()


@spells("numpy.take_along_axis", complex=True)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None and indices.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    x = np.ravel(arr) if axis is None else arr
    place = 0 if axis is None else normalize_axis_index(axis, x.ndim)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if x.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    shapes = [(1,) * k + (-1,) + (1,) * (x.ndim - k - 1) for k in range(x.ndim)]
    return x[tuple([indices if k == place else np.arange(x.shape[k]).reshape(shapes[k]) for k in range(x.ndim)])]


@spells("numpy.ix_", complex=True)
def ix_(*args: Any) -> Any:
    """An open mesh, with sequence number k along axis k."""
    meshed = []
    for k, sequence in enumerate(args):
        along = np.asarray(sequence)
        if along.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if along.size == 0 and not isinstance(sequence, np.ndarray):
            along = along.astype(np.intp)
        if along.dtype.kind == "b":
            along = np.nonzero(along)[0]
        meshed.append(along.reshape((1,) * k + (along.size,) + (1,) * (len(args) - k - 1)))
    return tuple(meshed)


@spells("numpy.repeat", method="repeat", complex=True)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    require_axis(axis)
    x = np.ravel(a) if axis is None else np.atleast_1d(a)
    place = 0 if axis is None else normalize_axis_index(axis, x.ndim)
    size = x.shape[place]
    if np.ndim(repeats) > 0:
        counts = np.asarray(repeats)
        is_safe = counts.dtype.kind in "bi" or (counts.dtype.kind == "u" and counts.dtype.itemsize < 8)
        if isinstance(repeats, np.ndarray) and not is_safe:
            raise TypeError(
                f"Cannot cast array data from {counts.dtype!r} to dtype('int64') according to the rule 'safe'"
            )
        return x[(slice(None),) * place + (_places(counts.astype(np.int64), size),)].copy()
    count = int(repeats) if isinstance(repeats, (bool, float)) else repeats
    if size == 0:
        count = 0
    elif count < 0:
        raise ValueError("repeats may not contain negative values.")
    wide = np.broadcast_to(np.expand_dims(x, place + 1), (*x.shape[: place + 1], count, *x.shape[place + 1 :]))
    return np.reshape(wide, (*x.shape[:place], size * count, *x.shape[place + 1 :])).copy()


def _places(counts: Any, size: int) -> Any:
    """The index of the element at each place of the result, where each element is repeated that many times."""
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if np.any(counts < 0):
        raise ValueError("repeats may not contain negative values.")
    if counts.size != size and counts.size != 1:
        raise ValueError(f"operands could not be broadcast together with shape ({size},) ({counts.size},)")
    each = np.broadcast_to(counts, (size,))
    places, end = np.empty(np.sum(each), np.int64), 0
    for k in range(size):
        places[end : end + each[k]] = k
        end += each[k]
    return places


@spells("numpy.tile", complex=True)
def tile(A: Any, reps: Any) -> Any:
    x = np.asarray(A)
    counts = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    if not [count for count in counts if count != 1]:
        if not isinstance(A, np.ndarray):  # NumPy copies an array without looking at the type of a count
            for count in counts:
                operator.index(count)
        return np.array(x, ndmin=rank)
    own = (1,) * (rank - x.ndim) + x.shape
    pairs = range(rank)
    apart = np.reshape(x, [size for k in pairs for size in (1, own[k])])
    wide = np.broadcast_to(apart, [size for k in pairs for size in (counts[k], own[k])])
    return np.reshape(wide, [counts[k] * own[k] for k in pairs]).copy()


@spells("numpy.resize", complex=True)
def resize(a: Any, new_shape: Any) -> Any:
    x = np.ravel(a)
    shape = (new_shape,) if np.ndim(new_shape) == 0 else new_shape
    total = 1
    for size in shape:
        total *= size
        if size < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    if len(x) == 0 or total == 0:
        return np.zeros(shape, x.dtype)
    return np.reshape(np.tile(x, -(-total // len(x)))[:total], shape)
