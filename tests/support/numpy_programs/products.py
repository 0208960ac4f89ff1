"""Products of matrices and vectors, and statistics that are made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from numpy_programs.program import Program


def trmm(alpha, a, b):
    """b := alpha a' b, where a is unit lower triangular; only its lower half is read."""
    n, m = b.shape
    for i in range(n):
        for j in range(m):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    b *= alpha


def symm(alpha, beta, c, a, b):
    """c := alpha a b + beta c, where a is symmetric; only its lower half is read."""
    n, m = c.shape
    half = np.empty(m, dtype=c.dtype)
    c *= beta
    for i in range(n):
        for j in range(m):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            half[j] = b[:i, j] @ a[i, :i]
        c[i, :] += alpha * b[i, :] * a[i, i] + alpha * half


def syrk(alpha, beta, c, a):
    """c := alpha a a' + beta c; only the lower half is computed."""
    n, m = a.shape
    for i in range(n):
        c[i, : i + 1] *= beta
        for k in range(m):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]


def syr2k(alpha, beta, c, a, b):
    """c := alpha (a b' + b a') + beta c; only the lower half is computed."""
    n, m = a.shape
    for i in range(n):
        c[i, : i + 1] *= beta
        for k in range(m):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]


def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    """A matrix and two updates of rank one, then two products with vectors."""
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * (y @ a) + z
    w += alpha * (a @ x)


def atax(a, x):
    return (a @ x) @ a


def bicg(a, p, r):
    return r @ a, a @ p


def mvt(x1, x2, y1, y2, a):
    x1 += a @ y1
    x2 += y2 @ a


def correlation(data):
    """The correlations of the columns, (m, m)."""
    m = data.shape[1]
    mean = np.mean(data, axis=0)
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(data.shape[0]) * deviation
    out = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        out[i, i + 1 :] = data[:, i + 1 :].T @ data[:, i]
        out[i + 1 :, i] = out[i, i + 1 :]
    return out


def covariance(data):
    """The covariances of the columns, (m, m)."""
    n, m = data.shape
    data -= np.mean(data, axis=0)
    out = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        out[i:, i] = data[:, i] @ data[:, i:] / (n - 1.0)
        out[i, i:] = out[i:, i]
    return out


def lower(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return 1.5, random.uniform(size=(n, n)), random.uniform(size=(n, m))


def symmetric(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return 1.5, 1.2, random.uniform(size=(n, m)), random.uniform(size=(n, n)), random.uniform(size=(n, m))


def rank_k(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return 1.5, 1.2, random.uniform(size=(n, n)), random.uniform(size=(n, m))


def rank_2k(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return *rank_k(random, n, m), random.uniform(size=(n, m))


def updated(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return 1.5, 1.2, random.uniform(size=(n, n)), *(random.uniform(size=n) for _ in range(8))


def matrix(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return random.uniform(size=(n, m)), random.uniform(size=m)


def both_sides(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return *matrix(random, n, m), random.uniform(size=n)


def two_products(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return *(random.uniform(size=n) for _ in range(4)), random.uniform(size=(n, n))


def observations(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return (random.uniform(size=(n, m)),)


PROGRAMS = [
    Program(trmm, lower, (6, 5), (65, 80), (200, 250)),
    Program(symm, symmetric, (6, 5), (40, 50), (120, 150)),
    Program(syrk, rank_k, (6, 5), (50, 70), (150, 200)),
    Program(syr2k, rank_2k, (6, 5), (35, 50), (110, 140)),
    Program(gemver, updated, (7,), (1000,), (3000,)),
    Program(atax, matrix, (6, 8), (4000, 5000), (10_000, 12_500)),
    Program(bicg, both_sides, (6, 8), (5000, 6000), (10_000, 12_500)),
    Program(mvt, two_products, (7,), (5500,), (11_000,)),
    Program(correlation, observations, (9, 6), (600, 500), (1800, 1400)),
    Program(covariance, observations, (9, 6), (600, 500), (1800, 1400)),
]
