"""Fifty steps of Runge-Kutta's fourth order on a line of points that react and diffuse, and the adjoint by hand."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (100, 1_000, 10_000, 100_000)
STEPS, H = 50, 0.01


def arguments(points: int) -> tuple[Any, ...]:
    return (np.random.default_rng(0).normal(size=points),)


def operations(points: int) -> int:
    return STEPS * points


def slope(y):
    d = np.empty_like(y)
    d[0] = y[1] - 2.0 * y[0] - y[0] ** 3
    d[1:-1] = y[2:] - 2.0 * y[1:-1] + y[:-2] - y[1:-1] ** 3
    d[-1] = y[-2] - 2.0 * y[-1] - y[-1] ** 3
    return d


def loss(y):
    for _ in range(STEPS):
        first = slope(y)
        second = slope(y + 0.5 * H * first)
        third = slope(y + 0.5 * H * second)
        fourth = slope(y + H * third)
        y = y + H / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
    return np.sum(y * y)


@numba.njit
def put_stage(y, by, d, out):
    """out = y + by * d."""
    for i in range(len(y)):
        out[i] = y[i] + by * d[i]


@numba.njit
def put_slope(y, d):
    n = len(y)
    d[0] = y[1] - 2.0 * y[0] - y[0] * y[0] * y[0]
    for i in range(1, n - 1):
        d[i] = y[i + 1] - 2.0 * y[i] + y[i - 1] - y[i] * y[i] * y[i]
    d[n - 1] = y[n - 2] - 2.0 * y[n - 1] - y[n - 1] * y[n - 1] * y[n - 1]


@numba.njit
def put_adjoint(y, g, out):
    """The cotangents of y from the cotangents g of its slope."""
    n = len(y)
    out[0] = g[1] - (2.0 + 3.0 * y[0] * y[0]) * g[0]
    for i in range(1, n - 1):
        out[i] = g[i + 1] + g[i - 1] - (2.0 + 3.0 * y[i] * y[i]) * g[i]
    out[n - 1] = g[n - 2] - (2.0 + 3.0 * y[n - 1] * y[n - 1]) * g[n - 1]


@numba.njit
def adjoint(y):
    """The states are stored, the stages recomputed."""
    n = len(y)
    states = np.empty((STEPS + 1, n))
    states[0] = y
    d, total, second, third, fourth = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for t in range(STEPS):
        put_slope(states[t], d)
        put_stage(states[t], H / 6.0, d, total)
        put_stage(states[t], 0.5 * H, d, second)
        put_slope(second, d)
        put_stage(total, H / 3.0, d, total)
        put_stage(states[t], 0.5 * H, d, second)
        put_slope(second, d)
        put_stage(total, H / 3.0, d, total)
        put_stage(states[t], H, d, second)
        put_slope(second, d)
        put_stage(total, H / 6.0, d, states[t + 1])
    g, of_stage, part = 2.0 * states[STEPS], np.empty(n), np.empty(n)
    for t in range(STEPS - 1, -1, -1):
        state = states[t]
        put_slope(state, d)
        put_stage(state, 0.5 * H, d, second)
        put_slope(second, d)
        put_stage(state, 0.5 * H, d, third)
        put_slope(third, d)
        put_stage(state, H, d, fourth)
        for i in range(n):
            part[i] = H / 6.0 * g[i]
        put_adjoint(fourth, part, of_stage)
        total[:] = g + of_stage
        for i in range(n):
            part[i] = H / 3.0 * g[i] + H * of_stage[i]
        put_adjoint(third, part, of_stage)
        for i in range(n):
            total[i] += of_stage[i]
            part[i] = H / 3.0 * g[i] + 0.5 * H * of_stage[i]
        put_adjoint(second, part, of_stage)
        for i in range(n):
            total[i] += of_stage[i]
            part[i] = H / 6.0 * g[i] + 0.5 * H * of_stage[i]
        put_adjoint(state, part, of_stage)
        for i in range(n):
            g[i] = total[i] + of_stage[i]
    return g


jax_loss = None
