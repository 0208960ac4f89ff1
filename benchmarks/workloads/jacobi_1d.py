"""NPBench's jacobi_1d, a hundred steps between two arrays: the sum of squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 32_000)
STEPS = 100


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=n), STEPS


def loss(x, steps):
    a = x.copy()
    b = x.copy()
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return np.sum(a * a)


@numba.njit
def adjoint(x, steps):
    n = len(x)
    a, b = x.copy(), x.copy()
    for _ in range(1, steps):
        for i in range(1, n - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, n - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])
    g, h = 2.0 * a, np.zeros(n)
    for _ in range(2 * (steps - 1)):  # h becomes what g was read for, except at the ends; h's inner elements are 0
        h[0] += 0.33333 * g[1]
        h[1] = 0.33333 * (g[1] + g[2])
        for i in range(2, n - 2):
            h[i] = 0.33333 * (g[i - 1] + g[i] + g[i + 1])
        h[n - 2] = 0.33333 * (g[n - 3] + g[n - 2])
        h[n - 1] += 0.33333 * g[n - 2]
        g, h = h, g
    h[1 : n - 1] = 0.0
    return g + h


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, steps):
        def step(_, both):
            a, b = both
            b = b.at[1:-1].set(0.33333 * (a[:-2] + a[1:-1] + a[2:]))
            return a.at[1:-1].set(0.33333 * (b[:-2] + b[1:-1] + b[2:])), b

        a, _ = jax.lax.fori_loop(1, steps, step, (x, x))
        return jnp.sum(a * a)

    return loss
