"""Windows of arrays, and sums of windows: the two movements that convolutions and pooling are built from.

An array y of windows of x has the element x[i] at the index j, where i[a] is the sum of `steps[r] * j[r]` over the axes
r of y with `axes[r] == a`. Both functions are primitives: the compiler has an op for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mlirad.library.nn.geometry import padded_sizes


def windows(x: Any, axes: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The windows of x, as an array of that shape: windows(x, (0, 0), (1, 1), (3, 4)) has x[i + j] at [i, j].

    Raises ValueError if they extend beyond x.
    """
    return _view(np.asarray(x), axes, steps, shape).copy()


def overlap(y: Any, axes: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """An array x of that shape, initially zeros: each element of y is added where windows(x, ...) would read it."""
    x = np.zeros(shape, y.dtype)
    view = _view(x, axes, steps, y.shape)
    inner = [r for r, axis in enumerate(axes) if axes.index(axis) == r]  # one axis of y for each axis of x
    outer = [r for r in range(y.ndim) if r not in inner]
    for place in np.ndindex(*[y.shape[r] for r in outer]):
        index: list[Any] = [slice(None)] * y.ndim
        for r, at in zip(outer, place, strict=True):
            index[r] = at
        view[tuple(index)] += y[tuple(index)]
    return x


def check_windows(
    source: tuple[int, ...], axes: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    """Raise ValueError unless an array of shape `source` has windows of that shape."""
    if not len(axes) == len(steps) == len(shape) or set(axes) != set(range(len(source))) or min(steps, default=1) < 1:
        raise ValueError(f"windows of axes {axes} and steps {steps} in shape {shape}, of an array of shape {source}")
    for axis, size in enumerate(source):
        last = sum(step * (n - 1) for at, step, n in zip(axes, steps, shape, strict=True) if at == axis)
        if last >= size and 0 not in shape:
            raise ValueError(f"windows reach place {last} of axis {axis}, of size {size}")


def _view(x: Any, axes: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    check_windows(x.shape, axes, steps, shape)
    return as_strided(x, shape, [x.strides[axis] * step for axis, step in zip(axes, steps, strict=True)])


def padded(x: Any, sizes: Any, pads: Any, value: Any, is_last: bool) -> Any:
    """Images x of these sizes inside an array filled with `value`, with room for the padding; x itself if there is
    none."""
    whole, inner = padded_sizes(sizes, pads)
    if whole == sizes:
        return x
    around = x.shape[:1] if is_last else x.shape[: x.ndim - len(whole)]
    y = np.full((*around, *whole, x.shape[-1]) if is_last else (*around, *whole), value, x.dtype)
    y[(slice(None), *inner) if is_last else (..., *inner)] = x
    return y


def require_rank(array: Any, rank: int, name: str) -> None:
    if array.ndim != rank:
        raise ValueError(f"{name} must have {rank} axes, not {array.ndim}: its shape is {array.shape}")
