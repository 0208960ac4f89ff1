"""Convolutions in the sense of neural networks (correlations): products of an image's windows with a matrix of weights.

Images are processed one at a time, so the windows of an image stay in the caches; or several at a time, if they have
few places, so that they share the weights. As in PyTorch, x is (batch, channels, ...) and w is (results, channels /
groups, ...). With the channels last, x is (batch, ..., channels) and w is (..., channels / groups, results).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mlirad.library.nn.geometry import (
    channels_and_results,
    convolution_sizes,
    images_at_once,
    is_channels_last,
    transposed_channels,
    transposed_sizes,
)
from mlirad.library.nn.windowing import overlap, padded, require_rank, windows


def conv1d(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    bias: Any = None,
    layout: str = "NCW",
) -> Any:
    """The correlation of signals x (N, C, W) with filters w (O, C / groups, K): an array (N, O, W'). See conv2d."""
    return _convolved(x, w, bias, stride, padding, dilation, groups, is_channels_last(layout, 1), 1)


def conv2d(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    bias: Any = None,
    layout: str = "NCHW",
) -> Any:
    """The correlation of images x (N, C, H, W) with filters w (O, C / groups, K, L): an array (N, O, H', W').

    padding: a number, one for each axis, a pair for each axis, "valid" (none) or "same" (H' = H / stride, rounded up;
    an odd element is added at the end). bias: (O,). layout="NHWC": x is (N, H, W, C), w (K, L, C / groups, O), the
    result (N, H', W', O). Raises ValueError or TypeError if the arguments do not fit.
    """
    return _convolved(x, w, bias, stride, padding, dilation, groups, is_channels_last(layout, 2), 2)


def conv3d(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    bias: Any = None,
    layout: str = "NCDHW",
) -> Any:
    """The correlation of volumes x (N, C, D, H, W) with filters w (O, C / groups, J, K, L). See conv2d."""
    return _convolved(x, w, bias, stride, padding, dilation, groups, is_channels_last(layout, 3), 3)


def conv_transpose1d(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    bias: Any = None,
) -> Any:
    """The transpose of conv1d. See conv_transpose2d."""
    return _transposed(x, w, bias, stride, padding, output_padding, groups, dilation, 1)


def conv_transpose2d(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    bias: Any = None,
) -> Any:
    """The transpose of conv2d: images (N, O, H', W') from images x (N, C, H, W) and filters w (C, O / groups, K, L).

    H' = (H - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1, as in PyTorch.
    """
    return _transposed(x, w, bias, stride, padding, output_padding, groups, dilation, 2)


def conv_transpose3d(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    bias: Any = None,
) -> Any:
    """The transpose of conv3d. See conv_transpose2d."""
    return _transposed(x, w, bias, stride, padding, output_padding, groups, dilation, 3)


def _convolved(
    x: Any,
    w: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    is_last: bool,
    rank: int,
) -> Any:
    x, w = np.asarray(x), np.asarray(w)
    require_rank(x, rank + 2, "x")
    require_rank(w, rank + 2, "w")
    channels, own, others = (x.shape[-1], w.shape[-2], w.shape[-1]) if is_last else (x.shape[1], w.shape[1], w.shape[0])
    depth, results = channels_and_results(own, others, channels, groups)
    sizes, kernel = (x.shape[1:-1], w.shape[:-2]) if is_last else (x.shape[2:], w.shape[2:])
    counts, strides, dilations, pads = convolution_sizes(sizes, kernel, stride, padding, dilation)
    if is_last:
        images = padded(x, sizes, pads, 0, True)
        y = _channels_last(images, w, groups, depth, results, kernel, counts, strides, dilations)
    else:
        y = _channels_first(x, w, groups, depth, results, kernel, counts, strides, dilations, pads)
    if bias is None:
        return y
    _require_bias(bias, results)
    return y + (bias if is_last else np.reshape(bias, (results,) + (1,) * rank))


def _channels_first(
    x: Any,
    w: Any,
    groups: int,
    depth: int,
    results: int,
    kernel: tuple[int, ...],
    counts: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
) -> Any:
    spatial = tuple(range(2, 2 + len(kernel)))
    terms, places = depth * prod(kernel), prod(counts)
    together = images_at_once(x.shape[0], places, terms, results // groups)
    if together > 1:
        return _several_at_once(x, w, together, groups, depth, results, kernel, counts, strides, dilations, pads)
    weights = np.reshape(w.copy(), (groups, results // groups, terms))
    y = np.empty((x.shape[0], groups, results // groups, *counts), np.result_type(x, w))
    for n in range(x.shape[0]):
        image = padded(np.reshape(x[n].copy(), (groups, depth, *x.shape[2:])), x.shape[2:], pads, 0, False)
        if terms != depth or image.shape[2:] != counts:
            image = windows(
                image, (0, 1, *spatial, *spatial), (1, 1, *dilations, *strides), (groups, depth, *kernel, *counts)
            )
        y[n] = np.reshape(weights @ np.reshape(image, (groups, terms, places)), y.shape[1:])
    return np.reshape(y, (x.shape[0], results, *counts))


def _several_at_once(
    x: Any,
    w: Any,
    together: int,
    groups: int,
    depth: int,
    results: int,
    kernel: tuple[int, ...],
    counts: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
) -> Any:
    """Images with the channels first, `together` of them beside one another in the columns of each product."""
    spatial = tuple(range(3, 3 + len(kernel)))
    terms, filters, parts = depth * prod(kernel), results // groups, x.shape[0] // together
    weights = np.reshape(w.copy(), (groups, filters, terms))
    x = np.reshape(x, (parts, together, groups, depth, *x.shape[2:]))
    y = np.empty((parts, together, groups, filters, *counts), np.result_type(x, w))
    for n in range(parts):
        image = padded(np.moveaxis(x[n].copy(), 0, 2), x.shape[4:], pads, 0, False)
        if terms != depth or image.shape[3:] != counts:
            image = windows(
                image,
                (0, 1, *spatial, 2, *spatial),
                (1, 1, *dilations, 1, *strides),
                (groups, depth, *kernel, together, *counts),
            )
        products = weights @ np.reshape(image, (groups, terms, together * prod(counts)))
        y[n] = np.moveaxis(np.reshape(products, (groups, filters, together, *counts)), 2, 0)
    return np.reshape(y, (parts * together, results, *counts))


def _channels_last(
    x: Any,
    w: Any,
    groups: int,
    depth: int,
    results: int,
    kernel: tuple[int, ...],
    counts: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> Any:
    rank = len(kernel)
    spatial = tuple(range(rank))
    terms, places = depth * prod(kernel), prod(counts)
    weights = np.swapaxes(np.reshape(w.copy(), (terms, groups, results // groups)), 0, 1)
    y = np.empty((x.shape[0], places, groups, results // groups), np.result_type(x, w))
    for n in range(x.shape[0]):
        image = np.reshape(x[n].copy(), (*x.shape[1:-1], groups, depth))
        image = windows(
            image,
            (rank, *spatial, *spatial, rank + 1),
            (1, *strides, *dilations, 1),
            (groups, *counts, *kernel, depth),
        )
        y[n] = np.swapaxes(np.reshape(image, (groups, places, terms)) @ weights, 0, 1)
    return np.reshape(y, (x.shape[0], *counts, results))


def _transposed(
    x: Any,
    w: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
    rank: int,
) -> Any:
    x, w = np.asarray(x), np.asarray(w)
    require_rank(x, rank + 2, "x")
    require_rank(w, rank + 2, "w")
    depth, results = transposed_channels(w.shape[0], w.shape[1], x.shape[1], groups)
    sizes, kernel = x.shape[2:], w.shape[2:]
    whole, shape, strides, dilations, inner = transposed_sizes(sizes, kernel, stride, padding, output_padding, dilation)
    spatial, terms = tuple(range(2, 2 + rank)), results // groups * prod(kernel)
    weights = np.swapaxes(np.reshape(w.copy(), (groups, depth, terms)), 1, 2)
    y = np.empty((x.shape[0], results, *shape), np.result_type(x, w))
    for n in range(x.shape[0]):
        parts = weights @ np.reshape(x[n].copy(), (groups, depth, prod(sizes)))
        image = overlap(
            np.reshape(parts, (groups, results // groups, *kernel, *sizes)),
            (0, 1, *spatial, *spatial),
            (1, 1, *dilations, *strides),
            (groups, results // groups, *whole),
        )
        y[n] = np.reshape(image, (results, *whole))[(slice(None), *inner)]
    if bias is None:
        return y
    _require_bias(bias, results)
    return y + np.reshape(bias, (results,) + (1,) * rank)


def _require_bias(bias: Any, results: int) -> None:
    if np.shape(bias) != (results,):
        raise ValueError(f"bias must have the shape ({results},), not {np.shape(bias)}")
