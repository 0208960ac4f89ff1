"""Sums and products of all elements up to each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.numpy.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.cumsum", method="cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _accumulated(np.add, a, axis, dtype)


@spells("numpy.cumprod", method="cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _accumulated(np.multiply, a, axis, dtype)


@spells(ufunc_method="accumulate")
def accumulate(ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """`np.maximum.accumulate` and its like."""
    x = np.asarray(array)
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    if axis is None and x.ndim > 1:
        raise ValueError("accumulate does not allow multiple axes")
    if dtype is None and ufunc is not np.add and ufunc is not np.multiply:
        dtype = ufunc(x[:0], x[:0]).dtype
        if dtype.kind == "b" and x.dtype.kind != "b":
            raise NotImplementedError("accumulate of a ufunc that gives bools is not compiled", "write it as a loop")
    elif dtype is not None and ufunc(x[:0].astype(dtype), x[:0].astype(dtype)).dtype != dtype:
        raise TypeError(f"No loop matching the specified signature and casting was found for ufunc {ufunc.__name__}")
    return _accumulated(ufunc, x, axis, dtype)


def _accumulated(combine: np.ufunc, a: Any, axis: Any, dtype: Any) -> Any:
    """In an array that lies in memory as the operand does, of the dtype of a sum."""
    require_axis(axis)
    x = np.ravel(a) if axis is None else np.atleast_1d(a)
    if dtype is None:
        dtype = np.sum(np.zeros(0, x.dtype)).dtype
    x = x.astype(dtype)
    made, along = np.empty_like(x), 0 if axis is None else axis
    before, after = np.rollaxis(x, along), np.rollaxis(made, along)
    if len(before):
        after[0] = before[0]
    for k in range(1, len(before)):
        after[k] = combine(after[k - 1], before[k])
    return made


@spells("numpy.cumulative_sum")
def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _with_initial(np.cumsum(x, _only_axis(x, axis), dtype), _only_axis(x, axis), 0, include_initial)


@spells("numpy.cumulative_prod")
def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _with_initial(np.cumprod(x, _only_axis(x, axis), dtype), _only_axis(x, axis), 1, include_initial)


def _only_axis(x: Any, axis: Any) -> Any:
    if axis is None and np.ndim(x) > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    return 0 if axis is None else axis


def _with_initial(found: Any, axis: int, number: int, is_wanted: bool) -> Any:
    if not is_wanted:
        return found
    lines = np.moveaxis(found, axis, 0)
    return np.moveaxis(np.concatenate((np.full((1, *lines.shape[1:]), number, found.dtype), lines)), 0, axis)
