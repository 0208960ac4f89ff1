"""Grids of coordinates, np.r_ and similar objects, flat indices, functions along axes, and window functions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mlirad.library.python.iterators import as_line
from mlirad.library.spells import spells


@spells("numpy.broadcast_arrays", complex=True)
def broadcast_arrays(*args: Any) -> Any:
    arrays = [np.asarray(each) for each in args]
    shape = np.broadcast_shapes(*[each.shape for each in arrays])
    return tuple([each if each.shape == shape else np.broadcast_to(each, shape) for each in arrays])


@spells("numpy.meshgrid", complex=True)
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
    is_fortran = _is_fortran(order)
    sizes = tuple(operator.index(size) for size in ((shape,) if np.ndim(shape) == 0 else shape))
    total = 1
    for size in sizes:
        total *= size
    rest = np.asarray(indices)
    if rest.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    if np.any((rest < 0) | (rest >= total)):
        raise ValueError(f"index is out of bounds for array with size {total}")
    found = []
    for size in sizes if is_fortran else sizes[::-1]:
        found.append((rest % size).astype(np.int64)[()])
        rest = rest // size
    return tuple(found) if is_fortran else tuple(found[::-1])


def _is_fortran(order: Any) -> bool:
    """Whether indices count along the first axis first. Raises NumPy's errors for other orders."""
    if order is None:
        return False
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if order not in ("C", "c", "F", "f", "A", "a", "K", "k"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order not in ("C", "c", "F", "f"):
        raise ValueError("only 'C' or 'F' order is permitted")
    return order in ("F", "f")


@spells("numpy.ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    is_fortran = _is_fortran(order)
    if len(multi_index) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    found = 0
    for number in range(len(dims)):
        axis = len(dims) - 1 - number if is_fortran else number
        size = dims[axis]
        how = mode[axis] if isinstance(mode, tuple) else mode
        index = np.asarray(multi_index[axis])
        if index.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        if how not in ("raise", "wrap", "clip"):
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {how!r})")
        if how == "wrap":
            index = index % size
        elif how == "clip":
            index = np.clip(index, 0, size - 1)
        elif np.any((index < 0) | (index >= size)):
            raise ValueError("invalid entry in coordinates array")
        found = found * size + index.astype(np.int64)
    return found


@spells("numpy.apply_along_axis", complex=True)
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
    lines = np.reshape(as_line(moved), (count, moved.shape[-1]))  # views: the function may write them
    first = np.asarray(func1d(lines[0], *args, **kwargs))
    made = np.zeros((count, *first.shape), first.dtype)
    made[0] = first
    for k in range(1, count):
        made[k] = func1d(lines[k], *args, **kwargs)
    whole = np.reshape(made, (*outer, *first.shape))
    inner = range(len(outer), len(outer) + first.ndim)
    return np.transpose(whole, [*range(place), *inner, *range(place, len(outer))])


@spells("numpy.apply_over_axes", complex=True)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    if not hasattr(a, "ndim"):
        raise AttributeError(f"'{type(a).__name__}' object has no attribute 'ndim'")
    found = np.asarray(a)
    rank = found.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        place = axis + rank if axis < 0 else axis
        reduced = func(found, place)
        found = reduced if np.ndim(reduced) == found.ndim else np.expand_dims(reduced, place)
        if found.ndim != rank:
            raise ValueError("function is not returning an array of the correct shape")
    return found


@spells("numpy.fromfunction", complex=True)
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
        # The base is broadcast with both ends, along the same axes.
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


@spells("numpy.r_", complex=True)
def r_(key: Any) -> Any:
    entries = key if isinstance(key, tuple) else (key,)
    return np.concatenate([np.atleast_1d(each) for each in _of_one_dtype(entries)], 0)


@spells("numpy.c_", complex=True)
def c_(key: Any) -> Any:
    entries = key if isinstance(key, tuple) else (key,)
    columns = [np.atleast_1d(each) for each in _of_one_dtype(entries)]
    return np.concatenate([each[:, None] if each.ndim == 1 else each for each in columns], -1)


def _of_one_dtype(entries: Any) -> Any:
    """Arrays, numbers and slices as arrays with a common dtype."""
    held = []
    for each in entries:
        if isinstance(each, str):
            raise NotImplementedError("a text in np.r_ or np.c_ is not compiled", "use np.stack or np.concatenate")
        held.append(_line(each) if isinstance(each, slice) else each if np.isscalar(each) else np.asarray(each))
    dtype = np.result_type(*held)
    return [np.asarray(each, dtype) for each in held]


def _line(part: Any) -> Any:
    """The numbers of a slice; an imaginary step says how many."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return np.linspace(start, part.stop, int(abs(step)))
    return np.arange(start, part.stop, step)


# --- window functions: weights that fall towards both ends ---


def _phases(M: Any) -> Any:
    """Numbers from -1 to 1; 0 if there is only one."""
    return np.arange(1 - M, M, 2) / np.maximum(M - 1, 1.0)


@spells("numpy.hanning")
def hanning(M: Any) -> Any:
    return 0.5 + 0.5 * np.cos(np.pi * _phases(M))


@spells("numpy.hamming")
def hamming(M: Any) -> Any:
    return 0.54 + 0.46 * np.cos(np.pi * _phases(M))


@spells("numpy.blackman")
def blackman(M: Any) -> Any:
    phases = _phases(M)
    return 0.42 + 0.5 * np.cos(np.pi * phases) + 0.08 * np.cos(2.0 * np.pi * phases)


@spells("numpy.bartlett")
def bartlett(M: Any) -> Any:
    phases = _phases(M)
    return np.where(phases <= 0, 1 + phases, 1 - phases)


@spells("numpy.kaiser")
def kaiser(M: Any, beta: Any) -> Any:
    return np.i0(beta * np.sqrt(np.maximum(1 - _phases(M) ** 2, 0.0))) / np.i0(float(beta))


# Chebyshev coefficients for the modified Bessel function of order 0: for exp(-x) i0(x) on [0, 8], and times sqrt(x)
# beyond. Clenshaw, Chebyshev Series for Mathematical Functions, National Physical Laboratory, 1962.
_NEAR = (
    *(-4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16),
    *(1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14),
    *(-4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11),
    *(9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9),
    *(-1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7),
    *(1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5),
    *(-5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4),
    *(1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2),
    *(-2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2),
    *(1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1),
)
_FAR = (
    *(-7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17),
    *(3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16),
    *(1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15),
    *(-4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13),
    *(7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11),
    *(-3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10),
    *(3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7),
    *(2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3),
    8.04490411014108831608e-1,
)


def _series(x: Any, coefficients: Any) -> Any:
    found, before, second = coefficients[0], 0.0, 0.0
    for each in coefficients[1:]:
        second, before = before, found
        found = x * before - second + each
    return 0.5 * (found - second)


@spells("numpy.i0")
def i0(x: Any) -> Any:
    held = np.asarray(x)
    size = np.abs(held if held.dtype.kind == "f" else held.astype(np.float64))
    is_near = size <= 8.0
    near, far = np.where(is_near, size, 8.0), np.where(is_near, 8.0, size)
    found = np.where(is_near, _series(near / 2.0 - 2.0, _NEAR), _series(32.0 / far - 2.0, _FAR) / np.sqrt(far))
    return np.asarray(np.exp(size) * found)
