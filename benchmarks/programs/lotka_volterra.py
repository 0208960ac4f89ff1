"""Predators and prey by Runge-Kutta's fourth order: a loss along the way, its adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def arguments(steps: int) -> tuple[Any, ...]:
    """Rates, first populations, the time step, the number of steps: 40 units of time, or steps of 0.004."""
    return np.array([0.6, 0.03, 0.025, 0.8]), np.array([30.0, 4.0]), min(0.004, 40.0 / steps), steps


def operations(steps: int) -> int:
    return steps


def loss(rates, first, h, steps):
    a, b, d, c = rates[0], rates[1], rates[2], rates[3]
    u, v = first[0], first[1]
    total = 0.0

    def slope(u, v):
        return a * u - b * u * v, d * u * v - c * v

    for _ in range(steps):
        u1, v1 = slope(u, v)
        u2, v2 = slope(u + 0.5 * h * u1, v + 0.5 * h * v1)
        u3, v3 = slope(u + 0.5 * h * u2, v + 0.5 * h * v2)
        u4, v4 = slope(u + h * u3, v + h * v3)
        u = u + h / 6.0 * (u1 + 2.0 * u2 + 2.0 * u3 + u4)
        v = v + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
        total += h * (u * u + v * v)
    return total


@numba.njit
def slope_of(rates, u, v):
    return rates[0] * u - rates[1] * u * v, rates[2] * u * v - rates[3] * v


@numba.njit
def slope_adjoint(rates, u, v, g_u, g_v, g_rates):
    """Adds to g_rates; returns the cotangents of (u, v)."""
    g_rates[0] += g_u * u
    g_rates[1] -= g_u * u * v
    g_rates[2] += g_v * u * v
    g_rates[3] -= g_v * v
    return g_u * (rates[0] - rates[1] * v) + g_v * rates[2] * v, -g_u * rates[1] * u + g_v * (rates[2] * u - rates[3])


@numba.njit
def adjoint(rates, first, h, steps):
    """The populations are stored, the four slopes recomputed."""
    us, vs = np.empty(steps), np.empty(steps)
    u, v = first[0], first[1]
    for t in range(steps):
        us[t], vs[t] = u, v
        u1, v1 = slope_of(rates, u, v)
        u2, v2 = slope_of(rates, u + 0.5 * h * u1, v + 0.5 * h * v1)
        u3, v3 = slope_of(rates, u + 0.5 * h * u2, v + 0.5 * h * v2)
        u4, v4 = slope_of(rates, u + h * u3, v + h * v3)
        u = u + h / 6.0 * (u1 + 2.0 * u2 + 2.0 * u3 + u4)
        v = v + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
    g_rates = np.zeros(4)
    g_u, g_v = 0.0, 0.0
    for t in range(steps - 1, -1, -1):
        g_u, g_v = g_u + 2.0 * h * u, g_v + 2.0 * h * v
        u, v = us[t], vs[t]
        u1, v1 = slope_of(rates, u, v)
        x2, y2 = u + 0.5 * h * u1, v + 0.5 * h * v1
        u2, v2 = slope_of(rates, x2, y2)
        x3, y3 = u + 0.5 * h * u2, v + 0.5 * h * v2
        u3, v3 = slope_of(rates, x3, y3)
        x4, y4 = u + h * u3, v + h * v3
        part_u, part_v = h / 6.0 * g_u, h / 6.0 * g_v
        x, y = slope_adjoint(rates, x4, y4, part_u, part_v, g_rates)
        g_u, g_v = g_u + x, g_v + y
        x, y = slope_adjoint(rates, x3, y3, 2.0 * part_u + h * x, 2.0 * part_v + h * y, g_rates)
        g_u, g_v = g_u + x, g_v + y
        x, y = slope_adjoint(rates, x2, y2, 2.0 * part_u + 0.5 * h * x, 2.0 * part_v + 0.5 * h * y, g_rates)
        g_u, g_v = g_u + x, g_v + y
        x, y = slope_adjoint(rates, u, v, part_u + 0.5 * h * x, part_v + 0.5 * h * y, g_rates)
        g_u, g_v = g_u + x, g_v + y
    return g_rates


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(rates, first, h, steps):
        def slope(s):
            return jnp.stack((rates[0] * s[0] - rates[1] * s[0] * s[1], rates[2] * s[0] * s[1] - rates[3] * s[1]))

        def step(s, _):
            k1 = slope(s)
            k2 = slope(s + 0.5 * h * k1)
            k3 = slope(s + 0.5 * h * k2)
            k4 = slope(s + h * k3)
            s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            return s, h * jnp.sum(s * s)

        return jnp.sum(jax.lax.scan(step, first, None, length=steps)[1])

    return loss
