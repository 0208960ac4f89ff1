"""NPBench's adi, the alternating direction implicit method on n x n points: the sum of squares, its adjoint by hand."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (20, 100, 200)


def arguments(n: int) -> tuple[Any, ...]:
    """The number of steps, the points."""
    return np.fromfunction(lambda i, j: (i + n - j) / n, (n, n)), steps_of(n)


def steps_of(n: int) -> int:
    return n // 10


def operations(n: int) -> int:
    return 2 * steps_of(n) * n * n


def loss(u, steps):
    n = u.shape[0]
    u = u.copy()
    v, p, q = np.empty(u.shape), np.empty(u.shape), np.empty(u.shape)
    by_row = 2.0 / steps * n * n
    by_column = 1.0 / steps * n * n
    a, b, c = -by_row / 2.0, 1.0 + by_column, -by_row / 2.0
    d, e, f = -by_column / 2.0, 1.0 + by_column, -by_column / 2.0
    for _ in range(steps):
        v[0, 1 : n - 1] = 1.0
        p[1 : n - 1, 0] = 0.0
        q[1 : n - 1, 0] = v[0, 1 : n - 1]
        for j in range(1, n - 1):
            p[1 : n - 1, j] = -c / (a * p[1 : n - 1, j - 1] + b)
            q[1 : n - 1, j] = (
                -d * u[j, 0 : n - 2] + (1.0 + 2.0 * d) * u[j, 1 : n - 1] - f * u[j, 2:n] - a * q[1 : n - 1, j - 1]
            ) / (a * p[1 : n - 1, j - 1] + b)
        v[n - 1, 1 : n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1 : n - 1] = p[1 : n - 1, j] * v[j + 1, 1 : n - 1] + q[1 : n - 1, j]

        u[1 : n - 1, 0] = 1.0
        p[1 : n - 1, 0] = 0.0
        q[1 : n - 1, 0] = u[1 : n - 1, 0]
        for j in range(1, n - 1):
            p[1 : n - 1, j] = -f / (d * p[1 : n - 1, j - 1] + e)
            q[1 : n - 1, j] = (
                -a * v[0 : n - 2, j] + (1.0 + 2.0 * a) * v[1 : n - 1, j] - c * v[2:n, j] - d * q[1 : n - 1, j - 1]
            ) / (d * p[1 : n - 1, j - 1] + e)
        u[1 : n - 1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1 : n - 1, j] = p[1 : n - 1, j] * u[1 : n - 1, j + 1] + q[1 : n - 1, j]
    return np.sum(u * u)


@numba.njit
def put_factors(n, side, middle, p, divisors):
    """What elimination computes from the matrix alone."""
    p[0] = 0.0
    for j in range(1, n - 1):
        divisors[j] = side * p[j - 1] + middle
        p[j] = -side / divisors[j]


@numba.njit
def put_transposed(x, out):
    n = len(x)
    for i0 in range(0, n, 8):
        for j in range(n):
            for i in range(i0, min(i0 + 8, n)):
                out[j, i] = x[i, j]


@numba.njit
def solve(x, across, side, p, divisors, q, out):
    """The implicit half of a step along the first axis, from the explicit half along the second."""
    n = len(x)
    out[0, 1 : n - 1] = 1.0
    q[0, 1 : n - 1] = 1.0
    for j in range(1, n - 1):
        for i in range(1, n - 1):
            explicit = -across * x[j, i - 1] + (1.0 + 2.0 * across) * x[j, i] - across * x[j, i + 1]
            q[j, i] = (explicit - side * q[j - 1, i]) / divisors[j]
    out[n - 1, 1 : n - 1] = 1.0
    for j in range(n - 2, 0, -1):
        for i in range(1, n - 1):
            out[j, i] = p[j] * out[j + 1, i] + q[j, i]


@numba.njit
def solve_adjoint(g, across, side, p, divisors, out):
    """The cotangents of x from those of the inner points, g, which is overwritten."""
    n = len(g)
    for j in range(1, n - 2):
        for i in range(1, n - 1):
            g[j + 1, i] += p[j] * g[j, i]
    for j in range(n - 2, 0, -1):
        g[j, 0] = g[j, n - 1] = 0.0
        for i in range(1, n - 1):
            g[j, i] = g[j, i] / divisors[j]
        if j > 1:
            for i in range(1, n - 1):
                g[j - 1, i] -= side * g[j, i]
        out[j, 0], out[j, n - 1] = -across * g[j, 1], -across * g[j, n - 2]
        for i in range(1, n - 1):
            out[j, i] = (1.0 + 2.0 * across) * g[j, i] - across * (g[j, i - 1] + g[j, i + 1])


@numba.njit
def adjoint(u, steps):
    """The program is linear in u: nothing is stored. Arrays are transposed between the directions."""
    n = len(u)
    by_row, by_column = 2.0 / steps * n * n, 1.0 / steps * n * n
    a, d, middle = -by_row / 2.0, -by_column / 2.0, 1.0 + by_column
    p, divisors, other_p, other_divisors = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    put_factors(n, a, middle, p, divisors)
    put_factors(n, d, middle, other_p, other_divisors)
    u = u.copy()
    v, q, w, x = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    for _ in range(steps):
        solve(u, d, a, p, divisors, q, v)
        put_transposed(v, w)
        solve(w, a, d, other_p, other_divisors, q, x)
        for i0 in range(1, n - 1, 8):
            for j in range(n):
                for i in range(i0, min(i0 + 8, n - 1)):
                    u[i, j] = x[j, i]
    g = 2.0 * u
    of_u = g.copy()
    for _ in range(steps):
        put_transposed(of_u, w)
        solve_adjoint(w, a, d, other_p, other_divisors, x)
        put_transposed(x, v)
        solve_adjoint(v, d, a, p, divisors, of_u)
    g[1 : n - 1] = of_u[1 : n - 1]
    return g


jax_loss = None
