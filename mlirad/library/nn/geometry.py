"""The sizes and places of windows: what layers that slide over images compute from numbers alone, while a kernel is
compiled.

The functions are listed in `frontend/program/pure_functions.py`: on constants, Python runs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Sizes = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]
"""The padding before and after each axis."""

_FEW_PLACES, _LONG_SUM, _MANY_RESULTS = 128, 256, 64
_COLUMNS, _MOST_COLUMNS = 256, 4096
"""The columns of a product that are enough, and the most if no number of equal parts has about so many."""


def convolution_sizes(
    sizes: Sizes, kernel: Sizes, stride: Any, padding: Any, dilation: Any
) -> tuple[Sizes, Sizes, Sizes, Pads]:
    """The windows of a kernel of this size: their number along each axis, strides, dilations and padding."""
    rank = len(sizes)
    strides, dilations = _per_axis(stride, rank, "stride"), _per_axis(dilation, rank, "dilation")
    spans = tuple(step * (size - 1) + 1 for step, size in zip(dilations, kernel, strict=True))
    pads = _paddings(padding, sizes, spans, strides)
    whole = [size + low + high for size, (low, high) in zip(sizes, pads, strict=True)]
    counts = tuple((size - span) // step + 1 for size, span, step in zip(whole, spans, strides, strict=True))
    if min(counts) < 1 or 0 in kernel:
        raise ValueError(f"windows that span {spans} do not fit in {sizes} with the padding {pads}")
    return counts, strides, dilations, pads


def images_at_once(images: int, places: int, terms: int, results: int) -> int:
    """How many images a product multiplies by the same weights. terms: the length of its sums; results: its rows.

    The columns of few places fill no tiles, and are too few for weights that are read from far away. More images than
    that only leave the caches. They are copied into another order, which short sums are not worth.
    """
    if places > _FEW_PLACES or terms < _LONG_SUM or results < _MANY_RESULTS:
        return 1
    parts = [count for count in range(1, images + 1) if images % count == 0 and count * places <= _MOST_COLUMNS]
    return next((count for count in parts if count * places >= _COLUMNS), max(parts, default=1))


def transposed_sizes(
    sizes: Sizes, kernel: Sizes, stride: Any, padding: Any, output_padding: Any, dilation: Any
) -> tuple[Sizes, Sizes, Sizes, Sizes, tuple[slice, ...]]:
    """Windows that are added up: the shape of the sum, the part of it that remains without the padding, strides,
    dilations, and the place of that part in the sum."""
    rank = len(sizes)
    strides, dilations = _per_axis(stride, rank, "stride"), _per_axis(dilation, rank, "dilation")
    pads, more = _per_axis(padding, rank, "padding", 0), _per_axis(output_padding, rank, "output_padding", 0)
    whole = tuple((sizes[a] - 1) * strides[a] + dilations[a] * (kernel[a] - 1) + 1 + more[a] for a in range(rank))
    shape = tuple(size - 2 * pad for size, pad in zip(whole, pads, strict=True))
    if min(shape) < 1 or 0 in sizes or 0 in kernel:
        raise ValueError(f"nothing is left of results of shape {whole} without the padding {pads}")
    if any(more[axis] >= max(strides[axis], dilations[axis]) for axis in range(rank)):
        raise ValueError(f"output_padding {more} must be smaller than the stride or the dilation")
    return whole, shape, strides, dilations, tuple(slice(pad, pad + n) for pad, n in zip(pads, shape, strict=True))


def pooling_sizes(
    lengths: Sizes, size: Any, stride: Any, padding: Any, ceil_mode: bool
) -> tuple[Sizes, Sizes, Sizes, Pads]:
    """The windows of pooling: their number along each axis, their size, strides, and the padding that they need.

    With ceil_mode, each window begins in the image or before it, and the last one may extend beyond it.
    """
    rank = len(lengths)
    sizes = _per_axis(size, rank, "size")
    strides = sizes if stride is None else _per_axis(stride, rank, "stride")
    lows = _per_axis(padding, rank, "padding", 0)
    if any(2 * low > each for low, each in zip(lows, sizes, strict=True)):
        raise ValueError(f"padding must be at most half the size: {lows} for {sizes}")
    counts: list[int] = []
    for each, step, length, low in zip(sizes, strides, lengths, lows, strict=True):
        room = length + 2 * low - each
        count = (-(-room // step) if ceil_mode else room // step) + 1
        counts.append(count - 1 if ceil_mode and (count - 1) * step >= length + low else count)
    if min(counts) < 1:
        raise ValueError(f"windows of size {sizes} do not fit in {lengths} with the padding {lows}")
    ends = [(counts[axis] - 1) * strides[axis] + sizes[axis] - lengths[axis] - lows[axis] for axis in range(rank)]
    return tuple(counts), sizes, strides, tuple((low, max(end, 0)) for low, end in zip(lows, ends, strict=True))


def divisors(lengths: Sizes, size: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool) -> tuple[int, ...]:
    """The divisors of the windows' sums, in row-major order. include: whether padding counts; elements added by
    ceil_mode never count."""
    counts, sizes, strides, pads = pooling_sizes(lengths, size, stride, padding, ceil_mode)
    found = [1]
    for count, each, step, length, (low, _) in zip(counts, sizes, strides, lengths, pads, strict=True):
        margin = low if include else 0
        starts = [place * step - low for place in range(count)]
        along = [min(start + each, length + margin) - max(start, -margin) for start in starts]
        found = [one * other for one in found for other in along]
    return tuple(found)


def padded_sizes(sizes: Sizes, pads: Pads) -> tuple[Sizes, tuple[slice, ...]]:
    """The padded sizes, and the place of the array inside."""
    whole = tuple(low + size + high for size, (low, high) in zip(sizes, pads, strict=True))
    return whole, tuple(slice(low, low + size) for size, (low, _) in zip(sizes, pads, strict=True))


def channels_and_results(depth: int, results: int, channels: int, groups: Any) -> tuple[int, int]:
    """The number of channels that each result of a filter uses, and the number of results."""
    _require_groups(groups, channels, results)
    if depth * groups != channels:
        raise ValueError(f"w is for {depth} * {groups} channels, x has {channels}")
    return depth, results


def transposed_channels(own: int, width: int, channels: int, groups: Any) -> tuple[int, int]:
    """The same for filters (own, width, ...) of a transposed convolution."""
    _require_groups(groups, channels, width * groups)
    if own != channels:
        raise ValueError(f"w is for {own} channels, x has {channels}")
    return channels // groups, width * groups


def _require_groups(groups: Any, channels: int, results: int) -> None:
    if not isinstance(groups, int | np.integer) or groups < 1 or channels % groups or results % groups:
        raise ValueError(f"{channels} channels and {results} results are not in {groups!r} groups of equal size")


def is_channels_last(layout: str, rank: int) -> bool:
    """Whether the channels are the last axis, for layouts such as "NCHW" and "NHWC"."""
    letters = "DHW"[3 - rank :]
    if layout not in ("NC" + letters, "N" + letters + "C"):
        raise ValueError(f"layout must be {'NC' + letters!r} or {'N' + letters + 'C'!r}, not {layout!r}")
    return layout[1] != "C"


def _per_axis(value: Any, rank: int, name: str, least: int = 1) -> Sizes:
    """An integer for each spatial axis, from one integer or a sequence of them."""
    if not isinstance(value, int | np.integer | tuple | list) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer or {rank} of them, not {value!r}")
    found = tuple(value) if isinstance(value, tuple | list) else (value,) * rank
    if len(found) != rank:
        raise ValueError(f"{name} has {len(found)} numbers, for {rank} axes")
    for each in found:
        if not isinstance(each, int | np.integer) or isinstance(each, bool):
            raise TypeError(f"{name} must be integers, not {value!r}")
        if each < least:
            raise ValueError(f"{name} must be at least {least}, not {each}")
    return tuple(int(each) for each in found)


def _paddings(padding: Any, sizes: Sizes, spans: Sizes, strides: Sizes) -> Pads:
    rank = len(sizes)
    if padding == "valid":
        return ((0, 0),) * rank
    if padding == "same":
        counts = [-(-size // step) for size, step in zip(sizes, strides, strict=True)]
        whole = [max((counts[a] - 1) * strides[a] + spans[a] - sizes[a], 0) for a in range(rank)]
        return tuple((each // 2, each - each // 2) for each in whole)
    if isinstance(padding, str):
        raise ValueError(f"padding must be 'same', 'valid' or numbers, not {padding!r}")
    if isinstance(padding, tuple | list) and len(padding) == rank and isinstance(padding[0], tuple | list):
        pairs = [_per_axis(each, 2, "a pair of padding", 0) for each in padding]
        return tuple((low, high) for low, high in pairs)
    return tuple((each, each) for each in _per_axis(padding, rank, "padding", 0))


SIZES = (
    *(convolution_sizes, transposed_sizes, pooling_sizes, divisors, padded_sizes),
    *(channels_and_results, transposed_channels, is_channels_last),
)
PURE = (*SIZES, images_at_once)
