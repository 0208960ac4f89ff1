"""Products of arrays, apart from linear algebra: cross and Kronecker products, convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mlirad.library.spells import spells


@spells("numpy.cross", complex=True)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    axes = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim < 1 or y.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    x = np.moveaxis(x, normalize_axis_index(axes[0], x.ndim, "axisa"), 0)
    y = np.moveaxis(y, normalize_axis_index(axes[1], y.ndim, "axisb"), 0)
    if len(x) not in (2, 3) or len(y) not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    dtype = np.promote_types(x.dtype, y.dtype)
    x, y = x.astype(dtype), y.astype(dtype)
    last = x[0] * y[1] - x[1] * y[0]
    if len(x) == 2 and len(y) == 2:
        return np.asarray(last)
    place = normalize_axis_index(axes[2], np.ndim(last) + 1, "axisc")
    if len(x) == 2:
        return np.stack([x[1] * y[2], -(x[0] * y[2]), last], place)
    if len(y) == 2:
        return np.stack([-(x[2] * y[1]), x[2] * y[0], last], place)
    return np.stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], last], place)


@spells("numpy.kron", complex=True)
def kron(a: Any, b: Any) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    rank = max(x.ndim, y.ndim)
    blocks, entries = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - y.ndim) + y.shape
    outer = np.reshape(x, [size for each in blocks for size in (each, 1)])
    inner = np.reshape(y, [size for each in entries for size in (1, each)])
    return np.reshape(outer * inner, [blocks[axis] * entries[axis] for axis in range(rank)])


@spells("numpy.convolve", complex=True)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    x, y = np.atleast_1d(a), np.atleast_1d(v)
    if len(x) == 0:
        raise ValueError("a cannot be empty")
    if len(y) == 0:
        raise ValueError("v cannot be empty")
    if len(y) > len(x):
        return _convolved(y, x, mode)
    return _convolved(x, y, mode)


@spells("numpy.correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    x, y = np.asarray(a), np.asarray(v)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if len(x) == 0:
        raise ValueError("first array argument cannot be empty")
    if len(y) == 0:
        raise ValueError("second array argument cannot be empty")
    if len(y) > len(x):
        return _convolved(y, x[::-1], mode)[::-1].copy()
    return _convolved(x, y[::-1], mode)


def _convolved(x: Any, y: Any, mode: str) -> Any:
    """Sums of products of x and the shorter y: where they overlap, where y's middle does, or where all of y does."""
    if x.ndim > 1 or y.ndim > 1:
        raise ValueError("object too deep for desired array")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')")
    long, short = len(x), len(y)
    dtype = np.result_type(x, y)
    if mode == "valid":
        made = np.zeros(long - short + 1, dtype)
        for k in range(short):
            made += y[k] * x[short - 1 - k : long - k]
        return made
    made = np.zeros(long + short - 1, dtype)
    for k in range(short):
        made[k : k + long] += y[k] * x
    return made if mode == "full" else made[(short - 1) // 2 : (short - 1) // 2 + long].copy()


@spells("numpy.vecdot", complex=True)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    a, b = np.moveaxis(np.asarray(x1), axis, -1), np.moveaxis(np.asarray(x2), axis, -1)
    return np.matmul(_conjugate(a)[..., None, :], b[..., :, None])[..., 0, 0][()]


@spells("numpy.matvec", complex=True)
def matvec(x1: Any, x2: Any, /) -> Any:
    _require_rank("matvec", 0, x1, 2)
    _require_rank("matvec", 1, x2, 1)
    return np.matmul(x1, np.asarray(x2)[..., :, None])[..., 0]


@spells("numpy.vecmat", complex=True)
def vecmat(x1: Any, x2: Any, /) -> Any:
    _require_rank("vecmat", 0, x1, 1)
    _require_rank("vecmat", 1, x2, 2)
    return np.matmul(_conjugate(np.asarray(x1))[..., None, :], x2)[..., 0, :]


def _conjugate(x: Any) -> Any:
    """np.conj would return integers for booleans."""
    return np.conj(x) if np.iscomplexobj(x) else x


def _require_rank(name: str, number: int, x: Any, least: int) -> None:
    if np.ndim(x) < least:
        raise ValueError(f"{name}: Input operand {number} does not have enough dimensions ({np.ndim(x)}, not {least})")
