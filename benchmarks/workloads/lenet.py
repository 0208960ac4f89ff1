"""LeNet-5 without biases on n images of 28 x 28, in float32: the gradient by its five weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from mlirad import nn

from .conv2d import add_columns, columns_of

ARGNUMS = (0, 1, 2, 3, 4)
SIZES = (4, 128)
SHAPES = ((6, 1, 5, 5), (16, 6, 5, 5), (400, 120), (120, 84), (84, 10))
INPUTS = (25, 150, 400, 120, 84)  # of a sum


def arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    weights = [random.normal(size=shape) / np.sqrt(each) for shape, each in zip(SHAPES, INPUTS, strict=True)]
    images = random.random((n, 1, 28, 28))
    return (*(each.astype(np.float32) for each in (*weights, images)), random.integers(0, 10, n))


def loss(conv1, conv2, dense1, dense2, dense3, images, labels):
    x = nn.max_pool2d(nn.relu(nn.conv2d(images, conv1, padding=2)), 2)
    x = nn.max_pool2d(nn.relu(nn.conv2d(x, conv2)), 2)
    x = nn.relu(np.reshape(x, (len(images), 400)) @ dense1)
    return nn.cross_entropy(nn.relu(x @ dense2) @ dense3, labels)


@numba.njit
def pool(y, pooled, chosen):
    """The largest of each 2 x 2 elements, or zero, and where it was: -1 if it is zero."""
    for c in range(pooled.shape[0]):
        for i in range(pooled.shape[1]):
            for j in range(pooled.shape[2]):
                high, place = y.dtype.type(0), -1
                for k in range(4):
                    if y[c, 2 * i + k // 2, 2 * j + k % 2] > high:
                        high, place = y[c, 2 * i + k // 2, 2 * j + k % 2], k
                pooled[c, i, j], chosen[c, i, j] = high, place


@numba.njit
def spread(g, chosen, shape):
    """The adjoint of `pool`."""
    g_y = np.zeros(shape, g.dtype)
    for c in range(g.shape[0]):
        for i in range(g.shape[1]):
            for j in range(g.shape[2]):
                k = chosen[c, i, j]
                if k >= 0:
                    g_y[c, 2 * i + k // 2, 2 * j + k % 2] = g[c, i, j]
    return g_y


@numba.njit
def adjoint(conv1, conv2, dense1, dense2, dense3, images, labels):
    n = len(images)
    w1, w2 = conv1.reshape((6, 25)), conv2.reshape((16, 150))
    x1, k1 = np.empty((n, 6, 14, 14), images.dtype), np.empty((n, 6, 14, 14), np.int8)
    x2, k2 = np.empty((n, 16, 5, 5), images.dtype), np.empty((n, 16, 5, 5), np.int8)
    for k in range(n):
        pool((w1 @ columns_of(images[k], 5, 2)).reshape((6, 28, 28)), x1[k], k1[k])
        pool((w2 @ columns_of(x1[k], 5, 0)).reshape((16, 10, 10)), x2[k], k2[k])
    flat = x2.reshape((n, 400))
    x3 = np.maximum(flat @ dense1, 0)
    x4 = np.maximum(x3 @ dense2, 0)
    g = x4 @ dense3
    for i in range(n):
        high, total = g[i].max(), g.dtype.type(0)
        for j in range(10):
            g[i, j] = np.exp(g[i, j] - high)
            total += g[i, j]
        for j in range(10):
            g[i, j] /= total * n
        g[i, labels[i]] -= 1 / n
    g_dense3 = x4.T @ g
    g = (g @ dense3.T) * (x4 > 0)
    g_dense2 = x3.T @ g
    g = (g @ dense2.T) * (x3 > 0)
    g_dense1 = flat.T @ g
    g_pooled = (g @ dense1.T).reshape((n, 16, 5, 5))
    g_w1, g_w2 = np.zeros_like(w1), np.zeros_like(w2)
    for k in range(n):
        g_y = spread(g_pooled[k], k2[k], (16, 10, 10)).reshape((16, 100))
        g_w2 += g_y @ columns_of(x1[k], 5, 0).T
        g_x1 = np.zeros((6, 14, 14), images.dtype)
        add_columns(w2.T @ g_y, 5, 0, g_x1)
        g_w1 += spread(g_x1, k1[k], (6, 28, 28)).reshape((6, 784)) @ columns_of(images[k], 5, 2).T
    return g_w1.reshape(conv1.shape), g_w2.reshape(conv2.shape), g_dense1, g_dense2, g_dense3


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def pooled(x):
        return jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(conv1, conv2, dense1, dense2, dense3, images, labels):
        x = pooled(jax.lax.conv(images, conv1, (1, 1), "SAME"))
        x = pooled(jax.lax.conv(x, conv2, (1, 1), "VALID"))
        x = jax.nn.relu(x.reshape(-1, 400) @ dense1)
        scores = jax.nn.relu(x @ dense2) @ dense3
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(labels.shape[0]), labels])

    return loss


def torch_loss() -> Callable[..., Any]:
    from torch.nn import functional

    def loss(conv1, conv2, dense1, dense2, dense3, images, labels):
        x = functional.max_pool2d(functional.relu(functional.conv2d(images, conv1, padding=2)), 2)
        x = functional.max_pool2d(functional.relu(functional.conv2d(x, conv2)), 2)
        x = functional.relu(x.reshape(-1, 400) @ dense1)
        return functional.cross_entropy(functional.relu(x @ dense2) @ dense3, labels)

    return loss
