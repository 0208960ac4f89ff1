"""Programs for `parallel.py` without a peer: networks of layers, batched products, loops over rows.

Reads: a size. Writes: a loss whose gradient by the first argument is taken, and its arguments. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad import nn

Program = tuple[Callable[..., Any], tuple[Any, ...]]

LENET = {"conv1": (6, 1, 5, 5), "conv2": (16, 6, 5, 5), "fc1": (120, 400), "fc2": (84, 120), "fc3": (10, 84)}


def lenet(batch: int) -> Program:
    """LeNet-5 in float32, without biases."""
    random = np.random.default_rng(0)
    weights = {name: random.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:])) for name, shape in LENET.items()}
    weights = {name: each.astype(np.float32) for name, each in weights.items()}

    def loss(w, images, labels):
        x = nn.max_pool2d(nn.relu(nn.conv2d(images, w["conv1"], padding=2)), 2)
        x = nn.max_pool2d(nn.relu(nn.conv2d(x, w["conv2"])), 2)
        x = nn.relu(np.reshape(x, (len(images), 400)) @ w["fc1"].T)
        return nn.cross_entropy(nn.relu(x @ w["fc2"].T) @ w["fc3"].T, labels)

    return loss, (weights, random.random((batch, 1, 28, 28)).astype(np.float32), random.integers(0, 10, batch))


def lstm(hidden: int, batch: int = 64, length: int = 24) -> Program:
    """An LSTM by a loop over the steps of rows."""
    random = np.random.default_rng(0)
    w = random.normal(size=(2 * hidden, 4 * hidden)) / np.sqrt(hidden)

    def loss(w, rows):
        h, c = np.zeros((2, len(rows), rows.shape[2]))
        n = h.shape[1]
        for i in range(rows.shape[1]):
            gates = np.concatenate([rows[:, i], h], axis=1) @ w
            keep, write, show = (nn.sigmoid(gates[:, n * k : n * (k + 1)]) for k in range(3))
            c = keep * c + write * np.tanh(gates[:, 3 * n :])
            h = show * np.tanh(c)
        return np.sum(h * h)

    return loss, (w, random.normal(size=(batch, length, hidden)))


def residual(batch: int) -> Program:
    """A convolution of 64 channels of 56 x 56 in float32, by the weights."""
    random = np.random.default_rng(0)
    images, weights = random.normal(size=(batch, 64, 56, 56)), random.normal(size=(64, 64, 3, 3))

    def loss(w, x):
        y = nn.conv2d(x, w, padding=1)
        return np.sum(y * y)

    return loss, (weights.astype(np.float32), images.astype(np.float32))


def batched(count: int) -> Program:
    """Products of 64 x 64."""
    a, b = np.random.default_rng(0).normal(size=(2, count, 64, 64))

    def loss(a, b):
        c = a @ b
        return np.sum(c * c)

    return loss, (a, b)


def rows(count: int) -> Program:
    """A loop whose trips are independent."""
    random = np.random.default_rng(0)

    def loss(a, b):
        y = np.zeros(len(a))
        for i in range(len(a)):
            y[i] = np.sum(np.tanh(a[i] * b))
        return np.sum(y * y)

    return loss, (random.normal(size=(count, 200)), random.normal(size=200))


PROGRAMS = {"lenet": (lenet, 128), "lstm": (lstm, 128), "residual": (residual, 4), "batched": (batched, 64)}
PROGRAMS["rows"] = rows, 2_000
