"""Forward substitution: the sum of squares of the solution, its adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1)
SIZES = (50, 160, 500, 1_600)


def arguments(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return np.tril(rng.normal(size=(n, n)) / n) + 2.0 * np.eye(n), rng.normal(size=n)


def operations(n: int) -> int:
    return n * n // 2


def loss(lower, b):
    x = b.copy()
    for i in range(b.shape[0]):
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] /= lower[i, i]
    return np.sum(x * x)


@numba.njit
def adjoint(lower, b):
    n = b.size
    x = b.copy()
    for i in range(n):
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] /= lower[i, i]
    g = 2.0 * x
    g_lower = np.zeros_like(lower)
    for i in range(n - 1, -1, -1):
        g[i] /= lower[i, i]
        g_lower[i, i] = -g[i] * x[i]
        for j in range(i):
            g_lower[i, j] = -g[i] * x[j]
            g[j] -= g[i] * lower[i, j]
    return g_lower, g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(lower, b):
        def row(x, i):
            return x.at[i].set(
                (b[i] - jnp.dot(jnp.where(jnp.arange(b.size) < i, lower[i], 0.0), x)) / lower[i, i]
            ), None

        x, _ = jax.lax.scan(row, jnp.zeros_like(b), jnp.arange(b.size))
        return jnp.sum(x * x)

    return loss
