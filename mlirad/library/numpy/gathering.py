"""Elements at places that arrays of integers name: taken, along an axis, on a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mlirad.library.numpy.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.take", method="take")
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


@spells("numpy.take_along_axis")
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


@spells("numpy.ix_")
def ix_(*args: Any) -> Any:
    """An open mesh: sequence number k along axis k."""
    meshed = []
    for k, sequence in enumerate(args):
        along = np.asarray(sequence)
        if along.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if along.size == 0:
            along = along.astype(np.intp)
        elif along.dtype.kind == "b":
            along = np.nonzero(along)[0]
        meshed.append(along.reshape((1,) * k + (along.size,) + (1,) * (len(args) - k - 1)))
    return tuple(meshed)
