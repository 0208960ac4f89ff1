"""A history of states, one written as a row in each trip: h[t+1] = h[t] + 0.1 sin(h[t]). The sum of all squares, its
adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (20, 200, 2_000, 20_000)
WIDTH = 50


def arguments(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(0).normal(size=WIDTH), n


def operations(n: int) -> int:
    return n * WIDTH


def loss(x, steps):
    h = np.empty((steps + 1, x.shape[0]))
    h[0] = x
    for t in range(steps):
        h[t + 1] = h[t] + 0.1 * np.sin(h[t])
    return np.sum(h * h)


@numba.njit
def adjoint(x, steps):
    h = np.empty((steps + 1, x.size))
    h[0] = x
    for t in range(steps):
        for i in range(x.size):
            h[t + 1, i] = h[t, i] + 0.1 * np.sin(h[t, i])
    g = 2.0 * h[steps]
    for t in range(steps - 1, -1, -1):
        for i in range(x.size):
            g[i] = 2.0 * h[t, i] + (1.0 + 0.1 * np.cos(h[t, i])) * g[i]
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(x, steps):
        def step(t, h):
            return h.at[t + 1].set(h[t] + 0.1 * jnp.sin(h[t]))

        h = jax.lax.fori_loop(0, steps, step, jnp.zeros((steps + 1, x.shape[0])).at[0].set(x))
        return jnp.sum(h * h)

    return loss
