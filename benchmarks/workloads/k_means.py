"""The sum of the squared distances of n points to the nearest of 50 centres, in 8 dimensions, by the centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 20_000)
CENTRES, DIMENSIONS = 50, 8


def arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    return random.normal(size=(CENTRES, DIMENSIONS)), random.normal(size=(n, DIMENSIONS))


def loss(centres, points):
    apart = points[:, None, :] - centres
    return np.sum(np.min(np.sum(apart * apart, axis=2), axis=1))


@numba.njit
def adjoint(centres, points):
    g = np.zeros_like(centres)
    for i in range(points.shape[0]):
        nearest, least = 0, np.inf
        for j in range(centres.shape[0]):
            total = 0.0
            for a in range(points.shape[1]):
                total += (points[i, a] - centres[j, a]) ** 2
            if total < least:
                nearest, least = j, total
        for a in range(points.shape[1]):
            g[nearest, a] += 2.0 * (centres[nearest, a] - points[i, a])
    return g


def jax_loss() -> Callable[..., Any]:
    import jax.numpy as jnp

    def loss(centres, points):
        apart = points[:, None, :] - centres
        return jnp.sum(jnp.min(jnp.sum(apart * apart, axis=2), axis=1))

    return loss


def torch_loss() -> Callable[..., Any]:
    import torch

    def loss(centres, points):
        apart = points[:, None, :] - centres
        return torch.sum(torch.min(torch.sum(apart * apart, 2), 1).values)

    return loss
