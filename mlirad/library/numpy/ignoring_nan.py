"""NumPy's reductions that ignore nan."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.nansum")
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    if initial is None:
        return np.sum(_replaced(a, 0), axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return np.sum(_replaced(a, 0), axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@spells("numpy.nanprod")
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    if initial is None:
        return np.prod(_replaced(a, 1), axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return np.prod(_replaced(a, 1), axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@spells("numpy.nancumsum")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumsum(_replaced(a, 0), axis=axis, dtype=dtype)


@spells("numpy.nancumprod")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumprod(_replaced(a, 1), axis=axis, dtype=dtype)


@spells("numpy.nanmean")
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    x = np.asarray(a)
    if x.dtype.kind != "f":
        if where is True:
            return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
        x = x.astype(np.float64)
    _require_inexact(dtype)
    total = np.sum(_replaced(x, 0), axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return _divided(total, np.sum(~np.isnan(x), axis=axis, keepdims=keepdims, where=where))


@spells("numpy.nanvar")
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    x = np.asarray(a)
    if correction is not None and ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    freedom = ddof if correction is None else correction
    _require_inexact(dtype if x.dtype.kind == "f" else None)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    held = ~np.isnan(x)
    count = np.sum(held, axis=axis, keepdims=True, where=where)
    if mean is None:
        center = _divided(np.sum(_replaced(x, 0), axis=axis, dtype=dtype, keepdims=True, where=where), count)
    else:
        center = mean
    off = np.where(held, x - center, np.zeros((), x.dtype)).astype(x.dtype)
    if mean is None:  # a constant, as in np.var
        off = np.where(count == 1, np.trunc(off), off)
    total = np.sum(off * off, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    left = np.reshape(count, np.shape(total)) - freedom
    # The Python number 1.0 preserves the dtype.
    return np.where(left > 0, _divided(total, np.maximum(left, 1.0)), np.nan).astype(total.dtype)[()]


@spells("numpy.nanstd")
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    return np.sqrt(nanvar(a, axis, dtype, ddof, keepdims, where=where, mean=mean, correction=correction))


@spells("numpy.nanmax")
def nanmax(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    x = np.asarray(a)
    if initial is not None:
        return np.max(_replaced(x, -np.inf), axis=axis, keepdims=keepdims, initial=initial, where=where)
    if where is not True:
        return np.max(x, axis=axis, where=where)  # refused, because there is no initial value
    return _of_some(np.max(_replaced(x, -np.inf), axis=axis, keepdims=keepdims), x, axis, keepdims)


@spells("numpy.nanmin")
def nanmin(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    x = np.asarray(a)
    if initial is not None:
        return np.min(_replaced(x, np.inf), axis=axis, keepdims=keepdims, initial=initial, where=where)
    if where is not True:
        return np.min(x, axis=axis, where=where)
    return _of_some(np.min(_replaced(x, np.inf), axis=axis, keepdims=keepdims), x, axis, keepdims)


@spells("numpy.nanargmax")
def nanargmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    _require_some(x, axis)
    return np.argmax(_replaced(x, -np.inf), axis=axis, keepdims=keepdims)


@spells("numpy.nanargmin")
def nanargmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    _require_some(x, axis)
    return np.argmin(_replaced(x, np.inf), axis=axis, keepdims=keepdims)


@spells("numpy.nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    held = np.asarray(x)
    if held.dtype.kind != "f":
        return np.array(held)[()] if copy else held[()]
    largest = np.finfo(held.dtype).max
    above, below = largest if posinf is None else posinf, -largest if neginf is None else neginf
    made = np.where(held == np.inf, above, np.where(held == -np.inf, below, np.where(np.isnan(held), nan, held)))
    made = made.astype(held.dtype)
    if copy or held.ndim == 0:
        return made[()]
    held[...] = made
    return held


def _replaced(a: Any, number: Any) -> Any:
    x = np.asarray(a)
    return np.where(np.isnan(x), np.asarray(number, x.dtype), x) if x.dtype.kind == "f" else x


def _divided(total: Any, count: Any) -> Any:
    return (total / count).astype(total.dtype)


def _require_inexact(dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise TypeError("If a is inexact, then dtype must be inexact")


def _of_some(found: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """nan where all elements are nan."""
    if x.dtype.kind != "f":
        return found
    return np.where(np.all(np.isnan(x), axis=axis, keepdims=keepdims), np.asarray(np.nan, x.dtype), found)[()]


def _require_some(x: Any, axis: Any) -> None:
    if x.dtype.kind == "f" and x.size and np.any(np.all(np.isnan(x), axis=axis)):
        raise ValueError("All-NaN slice encountered")
