"""The log-likelihood of a mixture of 8 diagonal Gaussians at n points, in 10 dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1, 2)
SIZES = (1_000, 20_000)
PARTS = 8


def arguments(n: int, dimensions: int = 10) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    means, scales = random.normal(size=(PARTS, dimensions)), 0.1 * random.normal(size=(PARTS, dimensions))
    return random.normal(size=PARTS), means, scales, random.normal(size=(n, dimensions))


def loss(weights, means, scales, points):
    apart = (points[:, None, :] - means) * np.exp(scales)
    parts = weights + scales.sum(axis=1) - 0.5 * np.sum(apart * apart, axis=2)
    high = parts.max(axis=1)
    return np.sum(high + np.log(np.sum(np.exp(parts - high[:, None]), axis=1)))


@numba.njit
def adjoint(weights, means, scales, points):
    n, (k, d) = points.shape[0], means.shape
    widths, sums = np.exp(scales), weights + scales.sum(axis=1)
    g_weights, g_means, g_scales = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    parts = np.empty(k)
    for i in range(n):
        for j in range(k):
            total = 0.0
            for a in range(d):
                v = (points[i, a] - means[j, a]) * widths[j, a]
                total += v * v
            parts[j] = sums[j] - 0.5 * total
        high = parts.max()
        total = 0.0
        for j in range(k):
            parts[j] = np.exp(parts[j] - high)
            total += parts[j]
        for j in range(k):
            share = parts[j] / total
            g_weights[j] += share
            for a in range(d):
                v = (points[i, a] - means[j, a]) * widths[j, a]
                g_means[j, a] += share * v * widths[j, a]
                g_scales[j, a] += share * (1.0 - v * v)
    return g_weights, g_means, g_scales


def jax_loss() -> Callable[..., Any]:
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    def loss(weights, means, scales, points):
        apart = (points[:, None, :] - means) * jnp.exp(scales)
        return jnp.sum(logsumexp(weights + scales.sum(axis=1) - 0.5 * jnp.sum(apart * apart, axis=2), axis=1))

    return loss


def torch_loss() -> Callable[..., Any]:
    import torch

    def loss(weights, means, scales, points):
        apart = (points[:, None, :] - means) * torch.exp(scales)
        parts = weights + scales.sum(1) - 0.5 * torch.sum(apart * apart, 2)
        return torch.sum(torch.logsumexp(parts, 1))

    return loss
