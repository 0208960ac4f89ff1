"""Attention of n queries of 64 numbers, summed after a product with a weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1, 2)
SIZES = (64, 512)
WIDTH = 64


def arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(n, WIDTH)) for _ in range(4))


def loss(q, k, v, w):
    scores = q @ k.T / np.sqrt(q.shape[1])
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = shares / shares.sum(axis=1, keepdims=True)
    return np.sum((shares @ v) * w)


@numba.njit
def adjoint(q, k, v, w):
    scale = 1.0 / np.sqrt(q.shape[1])
    shares = q @ k.T
    for i in range(shares.shape[0]):
        high, total = shares[i].max(), 0.0
        for j in range(shares.shape[1]):
            shares[i, j] = np.exp((shares[i, j] - high) * scale)
            total += shares[i, j]
        for j in range(shares.shape[1]):
            shares[i, j] /= total
    g_v = shares.T @ w
    g = w @ v.T
    for i in range(g.shape[0]):
        total = 0.0
        for j in range(g.shape[1]):
            total += g[i, j] * shares[i, j]
        for j in range(g.shape[1]):
            g[i, j] = shares[i, j] * (g[i, j] - total) * scale
    return g @ k, g.T @ q, g_v


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    return lambda q, k, v, w: jnp.sum((jax.nn.softmax(q @ k.T / np.sqrt(WIDTH)) @ v) * w)


def torch_loss() -> Callable[..., Any]:
    import torch

    return lambda q, k, v, w: torch.sum((torch.softmax(q @ k.T / np.sqrt(WIDTH), 1) @ v) * w)
