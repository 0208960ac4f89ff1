"""Columns written one after another, each from the one before it: a[:, j] = c sin(a[:, j-1]) + x[:, j]. The sum of
squares, its adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (20, 200, 2_000, 20_000)
ROWS = 50


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=(ROWS, n)), 0.9


def operations(n: int) -> int:
    return n * ROWS


def loss(x, c):
    a = x.copy()
    for j in range(1, a.shape[1]):
        a[:, j] += c * np.sin(a[:, j - 1])
    return np.sum(a * a)


@numba.njit
def adjoint(x, c):
    a = x.copy()
    n, m = a.shape
    for j in range(1, m):
        for i in range(n):
            a[i, j] += c * np.sin(a[i, j - 1])
    g = 2.0 * a
    for j in range(m - 1, 0, -1):
        for i in range(n):
            g[i, j - 1] += c * np.cos(a[i, j - 1]) * g[i, j]
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, c):
        def step(j, a):
            return a.at[:, j].add(c * jnp.sin(a[:, j - 1]))

        a = jax.lax.fori_loop(1, x.shape[1], step, x)
        return jnp.sum(a * a)

    return loss
