"""Layers of networks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from numpy_programs.program import Program


def softmax(x):
    """Along the last axis of an array of rank 4."""
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def relu(x):
    return np.maximum(x, 0.0)


def rows_softmax(x):
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def mlp(x, w1, b1, w2, b2, w3, b3):
    """Two hidden layers."""
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return rows_softmax(x @ w3 + b3)


def conv2d_bias(image, weights, bias):
    """A convolution: image (batch, height, width, in), weights (size, size, in, out), bias (out,)."""
    size = weights.shape[0]
    height, width = image.shape[1] - size + 1, image.shape[2] - size + 1
    out = np.empty((image.shape[0], height, width, weights.shape[3]), dtype=image.dtype)
    for i in range(height):
        for j in range(width):
            window = image[:, i : i + size, j : j + size, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    return out + bias


def scores(random: np.random.Generator, *shape: int) -> tuple[Any, ...]:
    return (random.uniform(size=shape),)


def layers(random: np.random.Generator, batch: int, *widths: int) -> tuple[Any, ...]:
    parameters: list[Any] = []
    for before, after in pairwise(widths):
        parameters += [random.normal(size=(before, after)) / np.sqrt(before), random.normal(size=after)]
    return random.normal(size=(batch, widths[0])), *parameters


def images(random: np.random.Generator, batch: int, size: int, kernel: int, before: int, after: int) -> tuple[Any, ...]:
    shape = (kernel, kernel, before, after)
    return random.uniform(size=(batch, size, size, before)), random.uniform(size=shape), random.uniform(size=after)


PROGRAMS = [
    Program(softmax, scores, (2, 3, 4, 5), (16, 16, 128, 128), (32, 8, 256, 256)),
    Program(mlp, layers, (3, 4, 6, 5, 4), (8, 3, 30_000, 2000, 2000), (8, 3, 30_000, 10_000, 10_000)),
    Program(conv2d_bias, images, (2, 6, 3, 2, 3), (8, 32, 2, 3, 16), (8, 64, 5, 3, 8)),
]
