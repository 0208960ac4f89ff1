"""A nonlinear stencil in place: a square grid moves with its own values, sweep after sweep. The sum of squares, its
adjoint by hand (all states are kept), JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (14, 100, 300, 1_000)
SWEEPS = 10
RATE = 0.1


def arguments(n: int) -> tuple[Any, ...]:
    return 0.2 * np.random.default_rng(0).normal(size=(n, n)), SWEEPS


def operations(n: int) -> int:
    return SWEEPS * (n - 2) ** 2


def loss(x, sweeps):
    a = x.copy()
    for _ in range(sweeps):
        difference = a[:-2, 1:-1] - a[2:, 1:-1] + a[1:-1, :-2] - a[1:-1, 2:]
        a[1:-1, 1:-1] += RATE * a[1:-1, 1:-1] * difference
    return np.sum(a * a)


@numba.njit
def adjoint(x, sweeps):
    n = x.shape[0]
    states = np.empty((sweeps + 1, n, n))
    states[0] = x
    for t in range(sweeps):
        a, b = states[t], states[t + 1]
        b[0], b[n - 1] = a[0], a[n - 1]
        for i in range(1, n - 1):
            b[i, 0], b[i, n - 1] = a[i, 0], a[i, n - 1]
            for j in range(1, n - 1):
                b[i, j] = a[i, j] + RATE * a[i, j] * (a[i - 1, j] - a[i + 1, j] + a[i, j - 1] - a[i, j + 1])
    g = 2.0 * states[sweeps]
    for t in range(sweeps - 1, -1, -1):
        a = states[t]
        new = g.copy()
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                scaled = RATE * g[i, j]
                moved = scaled * a[i, j]
                new[i, j] += scaled * (a[i - 1, j] - a[i + 1, j] + a[i, j - 1] - a[i, j + 1])
                new[i - 1, j] += moved
                new[i + 1, j] -= moved
                new[i, j - 1] += moved
                new[i, j + 1] -= moved
        g = new
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, sweeps):
        def step(_, a):
            difference = a[:-2, 1:-1] - a[2:, 1:-1] + a[1:-1, :-2] - a[1:-1, 2:]
            return a.at[1:-1, 1:-1].add(RATE * a[1:-1, 1:-1] * difference)

        a = jax.lax.fori_loop(0, sweeps, step, x)
        return jnp.sum(a * a)

    return loss
