"""A network of two hidden layers with tanh and a squared error, for a batch of n."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1, 2)
SIZES = (32, 512)
WIDTHS = (64, 128, 128, 10)


def arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    weights = [random.normal(size=shape) / np.sqrt(shape[0]) for shape in pairwise(WIDTHS)]
    return (*weights, random.normal(size=(n, WIDTHS[0])), random.normal(size=(n, WIDTHS[-1])))


def loss(w1, w2, w3, x, y):
    error = np.tanh(np.tanh(x @ w1) @ w2) @ w3 - y
    return np.sum(error * error)


@numba.njit
def adjoint(w1, w2, w3, x, y):
    h1 = np.tanh(x @ w1)
    h2 = np.tanh(h1 @ w2)
    g = 2.0 * (h2 @ w3 - y)
    g3 = h2.T @ g
    g = (g @ w3.T) * (1.0 - h2 * h2)
    g2 = h1.T @ g
    g = (g @ w2.T) * (1.0 - h1 * h1)
    return x.T @ g, g2, g3


def jax_loss() -> Callable[..., Any]:
    import jax.numpy as jnp

    def loss(w1, w2, w3, x, y):
        error = jnp.tanh(jnp.tanh(x @ w1) @ w2) @ w3 - y
        return jnp.sum(error * error)

    return loss


def torch_loss() -> Callable[..., Any]:
    import torch

    def loss(w1, w2, w3, x, y):
        error = torch.tanh(torch.tanh(x @ w1) @ w2) @ w3 - y
        return torch.sum(error * error)

    return loss
