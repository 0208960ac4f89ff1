"""A convolution of n images of 64 channels with 64 filters of 3 x 3, in float32.

By hand it is a product of the filters with the columns of each image (its windows, one in each column).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from mlirad import nn

ARGNUMS = (0, 1)
SIZES = (1, 8)
CHANNELS, WIDTH, TAPS = 64, 28, 3


def arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    filters = random.normal(size=(CHANNELS, CHANNELS, TAPS, TAPS)) / np.sqrt(CHANNELS * TAPS * TAPS)
    images, wanted = random.normal(size=(2, n, CHANNELS, WIDTH, WIDTH))
    return filters.astype(np.float32), images.astype(np.float32), wanted.astype(np.float32)


def loss(filters, images, wanted):
    y = nn.conv2d(images, filters, padding=1) - wanted
    return np.sum(y * y)


@numba.njit
def columns_of(image, taps, padding):
    """An image (channels, height, width) as a matrix of (channels * taps * taps) rows."""
    channels, height, width = image.shape
    rows, lines = height + 2 * padding - taps + 1, width + 2 * padding - taps + 1
    columns = np.zeros((channels, taps, taps, rows, lines), image.dtype)
    for c in range(channels):
        for a in range(taps):
            for b in range(taps):
                first, last = max(0, padding - b), min(lines, width + padding - b)
                for i in range(max(0, padding - a), min(rows, height + padding - a)):
                    for j in range(first, last):
                        columns[c, a, b, i, j] = image[c, i + a - padding, j + b - padding]
    return columns.reshape((channels * taps * taps, rows * lines))


@numba.njit
def add_columns(columns, taps, padding, image):
    """The transpose of `columns_of`, added to an image."""
    channels, height, width = image.shape
    rows, lines = height + 2 * padding - taps + 1, width + 2 * padding - taps + 1
    of_taps = columns.reshape((channels, taps, taps, rows, lines))
    for c in range(channels):
        for a in range(taps):
            for b in range(taps):
                first, last = max(0, padding - b), min(lines, width + padding - b)
                for i in range(max(0, padding - a), min(rows, height + padding - a)):
                    for j in range(first, last):
                        image[c, i + a - padding, j + b - padding] += of_taps[c, a, b, i, j]


@numba.njit
def adjoint(filters, images, wanted):
    results = filters.shape[0]
    w = filters.reshape((results, filters.size // results))
    g_w, g_images = np.zeros_like(w), np.zeros_like(images)
    for k in range(images.shape[0]):
        columns = columns_of(images[k], TAPS, 1)
        g = w @ columns
        of_image = wanted[k].reshape(g.shape)
        for i in range(g.shape[0]):
            for j in range(g.shape[1]):
                g[i, j] = 2 * (g[i, j] - of_image[i, j])
        g_w += g @ columns.T
        add_columns(w.T @ g, TAPS, 1, g_images[k])
    return g_w.reshape(filters.shape), g_images


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(filters, images, wanted):
        y = jax.lax.conv(images, filters, (1, 1), "SAME") - wanted
        return jnp.sum(y * y)

    return loss


def torch_loss() -> Callable[..., Any]:
    import torch

    def loss(filters, images, wanted):
        y = torch.nn.functional.conv2d(images, filters, padding=1) - wanted
        return torch.sum(y * y)

    return loss
