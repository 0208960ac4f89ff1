"""Reductions written with other reductions: means, variances, comparisons of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.ptp")
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@spells("numpy.mean", method="mean", complex=True)
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    x = np.asarray(a)
    is_half = dtype is None and x.dtype == np.float16  # the mean is computed in float32, and rounded once
    total = np.sum(x, axis, np.float32 if is_half else _dtype_of_mean(x, dtype), keepdims=keepdims, where=where)
    return (total / _count(x, axis, keepdims, where)).astype(x.dtype if is_half else total.dtype)


def _dtype_of_mean(x: Any, dtype: Any) -> Any:
    return np.float64 if dtype is None and x.dtype.kind in "iub" else dtype


def _count(x: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """The number of elements reduced to one."""
    if where is True:
        return np.size(x, axis)
    return np.sum(np.broadcast_to(where, x.shape), axis, np.int64, keepdims=keepdims)


@spells("numpy.var", method="var", complex=True)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    if correction is not None:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = np.asarray(a)
    centre = np.mean(x, axis, dtype, keepdims=True, where=where) if mean is None else mean
    distance = x - centre
    if mean is None and distance.dtype == centre.dtype:
        # The deviation of a single number is 0, or nan, whatever the number is. It is a constant, because the
        # derivative of a square root would be 0 times infinity.
        alone = np.trunc(distance) if distance.dtype.kind != "c" else distance * 0
        distance = np.where(_count(x, axis, True, where) == 1, alone, distance)
    square = distance * distance if distance.dtype.kind != "c" else distance.real**2 + distance.imag**2
    total = np.sum(square, axis, _dtype_of_mean(x, dtype), keepdims=keepdims, where=where)
    count = _count(x, axis, keepdims, where) - ddof
    return (total / (max(count, 0) if where is True else np.maximum(count, 0))).astype(total.dtype)


@spells("numpy.std", method="std", complex=True)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    variance = np.var(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
    if variance.ndim > 0 and variance.dtype.kind != "f":
        raise TypeError(f"Cannot cast ufunc 'sqrt' output to {variance.dtype!r} with casting rule 'same_kind'")
    return np.sqrt(variance).astype(variance.dtype)


# Before NumPy 2.3 the operator followed Python's rules.
_COUNTS_ALL_IN_AN_INT = isinstance(np.count_nonzero(np.ones(1)), int)


@spells("numpy.count_nonzero", complex=True)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    count = np.sum(np.asarray(a).astype(bool), axis, np.int64, keepdims=keepdims)
    return int(count) if _COUNTS_ALL_IN_AN_INT and axis is None and not keepdims else count


@spells("numpy.isclose", complex=True)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    x = a if isinstance(a, (int, float, complex)) else np.asarray(a)
    # Integers are compared as floats: the absolute value of the smallest integer is no integer of its dtype.
    y: Any = b * 1.0 if isinstance(b, (int, float, complex)) else np.asarray(b)
    if not isinstance(b, (int, float, complex)):
        y = y.astype(np.result_type(y, 1.0))
    near = ((np.abs(x - y) <= atol + rtol * np.abs(y)) & np.isfinite(y)) | (x == y)
    return (near | (np.isnan(x) & np.isnan(y)))[()] if equal_nan else near[()]


@spells("numpy.allclose", complex=True)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@spells("numpy.array_equal", complex=True)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = np.asarray(a1), np.asarray(a2)
    if x.shape != y.shape:
        return False
    if equal_nan:
        return bool(np.all((x == y) | ((x != x) & (y != y))))
    return bool(np.all(x == y))


@spells("numpy.array_equiv", complex=True)
def array_equiv(a1: Any, a2: Any) -> bool:
    x, y = np.asarray(a1), np.asarray(a2)
    for axis in range(1, min(x.ndim, y.ndim) + 1):
        if x.shape[-axis] != y.shape[-axis] and x.shape[-axis] != 1 and y.shape[-axis] != 1:
            return False
    return bool(np.all(x == y))
