"""A chain of 3 x 3 rotations in a loop, like a robot arm, and the adjoint by hand, in numbers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (1_000, 10_000, 100_000)


def arguments(joints: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return rng.normal(size=joints), np.array([0.3, -0.2, 0.5])


def operations(joints: int) -> int:
    return joints


def loss(angles, arm):
    frame = np.eye(3)
    place = np.zeros(3)
    for k in range(len(angles)):
        c, s = np.cos(angles[k]), np.sin(angles[k])
        turn = np.array([[c, -s, 0.0], [s * 0.6, c * 0.6, -0.8], [s * 0.8, c * 0.8, 0.6]])
        frame = frame @ turn
        place = place + frame @ arm
    return np.sum(place * place)


@numba.njit
def adjoint(angles, arm):
    """The frames are stored."""
    n = len(angles)
    frames = np.zeros((n + 1, 3, 3))
    frames[0, 0, 0] = frames[0, 1, 1] = frames[0, 2, 2] = 1.0
    p0, p1, p2 = 0.0, 0.0, 0.0
    turns = np.empty((n, 2))
    for k in range(n):
        c, s = np.cos(angles[k]), np.sin(angles[k])
        turns[k, 0], turns[k, 1] = c, s
        for i in range(3):
            a, b, d = frames[k, i, 0], frames[k, i, 1], frames[k, i, 2]
            frames[k + 1, i, 0] = a * c + b * 0.6 * s + d * 0.8 * s
            frames[k + 1, i, 1] = -a * s + b * 0.6 * c + d * 0.8 * c
            frames[k + 1, i, 2] = -0.8 * b + 0.6 * d
        f = frames[k + 1]
        p0 += f[0, 0] * arm[0] + f[0, 1] * arm[1] + f[0, 2] * arm[2]
        p1 += f[1, 0] * arm[0] + f[1, 1] * arm[1] + f[1, 2] * arm[2]
        p2 += f[2, 0] * arm[0] + f[2, 1] * arm[1] + f[2, 2] * arm[2]
    g_angles, g, g_place = np.empty(n), np.zeros((3, 3)), (2.0 * p0, 2.0 * p1, 2.0 * p2)
    for k in range(n - 1, -1, -1):
        c, s = turns[k, 0], turns[k, 1]
        g_c, g_s = 0.0, 0.0
        for i in range(3):
            u, v, w = (g[i, 0] + g_place[i] * arm[0], g[i, 1] + g_place[i] * arm[1], g[i, 2] + g_place[i] * arm[2])
            a, b, d = frames[k, i, 0], frames[k, i, 1], frames[k, i, 2]
            mixed = 0.6 * b + 0.8 * d
            g_c += u * a + v * mixed
            g_s += u * mixed - v * a
            g[i, 0] = u * c - v * s
            g[i, 1] = (u * s + v * c) * 0.6 - 0.8 * w
            g[i, 2] = (u * s + v * c) * 0.8 + 0.6 * w
        g_angles[k] = g_s * c - g_c * s
    return g_angles


jax_loss = None
