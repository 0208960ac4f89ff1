"""NPBench's hdiff, the horizontal diffusion of a weather model on n x n columns of 64 levels: the sum of squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1)
SIZES = (16, 128)
LEVELS = 64


def arguments(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n + 4, n + 4, LEVELS)), rng.normal(size=(n, n, LEVELS))


def loss(in_field, coeff):
    out_field = diffused(np, in_field, coeff)
    return np.sum(out_field * out_field)


def diffused(xp, in_field, coeff):
    n, m, _ = coeff.shape
    lap_field = 4.0 * in_field[1 : n + 3, 1 : m + 3, :] - (
        in_field[2 : n + 4, 1 : m + 3, :]
        + in_field[0 : n + 2, 1 : m + 3, :]
        + in_field[1 : n + 3, 2 : m + 4, :]
        + in_field[1 : n + 3, 0 : m + 2, :]
    )
    res = lap_field[1:, 1 : m + 1, :] - lap_field[:-1, 1 : m + 1, :]
    flx_field = xp.where((res * (in_field[2 : n + 3, 2 : m + 2, :] - in_field[1 : n + 2, 2 : m + 2, :])) > 0, 0, res)
    res = lap_field[1 : n + 1, 1:, :] - lap_field[1 : n + 1, :-1, :]
    fly_field = xp.where((res * (in_field[2 : n + 2, 2 : m + 3, :] - in_field[2 : n + 2, 1 : m + 2, :])) > 0, 0, res)
    return in_field[2 : n + 2, 2 : m + 2, :] - coeff * (
        flx_field[1:, :, :] - flx_field[:-1, :, :] + fly_field[:, 1:, :] - fly_field[:, :-1, :]
    )


@numba.njit
def adjoint(x, coeff):
    n, m, levels = coeff.shape
    lap = np.empty((n + 2, m + 2, levels))
    for i in range(n + 2):
        for j in range(m + 2):
            for k in range(levels):
                lap[i, j, k] = 4.0 * x[i + 1, j + 1, k] - (
                    x[i + 2, j + 1, k] + x[i, j + 1, k] + x[i + 1, j + 2, k] + x[i + 1, j, k]
                )
    flx, fly = np.empty((n + 1, m, levels)), np.empty((n, m + 1, levels))
    for i in range(n + 1):
        for j in range(m):
            for k in range(levels):
                v = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
                flx[i, j, k] = 0.0 if v * (x[i + 2, j + 2, k] - x[i + 1, j + 2, k]) > 0 else v
    for i in range(n):
        for j in range(m + 1):
            for k in range(levels):
                v = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
                fly[i, j, k] = 0.0 if v * (x[i + 2, j + 2, k] - x[i + 2, j + 1, k]) > 0 else v
    gx, gc = np.zeros(x.shape), np.empty(coeff.shape)
    flow = np.empty(coeff.shape)  # the cotangent of the flows' balance
    for i in range(n):
        for j in range(m):
            for k in range(levels):
                balance = flx[i + 1, j, k] - flx[i, j, k] + fly[i, j + 1, k] - fly[i, j, k]
                g = 2.0 * (x[i + 2, j + 2, k] - coeff[i, j, k] * balance)
                gc[i, j, k] = -balance * g
                flow[i, j, k] = -coeff[i, j, k] * g
                gx[i + 2, j + 2, k] = g
    for i in range(n + 1):  # flx becomes its cotangent; where it is 0, it was chosen to be
        for j in range(m):
            for k in range(levels):
                g = (flow[i - 1, j, k] if i > 0 else 0.0) - (flow[i, j, k] if i < n else 0.0)
                flx[i, j, k] = g if flx[i, j, k] != 0.0 else 0.0
    for i in range(n):
        for j in range(m + 1):
            for k in range(levels):
                g = (flow[i, j - 1, k] if j > 0 else 0.0) - (flow[i, j, k] if j < m else 0.0)
                fly[i, j, k] = g if fly[i, j, k] != 0.0 else 0.0
    lap[:] = 0.0
    for i in range(n + 1):
        for j in range(m):
            for k in range(levels):
                lap[i + 1, j + 1, k] += flx[i, j, k]
                lap[i, j + 1, k] -= flx[i, j, k]
    for i in range(n):
        for j in range(m + 1):
            for k in range(levels):
                lap[i + 1, j + 1, k] += fly[i, j, k]
                lap[i + 1, j, k] -= fly[i, j, k]
    for i in range(n + 2):
        for j in range(m + 2):
            for k in range(levels):
                g = lap[i, j, k]
                gx[i + 1, j + 1, k] += 4.0 * g
                gx[i + 2, j + 1, k] -= g
                gx[i, j + 1, k] -= g
                gx[i + 1, j + 2, k] -= g
                gx[i + 1, j, k] -= g
    return gx, gc


def jax_loss() -> Callable[..., Any]:
    import jax.numpy as jnp

    def loss(in_field, coeff):
        out_field = diffused(jnp, in_field, coeff)
        return jnp.sum(out_field * out_field)

    return loss
