"""A 9-point stencil in place (Gauss-Seidel), ten sweeps: the sum of squares, its adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (16, 50, 160, 500)
SWEEPS = 10


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=(n, n)), SWEEPS


def operations(n: int) -> int:
    return SWEEPS * (n - 2) ** 2


def loss(x, sweeps):
    a = x.copy()
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + a[i, j - 1] + a[i, j] + a[i, j + 1] + below) / 9.0
    return np.sum(a * a)


@numba.njit
def adjoint(x, sweeps):
    a = x.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + a[i, j - 1] + a[i, j] + a[i, j + 1] + below) / 9.0
    g = 2.0 * a
    for _ in range(sweeps):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                v = g[i, j] / 9.0
                g[i, j] = 0.0
                for k in range(-1, 2):
                    g[i + k, j - 1] += v
                    g[i + k, j] += v
                    g[i + k, j + 1] += v
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, sweeps):
        n, m = x.shape

        def point(k, a):
            i, j = 1 + k // (m - 2), 1 + k % (m - 2)
            window = jax.lax.dynamic_slice(a, (i - 1, j - 1), (3, 3))
            return a.at[i, j].set(jnp.sum(window) / 9.0)

        def sweep(_, a):
            return jax.lax.fori_loop(0, (n - 2) * (m - 2), point, a)

        a = jax.lax.fori_loop(0, sweeps, sweep, x)
        return jnp.sum(a * a)

    return loss
