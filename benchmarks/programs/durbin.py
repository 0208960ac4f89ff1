"""Durbin's recursion for Toeplitz equations: a sum of squares of the solution, its adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (50, 160, 500, 1_600)


def arguments(n: int) -> tuple[Any, ...]:
    """A decaying correlation: the Toeplitz matrix is positive definite."""
    return (0.5 * 0.9 ** np.arange(1, n + 1) * np.cos(np.arange(1, n + 1)),)


def operations(n: int) -> int:
    return n * n


def loss(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * y)


@numba.njit
def adjoint(r):
    """Keeps the solution, its last entry and beta of each step."""
    n = r.size
    y, earlier = np.empty(n), np.empty((n, n))
    alphas, betas = np.empty(n), np.empty(n)
    y[0] = alphas[0] = -r[0]
    betas[0] = 1.0
    for k in range(1, n):
        betas[k] = betas[k - 1] * (1.0 - alphas[k - 1] * alphas[k - 1])
        total = r[k]
        for i in range(k):
            total += r[k - 1 - i] * y[i]
        alphas[k] = -total / betas[k]
        for i in range(k):
            earlier[k, i] = y[i]
        for i in range(k):
            y[i] += alphas[k] * earlier[k, k - 1 - i]
        y[k] = alphas[k]
    g = 2.0 * y
    g_r, before = np.zeros(n), np.empty(n)
    g_beta = 0.0
    g_alpha = 0.0
    for k in range(n - 1, 0, -1):
        g_alpha += g[k]
        for i in range(k):
            before[i] = g[i]
            g_alpha += g[i] * earlier[k, k - 1 - i]
        g_total = -g_alpha / betas[k]
        g_beta += g_total * alphas[k]
        g_r[k] += g_total
        for i in range(k):
            g[i] += alphas[k] * before[k - 1 - i] + g_total * r[k - 1 - i]
            g_r[k - 1 - i] += g_total * earlier[k, i]
        g_alpha = -2.0 * alphas[k - 1] * betas[k - 1] * g_beta
        g_beta *= 1.0 - alphas[k - 1] * alphas[k - 1]
    g_r[0] -= g[0] + g_alpha
    return g_r


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(r):
        numbers = jnp.arange(r.size)

        def step(state, k):
            y, alpha, beta = state
            beta = beta * (1.0 - alpha * alpha)
            back = (k - 1 - numbers) % r.size
            alpha = -(r[k] + jnp.sum(jnp.where(numbers < k, r[back] * y, 0.0))) / beta
            y = y + jnp.where(numbers < k, alpha * y[back], 0.0)
            return (y.at[k].set(alpha), alpha, beta), None

        first = jnp.zeros_like(r).at[0].set(-r[0]), -r[0], 1.0
        (y, _, _), _ = jax.lax.scan(step, first, numbers[1:])
        return jnp.sum(y * y)

    return loss
