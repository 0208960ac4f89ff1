"""Differences and shifts along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.diff")
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    x = np.asarray(a)
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    for _ in range(n):
        high, low = np.rollaxis(x, axis)[1:], np.rollaxis(x, axis)[:-1]
        x = np.moveaxis(high != low if x.dtype == bool else high - low, 0, axis)
    return x


@spells("numpy.roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    x = np.asarray(a)
    if axis is None:
        return np.reshape(_rolled(np.ravel(x), shift, 0), x.shape)
    if not isinstance(axis, (tuple, list)) and not isinstance(shift, (tuple, list)):
        return _rolled(x, shift, axis)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    for each in axes:
        np.rollaxis(x, each)  # raises what NumPy does for an axis that x does not have
    if len(axes) != len(shifts) and len(axes) != 1 and len(shifts) != 1:
        raise ValueError("shape mismatch: objects cannot be broadcast to a single shape")
    for index in range(min(len(axes), len(shifts)) and max(len(axes), len(shifts))):
        x = _rolled(x, shifts[index if len(shifts) > 1 else 0], axes[index if len(axes) > 1 else 0])
    return x


def _rolled(x: Any, shift: Any, axis: Any) -> Any:
    made = np.empty_like(x)
    before, after = np.rollaxis(x, axis), np.rollaxis(made, axis)
    cut = shift % len(before) if len(before) else 0
    after[cut:] = before[: len(before) - cut]
    after[:cut] = before[len(before) - cut :]
    return made
