"""Ten Jacobi sweeps over an n x n grid, each written into a second grid: the sum of squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (100, 1_000)
SWEEPS = 10


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=(n, n)), SWEEPS


def loss(x, sweeps):
    a = x.copy()
    b = a.copy()
    for _ in range(sweeps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a, b = b, a
    return np.sum(a * a)


@numba.njit
def adjoint(x, sweeps):
    a, b = x.copy(), x.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        a, b = b, a
    g, h = np.zeros((n + 2, m + 2)), np.zeros((n + 2, m + 2))  # with a border of zeros
    edges = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            if i in (0, n - 1) or j in (0, m - 1):
                edges[i, j] = 2.0 * a[i, j]
            else:
                g[i + 1, j + 1] = 2.0 * a[i, j]
    for _ in range(sweeps):
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                v = 0.2 * (g[i, j] + g[i, j - 1] + g[i, j + 1] + g[i + 1, j] + g[i - 1, j])
                if i in (1, n) or j in (1, m):
                    edges[i - 1, j - 1] += v
                    h[i, j] = 0.0
                else:
                    h[i, j] = v
        g, h = h, g
    return g[1:-1, 1:-1] + edges


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, sweeps):
        def sweep(_, a):
            inner = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
            return a.at[1:-1, 1:-1].set(inner)

        a = jax.lax.fori_loop(0, sweeps, sweep, x)
        return jnp.sum(a * a)

    return loss


def torch_loss() -> Callable[..., Any]:
    import torch

    def loss(x, sweeps):
        a = x
        for _ in range(sweeps):
            inner = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
            a = a.clone()
            a[1:-1, 1:-1] = inner
        return torch.sum(a * a)

    return loss
