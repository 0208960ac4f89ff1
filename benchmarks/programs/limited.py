"""A walk that writes an array in one branch and stops at a limit, and its adjoint by hand. JAX cannot reverse it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 10_000, 100_000, 1_000_000)
jax_loss = None


def arguments(n: int) -> tuple[Any, ...]:
    x = np.random.default_rng(0).normal(size=n)
    return x, 0.9, 0.45 * n


def operations(n: int) -> int:
    return n


def loss(x, c, limit):
    y = np.zeros(x.shape[0])
    state, spent = 0.0, 0.0
    for i in range(x.shape[0]):
        state = c * np.sin(state) + x[i]
        if state > 0.0:
            y[i] = state * state
            spent += 0.5
        if spent > limit:
            break
    return np.sum(y * y)


@numba.njit
def adjoint(x, c, limit):
    n = x.size
    y, states = np.zeros(n), np.empty(n)
    state, spent, trips = 0.0, 0.0, 0
    for i in range(n):
        state = c * np.sin(state) + x[i]
        states[i] = state
        trips += 1
        if state > 0.0:
            y[i] = state * state
            spent += 0.5
        if spent > limit:
            break
    g = np.zeros(n)
    g_state = 0.0
    for i in range(trips - 1, -1, -1):
        if states[i] > 0.0:
            g_state += 2.0 * y[i] * 2.0 * states[i]
        g[i] = g_state
        g_state *= c * np.cos(states[i - 1] if i else 0.0)
    return g
