"""A nonlinear stencil in place: the sum of squares, its adjoint by hand (each write undone), JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (16, 50, 160, 500)
SWEEPS = 10


def arguments(n: int) -> tuple[Any, ...]:
    return 0.5 * np.random.default_rng(0).normal(size=(n, n)), SWEEPS


def operations(n: int) -> int:
    return SWEEPS * (n - 2) ** 2


def loss(x, sweeps):
    a = x.copy()
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 0.25 * (a[i - 1, j] * a[i + 1, j] + a[i, j - 1] * a[i, j + 1]) + 0.5 * a[i, j]
    return np.sum(a * a)


@numba.njit
def adjoint(x, sweeps):
    a = x.copy()
    n, m = a.shape
    before = np.empty((sweeps, n - 2, m - 2))
    for t in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                before[t, i - 1, j - 1] = a[i, j]
                a[i, j] = 0.25 * (a[i - 1, j] * a[i + 1, j] + a[i, j - 1] * a[i, j + 1]) + 0.5 * a[i, j]
    g = 2.0 * a
    for t in range(sweeps - 1, -1, -1):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                a[i, j] = before[t, i - 1, j - 1]
                v = 0.25 * g[i, j]
                g[i, j] = 2.0 * v
                g[i - 1, j] += v * a[i + 1, j]
                g[i + 1, j] += v * a[i - 1, j]
                g[i, j - 1] += v * a[i, j + 1]
                g[i, j + 1] += v * a[i, j - 1]
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, sweeps):
        n, m = x.shape

        def point(k, a):
            i, j = 1 + k // (m - 2), 1 + k % (m - 2)
            new = 0.25 * (a[i - 1, j] * a[i + 1, j] + a[i, j - 1] * a[i, j + 1]) + 0.5 * a[i, j]
            return a.at[i, j].set(new)

        def sweep(_, a):
            return jax.lax.fori_loop(0, (n - 2) * (m - 2), point, a)

        a = jax.lax.fori_loop(0, sweeps, sweep, x)
        return jnp.sum(a * a)

    return loss
