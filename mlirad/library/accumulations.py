"""Sums and products of all elements up to each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.cumsum", method="cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    x, made, along = _operands(a, axis, dtype)
    before, after = np.rollaxis(x, along), np.rollaxis(made, along)
    if len(before):
        after[0] = before[0]
    for k in range(1, len(before)):
        after[k] = after[k - 1] + before[k]
    return made


@spells("numpy.cumprod", method="cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    x, made, along = _operands(a, axis, dtype)
    before, after = np.rollaxis(x, along), np.rollaxis(made, along)
    if len(before):
        after[0] = before[0]
    for k in range(1, len(before)):
        after[k] = after[k - 1] * before[k]
    return made


def _operands(a: Any, axis: Any, dtype: Any) -> tuple[Any, Any, int]:
    """The array, one that lies in memory as it does, of the dtype of a sum, and the axis."""
    require_axis(axis)
    x = np.ravel(a) if axis is None else np.atleast_1d(a)
    if dtype is None:
        dtype = np.sum(np.zeros(0, x.dtype)).dtype
    x = x.astype(dtype)
    return x, np.empty_like(x), 0 if axis is None else axis
