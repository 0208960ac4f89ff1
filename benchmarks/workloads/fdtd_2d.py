"""NPBench's fdtd_2d, ten steps of electric and magnetic fields on an n x n grid: the sum of squares of one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1, 2, 3)
SIZES = (100, 1_000)
STEPS = 10


def arguments(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return (*(rng.normal(size=(n, n)) for _ in range(3)), rng.normal(size=STEPS), STEPS)


def loss(ex0, ey0, hz0, fict, steps):
    ex, ey, hz = ex0.copy(), ey0.copy(), hz0.copy()
    for t in range(steps):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz * hz)


@numba.njit
def adjoint(ex0, ey0, hz0, fict, steps):
    n = len(ex0)
    ex, ey, hz = ex0.copy(), ey0.copy(), hz0.copy()
    for t in range(steps):
        for j in range(n):
            ey[0, j] = fict[t]
        for i in range(n):
            if i > 0:
                for j in range(n):
                    ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
            for j in range(1, n):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(n - 1):
            for j in range(n - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    gx, gy, gz, gf = np.zeros((n, n)), np.zeros((n, n)), 2.0 * hz, np.zeros(steps)
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            if i < n - 1:
                gx[i, 0] += 0.7 * gz[i, 0]
                for j in range(1, n - 1):
                    gx[i, j] += 0.7 * (gz[i, j] - gz[i, j - 1])
                gx[i, n - 1] -= 0.7 * gz[i, n - 2]
            if i == 0:
                for j in range(n - 1):
                    gy[i, j] += 0.7 * gz[i, j]
            elif i < n - 1:
                for j in range(n - 1):
                    gy[i, j] += 0.7 * (gz[i, j] - gz[i - 1, j])
            else:
                for j in range(n - 1):
                    gy[i, j] -= 0.7 * gz[i - 1, j]
        for i in range(n):
            gz[i, 0] += 0.5 * gx[i, 1]
            for j in range(1, n - 1):
                gz[i, j] -= 0.5 * (gx[i, j] - gx[i, j + 1])
            gz[i, n - 1] -= 0.5 * gx[i, n - 1]
            if i == 0:
                for j in range(n):
                    gz[i, j] += 0.5 * gy[i + 1, j]
            elif i < n - 1:
                for j in range(n):
                    gz[i, j] -= 0.5 * (gy[i, j] - gy[i + 1, j])
            else:
                for j in range(n):
                    gz[i, j] -= 0.5 * gy[i, j]
        for j in range(n):
            gf[t] += gy[0, j]
            gy[0, j] = 0.0
    return gx, gy, gz, gf


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(ex, ey, hz, fict, steps):
        def step(t, fields):
            ex, ey, hz = fields
            ey = ey.at[0, :].set(fict[t])
            ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
            ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
            hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
            return ex, ey, hz

        _, _, hz = jax.lax.fori_loop(0, steps, step, (ex, ey, hz))
        return jnp.sum(hz * hz)

    return loss
