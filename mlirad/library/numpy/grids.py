"""Grids of coordinates and what is written with slices; places in flat order; functions along axes of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from mlirad.library.spells import spells


@spells("numpy.broadcast_arrays")
def broadcast_arrays(*args: Any) -> Any:
    arrays = [np.asarray(each) for each in args]
    shape = np.broadcast_shapes(*[each.shape for each in arrays])
    return tuple([each if each.shape == shape else np.broadcast_to(each, shape) for each in arrays])


@spells("numpy.meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    rank = len(xi)
    lines = []
    for number in range(rank):
        is_turned = indexing == "xy" and rank > 1 and number < 2
        axis = 1 - number if is_turned else number
        lines.append(np.reshape(np.asarray(xi[number]), (1,) * axis + (-1,) + (1,) * (rank - 1 - axis)))
    if not sparse:
        lines = broadcast_arrays(*lines)
    return tuple([each.copy() for each in lines]) if copy else lines


@spells("numpy.unravel_index")
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    sizes = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    total = 1
    for size in sizes:
        total *= size
    rest = np.asarray(indices)
    if rest.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    if np.any((rest < 0) | (rest >= total)):
        raise ValueError(f"index is out of bounds for array with size {total}")
    found = []
    for size in sizes if order == "F" else sizes[::-1]:
        found.append((rest % size).astype(np.int64)[()])
        rest = rest // size
    return tuple(found) if order == "F" else tuple(found[::-1])


@spells("numpy.ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    if len(multi_index) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    found = 0
    for number in range(len(dims)):
        axis = len(dims) - 1 - number if order == "F" else number
        size = dims[axis]
        how = mode[axis] if isinstance(mode, tuple) else mode
        index = np.asarray(multi_index[axis])
        if index.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        if how == "wrap":
            index = index % size
        elif how == "clip":
            index = np.clip(index, 0, size - 1)
        elif np.any((index < 0) | (index >= size)):
            raise ValueError("invalid entry in coordinates array")
        found = found * size + index.astype(np.int64)
    return found


@spells("numpy.apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    x = np.asarray(arr)
    place = normalize_axis_index(axis, x.ndim)
    moved = np.moveaxis(x, place, -1)
    outer = moved.shape[:-1]
    count = 1
    for size in outer:
        count *= size
    if count == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    lines = np.reshape(moved, (count, moved.shape[-1]))
    first = np.asarray(func1d(lines[0], *args, **kwargs))
    made = np.zeros((count, *first.shape), first.dtype)
    made[0] = first
    for k in range(1, count):
        made[k] = func1d(lines[k], *args, **kwargs)
    whole = np.reshape(made, (*outer, *first.shape))
    inner = range(len(outer), len(outer) + first.ndim)
    return np.transpose(whole, [*range(place), *inner, *range(place, len(outer))])


@spells("numpy.apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    found = np.asarray(a)
    rank = found.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        place = axis + rank if axis < 0 else axis
        reduced = func(found, place)
        found = reduced if np.ndim(reduced) == found.ndim else np.expand_dims(reduced, place)
        if found.ndim != rank:
            raise ValueError("function is not returning an array of the correct shape")
    return found


@spells("numpy.fromfunction")
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    return function(*np.indices(shape, dtype), **kwargs)


@spells("numpy.indices")
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    shape = tuple(dimensions)
    rank = len(shape)
    lines = [
        np.reshape(np.arange(shape[axis], dtype=dtype), (1,) * axis + (-1,) + (1,) * (rank - 1 - axis))
        for axis in range(rank)
    ]
    if sparse:
        return tuple(lines)
    made = np.zeros((rank, *shape), dtype)
    for axis in range(rank):
        made[axis] = lines[axis]
    return made


@spells("numpy.logspace")
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    if np.ndim(base) > 0:
        # The base is broadcast with both ends, and stands along the same axes as they do.
        shape = np.broadcast_shapes(np.shape(start), np.shape(stop), np.shape(base))
        start, stop = np.broadcast_to(start, shape), np.broadcast_to(stop, shape)
        base = np.expand_dims(np.broadcast_to(base, shape), axis)
    found = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else found.astype(dtype)


@spells("numpy.geomspace")
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    first, last = np.asarray(start), np.asarray(stop)
    asked = np.result_type(first, last, 1.0) if dtype is None else dtype
    common = np.result_type(first, last, 1.0, np.zeros((), asked))
    first, last = first.astype(common), last.astype(common)
    if np.any((first == 0) | (last == 0)):
        raise ValueError("Geometric sequence cannot include zero")
    sign = np.where((first < 0) & (last < 0), -1.0, 1.0).astype(common)
    logs = np.log10(first * sign), np.log10(last * sign)
    found = np.moveaxis(logspace(logs[0], logs[1], num, endpoint, dtype=common, axis=axis), axis, 0)
    if num > 0:
        found[0] = first * sign
    if num > 1 and endpoint:
        found[-1] = last * sign
    return np.moveaxis(found * sign, 0, axis).astype(asked)


@spells("numpy.asarray_chkfinite")
def asarray_chkfinite(a: Any, dtype: Any = None) -> Any:
    x = np.asarray(a, dtype)
    if x.dtype.kind == "f" and not np.all(np.isfinite(x)):
        raise ValueError("array must not contain infs or NaNs")
    return x


@spells("numpy.s_")
def s_(key: Any) -> Any:
    return key


@spells("numpy.index_exp")
def index_exp(key: Any) -> Any:
    return key if isinstance(key, tuple) else (key,)


@spells("numpy.mgrid")
def mgrid(key: Any) -> Any:
    if not isinstance(key, tuple):
        return _line(key)
    return np.stack(broadcast_arrays(*ogrid(key)))


@spells("numpy.ogrid")
def ogrid(key: Any) -> Any:
    if not isinstance(key, tuple):
        return _line(key)
    rank = len(key)
    lines = [_line(each) for each in key]
    dtype = np.result_type(*lines)
    return tuple([np.reshape(lines[k].astype(dtype), (1,) * k + (-1,) + (1,) * (rank - 1 - k)) for k in range(rank)])


@spells("numpy.r_")
def r_(key: Any) -> Any:
    entries = key if isinstance(key, tuple) else (key,)
    return np.concatenate([np.atleast_1d(each) for each in _of_one_dtype(entries)], 0)


@spells("numpy.c_")
def c_(key: Any) -> Any:
    entries = key if isinstance(key, tuple) else (key,)
    columns = [np.atleast_1d(each) for each in _of_one_dtype(entries)]
    return np.concatenate([each[:, None] if each.ndim == 1 else each for each in columns], -1)


def _of_one_dtype(entries: Any) -> Any:
    """Arrays, numbers and slices as arrays of their common dtype."""
    held = []
    for each in entries:
        if isinstance(each, str):
            raise NotImplementedError("a text in np.r_ or np.c_ is not compiled", "use np.stack or np.concatenate")
        held.append(_line(each) if isinstance(each, slice) else each if np.isscalar(each) else np.asarray(each))
    dtype = np.result_type(*held)
    return [np.asarray(each, dtype) for each in held]


def _line(part: Any) -> Any:
    """The numbers that a slice stands for: so many of them where its step is imaginary."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return np.linspace(start, part.stop, int(abs(step)))
    return np.arange(start, part.stop, step)


@spells("numpy.lib.stride_tricks.sliding_window_view")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, writeable: bool = False) -> Any:
    """Not a view, but a copy that cannot be written."""
    if writeable:
        raise NotImplementedError("windows that may be written are not compiled", "write in the array itself")
    found = np.asarray(x)
    sizes = tuple(window_shape) if np.ndim(window_shape) > 0 else (window_shape,)
    for size in sizes:
        if size < 0:
            raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(found.ndim))
        if len(sizes) != len(axes):
            raise ValueError(
                f"Since axis is None, must provide window_shape for all dimensions of `x`; got {len(sizes)} "
                f"window_shape elements and `x.ndim` is {found.ndim}."
            )
    else:
        axes = normalize_axis_tuple(axis, found.ndim, allow_duplicate=True)
        if len(sizes) != len(axes):
            raise ValueError(
                f"Must provide matching length window_shape and axis; got {len(sizes)} window_shape elements and "
                f"{len(axes)} axes elements."
            )
    for place, size in zip(axes, sizes, strict=True):
        count = found.shape[place] - size + 1
        if count <= 0:
            raise ValueError("window shape cannot be larger than input array shape")
        index = np.arange(count)[:, None] + np.arange(size)
        found = np.moveaxis(np.take(found, index, place), place + 1, -1)
    return np.broadcast_to(found, found.shape)
