"""Softmax and cross entropy of n rows of 10 scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 100_000)
CLASSES = 10


def arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    return random.normal(size=(n, CLASSES)), random.integers(0, CLASSES, n)


def loss(scores, labels):
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(logs - shifted[np.arange(len(labels)), labels])


@numba.njit
def adjoint(scores, labels):
    n, m = scores.shape
    g = np.empty_like(scores)
    for i in range(n):
        high = scores[i].max()
        total = 0.0
        for j in range(m):
            g[i, j] = np.exp(scores[i, j] - high)
            total += g[i, j]
        for j in range(m):
            g[i, j] /= total * n
        g[i, labels[i]] -= 1.0 / n
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(scores, labels):
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(labels.shape[0]), labels])

    return loss


def torch_loss() -> Callable[..., Any]:
    import torch

    return torch.nn.functional.cross_entropy
