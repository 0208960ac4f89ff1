"""Strides of row-major arrays."""

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
    """A NumPy array without memory: only for questions about shape, strides and flags, never read."""
    in_bytes = [8 * stride for stride in strides]
    # A size known only at run time raises NeedStatic.
    return np.lib.stride_tricks.as_strided(np.empty(1), shape, in_bytes)  # pyright: ignore[reportArgumentType, reportCallIssue]
