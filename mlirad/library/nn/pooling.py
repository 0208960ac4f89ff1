"""Pooling: the largest element or the mean of each window. Elements that tie for the largest share the derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.nn.geometry import divisors, is_channels_last, pooling_sizes
from mlirad.library.nn.windowing import padded, require_rank, windows


def max_pool1d(
    x: Any, size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, *, layout: str = "NCW"
) -> Any:
    """The largest elements of windows of signals x (N, C, W). See max_pool2d."""
    return _max_pool(x, size, stride, padding, ceil_mode, is_channels_last(layout, 1), 1)


def max_pool2d(
    x: Any, size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, *, layout: str = "NCHW"
) -> Any:
    """The largest elements of windows of images x (N, C, H, W), or (N, H, W, C) with layout="NHWC".

    stride: by default the size. padding: at most half the size; it never contains the largest element. ceil_mode:
    whether the last window may extend beyond the image, as in PyTorch.

    Raises ValueError or TypeError if the arguments do not fit.
    """
    return _max_pool(x, size, stride, padding, ceil_mode, is_channels_last(layout, 2), 2)


def max_pool3d(
    x: Any, size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, *, layout: str = "NCDHW"
) -> Any:
    """The largest elements of windows of volumes x (N, C, D, H, W). See max_pool2d."""
    return _max_pool(x, size, stride, padding, ceil_mode, is_channels_last(layout, 3), 3)


def avg_pool1d(
    x: Any,
    size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCW",
) -> Any:
    """The means of windows of signals x (N, C, W). See avg_pool2d."""
    return _avg_pool(x, size, stride, padding, ceil_mode, count_include_pad, is_channels_last(layout, 1), 1)


def avg_pool2d(
    x: Any,
    size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCHW",
) -> Any:
    """The means of windows of images x (N, C, H, W), or (N, H, W, C) with layout="NHWC". See max_pool2d.

    count_include_pad: whether the zeros of the padding count. As in PyTorch, elements that ceil_mode adds never do.
    """
    return _avg_pool(x, size, stride, padding, ceil_mode, count_include_pad, is_channels_last(layout, 2), 2)


def avg_pool3d(
    x: Any,
    size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCDHW",
) -> Any:
    """The means of windows of volumes x (N, C, D, H, W). See avg_pool2d."""
    return _avg_pool(x, size, stride, padding, ceil_mode, count_include_pad, is_channels_last(layout, 3), 3)


def _max_pool(x: Any, size: Any, stride: Any, padding: Any, ceil_mode: bool, is_last: bool, rank: int) -> Any:
    x = np.asarray(x)
    require_rank(x, rank + 2, "x")
    lengths = x.shape[1:-1] if is_last else x.shape[2:]
    counts, sizes, strides, pads = pooling_sizes(lengths, size, stride, padding, ceil_mode)
    least = -np.inf if x.dtype.kind == "f" else False if x.dtype.kind == "b" else np.iinfo(x.dtype).min
    images = padded(x, lengths, pads, least, is_last)
    y = np.empty((x.shape[0], *_shape(counts, x, is_last)), x.dtype)
    for n in range(x.shape[0]):
        y[n] = np.max(_windows_of(images[n], sizes, strides, counts, is_last), axis=tuple(range(rank)))
    return y


def _avg_pool(
    x: Any, size: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, is_last: bool, rank: int
) -> Any:
    x = np.asarray(x)
    require_rank(x, rank + 2, "x")
    lengths = x.shape[1:-1] if is_last else x.shape[2:]
    counts, sizes, strides, pads = pooling_sizes(lengths, size, stride, padding, ceil_mode)
    images = padded(x, lengths, pads, 0, is_last)
    y = np.empty((x.shape[0], *_shape(counts, x, is_last)), x.dtype if x.dtype.kind == "f" else np.float64)
    numbers = np.array(divisors(lengths, size, stride, padding, ceil_mode, include), y.dtype)
    numbers = np.reshape(numbers, (*counts, 1) if is_last else counts)
    for n in range(x.shape[0]):
        sums = np.sum(_windows_of(images[n], sizes, strides, counts, is_last), axis=tuple(range(rank)))
        y[n] = sums / numbers
    return y


def _windows_of(
    image: Any, sizes: tuple[int, ...], strides: tuple[int, ...], counts: tuple[int, ...], is_last: bool
) -> Any:
    """The windows of an image, with the windows' own axes first."""
    rank = len(sizes)
    axes = tuple(range(rank)) if is_last else tuple(range(1, rank + 1))
    ones = (1,) * rank
    if is_last:
        return windows(image, (*axes, *axes, rank), (*ones, *strides, 1), (*sizes, *counts, image.shape[-1]))
    return windows(image, (*axes, 0, *axes), (*ones, 1, *strides), (*sizes, image.shape[0], *counts))


def _shape(counts: tuple[int, ...], x: Any, is_last: bool) -> tuple[int, ...]:
    return (*counts, x.shape[-1]) if is_last else (x.shape[1], *counts)
