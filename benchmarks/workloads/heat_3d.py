"""NPBench's heat_3d, ten steps between two n x n x n grids: the sum of squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (25, 100)
STEPS = 11


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=(n, n, n)), STEPS


def loss(x, steps):
    a = x.copy()
    b = x.copy()
    for _ in range(1, steps):
        b[1:-1, 1:-1, 1:-1] = inner(a)
        a[1:-1, 1:-1, 1:-1] = inner(b)
    return np.sum(a * a)


def inner(a):
    return (
        0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
        + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
        + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
        + a[1:-1, 1:-1, 1:-1]
    )


@numba.njit
def adjoint(x, steps):
    n = len(x)
    a, b = x.copy(), x.copy()
    for _ in range(2 * (steps - 1)):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    v = a[i, j, k]
                    b[i, j, k] = (
                        0.125 * (a[i + 1, j, k] - 2.0 * v + a[i - 1, j, k])
                        + 0.125 * (a[i, j + 1, k] - 2.0 * v + a[i, j - 1, k])
                        + 0.125 * (a[i, j, k + 1] - 2.0 * v + a[i, j, k - 1])
                        + v
                    )
        a, b = b, a
    g, h = np.zeros((n + 2, n + 2, n + 2)), np.zeros((n + 2, n + 2, n + 2))  # with a border of zeros
    edges = 2.0 * a
    g[2:n, 2:n, 2:n] = edges[1:-1, 1:-1, 1:-1]
    edges[1:-1, 1:-1, 1:-1] = 0.0
    for _ in range(2 * (steps - 1)):
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                is_edge = i in (1, n) or j in (1, n)
                for k in range(1, n + 1):
                    h[i, j, k] = 0.25 * g[i, j, k] + 0.125 * (
                        (g[i + 1, j, k] + g[i - 1, j, k])
                        + (g[i, j + 1, k] + g[i, j - 1, k])
                        + (g[i, j, k + 1] + g[i, j, k - 1])
                    )
                if is_edge:
                    for k in range(1, n + 1):
                        edges[i - 1, j - 1, k - 1] += h[i, j, k]
                        h[i, j, k] = 0.0
                else:
                    for k in (1, n):
                        edges[i - 1, j - 1, k - 1] += h[i, j, k]
                        h[i, j, k] = 0.0
        g, h = h, g
    return g[1:-1, 1:-1, 1:-1] + edges


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, steps):
        def step(_, both):
            a, b = both
            b = b.at[1:-1, 1:-1, 1:-1].set(inner(a))
            return a.at[1:-1, 1:-1, 1:-1].set(inner(b)), b

        a, _ = jax.lax.fori_loop(1, steps, step, (x, x))
        return jnp.sum(a * a)

    return loss
