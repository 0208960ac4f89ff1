"""A recurrence in place, y[i] = c*sin(y[i-1]) + x[i]: the sum of squares, its adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=n), 1.1


def operations(n: int) -> int:
    return n


def loss(x, c):
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


@numba.njit
def adjoint(x, c):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.size):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    g = 2.0 * y
    for i in range(x.size - 1, 0, -1):
        g[i - 1] += c * np.cos(y[i - 1]) * g[i]
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, c):
        def step(i, y):
            return y.at[i].set(c * jnp.sin(y[i - 1]) + x[i])

        y = jax.lax.fori_loop(1, x.shape[0], step, jnp.zeros_like(x).at[0].set(x[0]))
        return jnp.sum(y * y)

    return loss
