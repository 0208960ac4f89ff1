"""Elements chosen by a mask, which depends on the data, are overwritten in each step: y[y > 1] = sin(y[y > 1]). The sum
of squares, its adjoint by hand, JAX's version (a `where`, its way to write this)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (100, 1_000, 10_000, 100_000)
STEPS = 20


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=n), STEPS


def operations(n: int) -> int:
    return STEPS * n


def loss(x, steps):
    y = x.copy()
    for _ in range(steps):
        y += 0.3 * x
        high = y > 1.0
        y[high] = np.sin(y[high])
    return np.sum(y * y)


@numba.njit
def adjoint(x, steps):
    n = x.size
    before = np.empty((steps, n))
    y = x.copy()
    for t in range(steps):
        for i in range(n):
            v = y[i] + 0.3 * x[i]
            before[t, i] = v
            y[i] = np.sin(v) if v > 1.0 else v
    g = 2.0 * y
    gx = np.zeros(n)
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            if before[t, i] > 1.0:
                g[i] *= np.cos(before[t, i])
            gx[i] += 0.3 * g[i]
    return gx + g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, steps):
        def step(_, y):
            y = y + 0.3 * x
            return jnp.where(y > 1.0, jnp.sin(y), y)

        y = jax.lax.fori_loop(0, steps, step, x)
        return jnp.sum(y * y)

    return loss
