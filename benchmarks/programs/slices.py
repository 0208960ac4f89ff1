"""A slice overwritten from its neighbours, sweep after sweep: a[1:-1] += 0.1 a[:-2] a[2:]. The sum of squares, its
adjoint by hand (the inner numbers are kept), JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (100, 1_000, 10_000, 100_000)
SWEEPS = 20


def arguments(n: int) -> tuple[Any, ...]:
    return 0.5 * np.random.default_rng(0).normal(size=n), SWEEPS


def operations(n: int) -> int:
    return SWEEPS * (n - 2)


def loss(x, sweeps):
    a = x.copy()
    for _ in range(sweeps):
        a[1:-1] += 0.1 * a[:-2] * a[2:]
    return np.sum(a * a)


@numba.njit
def adjoint(x, sweeps):
    n = x.size
    states = np.empty((sweeps + 1, n))
    states[0] = x
    for t in range(sweeps):
        states[t + 1, 0], states[t + 1, n - 1] = states[t, 0], states[t, n - 1]
        for i in range(1, n - 1):
            states[t + 1, i] = states[t, i] + 0.1 * states[t, i - 1] * states[t, i + 1]
    g = 2.0 * states[sweeps]
    for t in range(sweeps - 1, -1, -1):
        a = states[t]
        new = g.copy()
        for i in range(1, n - 1):
            new[i - 1] += 0.1 * a[i + 1] * g[i]
            new[i + 1] += 0.1 * a[i - 1] * g[i]
        g = new
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, sweeps):
        def step(_, a):
            return a.at[1:-1].add(0.1 * a[:-2] * a[2:])

        a = jax.lax.fori_loop(0, sweeps, step, x)
        return jnp.sum(a * a)

    return loss
