"""Where windows lie: strides, padding and sizes of layers that slide over images. All of it is known when compiling."""

from __future__ import annotations

from typing import Any

import numpy as np


def per_axis(value: Any, rank: int, name: str, least: int = 1) -> tuple[int, ...]:
    """An integer for each spatial axis, from one integer or a sequence of them."""
    if not isinstance(value, (int, np.integer, tuple, list)):
        raise TypeError(f"{name} must be an integer or {rank} of them, not {value!r}")
    found = tuple(value) if isinstance(value, (tuple, list)) else tuple([value] * rank)
    if len(found) != rank:
        raise ValueError(f"{name} has {len(found)} numbers, for {rank} axes")
    for each in found:
        if not isinstance(each, (int, np.integer)) or isinstance(each, bool):
            raise TypeError(f"{name} must be integers, not {value!r}")
        if each < least:
            raise ValueError(f"{name} must be at least {least}, not {each}")
    return tuple([int(each) for each in found])


def paddings(
    padding: Any, sizes: tuple[int, ...], spans: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """What is added before and behind each axis, for windows that span so many places."""
    rank = len(sizes)
    if isinstance(padding, str):
        if padding == "valid":
            return tuple([(0, 0)] * rank)
        if padding != "same":
            raise ValueError(f"padding must be 'same', 'valid' or numbers, not {padding!r}")
        found = []
        for axis in range(rank):
            count = -(-sizes[axis] // strides[axis])
            whole = max((count - 1) * strides[axis] + spans[axis] - sizes[axis], 0)
            found = [*found, (whole // 2, whole - whole // 2)]
        return tuple(found)
    if isinstance(padding, (tuple, list)) and len(padding) == rank and isinstance(padding[0], (tuple, list)):
        pairs = [per_axis(each, 2, "a pair of padding", 0) for each in padding]
        return tuple([(pair[0], pair[1]) for pair in pairs])
    return tuple([(each, each) for each in per_axis(padding, rank, "padding", 0)])


def window_counts(
    sizes: tuple[int, ...], pads: tuple[tuple[int, int], ...], spans: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[int, ...]:
    """How many windows fit along each axis."""
    counts = [
        (sizes[axis] + pads[axis][0] + pads[axis][1] - spans[axis]) // strides[axis] + 1 for axis in range(len(sizes))
    ]
    if min(counts) < 1:
        raise ValueError(f"windows that span {spans} do not fit in {sizes} with the padding {pads}")
    return tuple(counts)


def padded(x: Any, first: int, pads: tuple[tuple[int, int], ...], value: Any) -> Any:
    """x with its axes from `first` on extended by a value; x itself if nothing is added."""
    if sum([low + high for low, high in pads]) == 0:
        return x
    shape, inner = list(x.shape), [slice(None)] * x.ndim
    for axis in range(len(pads)):
        low, high = pads[axis]
        inner[first + axis] = slice(low, low + shape[first + axis])
        shape[first + axis] = low + shape[first + axis] + high
    y = np.full(tuple(shape), value, x.dtype)
    y[tuple(inner)] = x
    return y


def product(sizes: Any) -> int:
    found = 1
    for size in sizes:
        found = found * size
    return found


def is_channels_last(layout: str, rank: int) -> bool:
    """Whether the channels are the last axis, by the letters of a layout such as "NCHW" and "NHWC"."""
    letters = "DHW"[3 - rank :]
    if layout not in ("NC" + letters, "N" + letters + "C"):
        raise ValueError(f"layout must be {'NC' + letters!r} or {'N' + letters + 'C'!r}, not {layout!r}")
    return layout[1] != "C"


def require_rank(array: Any, rank: int, name: str) -> None:
    if array.ndim != rank:
        raise ValueError(f"{name} must have {rank} axes, not {array.ndim}: its shape is {array.shape}")
