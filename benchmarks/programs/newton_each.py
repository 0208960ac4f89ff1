"""Newton's square root by `while` in each element: the sum, and its adjoint by hand. JAX cannot reverse a `while`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 10_000, 100_000, 1_000_000)
jax_loss = None


def arguments(n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(0).uniform(1.0, 5.0, n),)


def operations(n: int) -> int:
    return 5 * n


def loss(a):
    total = 0.0
    for i in range(a.shape[0]):
        x = a[i]
        while abs(x * x - a[i]) > 1e-10:
            x = 0.5 * (x + a[i] / x)
        total += x
    return total


@numba.njit
def adjoint(a):
    """The trips of all elements, one after another, on one growing tape; the reverse sweep starts at its end."""
    tape = np.empty(64)
    trips = np.empty(a.size, np.int64)
    used = 0
    total = 0.0
    for i in range(a.size):
        x, start = a[i], used
        while abs(x * x - a[i]) > 1e-10:
            if used == tape.size:
                larger = np.empty(2 * used)
                larger[:used] = tape
                tape = larger
            tape[used] = x
            used += 1
            x = 0.5 * (x + a[i] / x)
        trips[i] = used - start
        total += x
    g = np.empty_like(a)
    for i in range(a.size - 1, -1, -1):
        g_x, g_a = 1.0, 0.0
        for _ in range(trips[i]):
            used -= 1
            x = tape[used]
            g_a += 0.5 * g_x / x
            g_x = 0.5 * g_x * (1.0 - a[i] / (x * x))
        g[i] = g_a + g_x
    return g
