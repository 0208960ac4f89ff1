"""Sums and products of all elements up to each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.cumsum", method="cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _accumulated(np.add, a, axis, dtype)


@spells("numpy.cumprod", method="cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _accumulated(np.multiply, a, axis, dtype)


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
