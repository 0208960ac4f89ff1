"""Strides of arrays whose last axis is next to itself in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from mlirad.frontend.values import sizes
from mlirad.frontend.values.sizes import Size


def c_strides(shape: Sequence[Size]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    return row_major(sizes.stand_in(shape))


@lru_cache(1024)
def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def shadow(shape: Sequence[Size], strides: Sequence[int]) -> np.ndarray:
    """An array of NumPy's without memory, to be asked for shapes, strides and flags, and never read."""
    in_bytes = [8 * stride for stride in strides]
    # A size that is known at run time only raises NeedStatic.
    return np.lib.stride_tricks.as_strided(np.empty(1), shape, in_bytes)  # pyright: ignore[reportArgumentType, reportCallIssue]
