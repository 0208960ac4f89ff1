"""Linear systems: factorisations and substitutions, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from numpy_programs.program import Program


def cholesky(a):
    """The lower factor of a, in a's lower half."""
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] -= a[i, :i] @ a[i, :i]
        a[i, i] = np.sqrt(a[i, i])


def lu(a):
    """Doolittle's factors of a, in a."""
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


def ludcmp(a, b):
    """Doolittle's factors of a, in a; then the solution of a x = b by two substitutions."""
    n = a.shape[0]
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x, y


def gramschmidt(a):
    """Orthonormal columns q, and r, of a = q r; a is used up."""
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n), dtype=a.dtype)
    for k in range(n):
        r[k, k] = np.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def durbin(r):
    """The solution of Yule and Walker's equations for the Toeplitz matrix of r."""
    y = np.zeros_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.flip(r[:k]) @ y[:k]) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def trisolv(lower, x, b):
    """x: the solution of lower x = b, by substitution."""
    for i in range(x.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]


def positive(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    half = random.uniform(size=(n, n))
    return (half @ half.T + n * np.eye(n),)


def system(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return *positive(random, n), random.uniform(size=n)


def columns(random: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return (random.uniform(size=(n, m)) + np.eye(n, m),)


def autocorrelation(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (0.5 ** np.arange(1, n + 1) * random.uniform(0.5, 1.0, size=n),)


def triangle(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return random.uniform(size=(n, n)) / n + np.eye(n), random.uniform(size=n), random.uniform(size=n)


PROGRAMS = [
    Program(cholesky, positive, (7,), (100,), (300,)),
    Program(lu, positive, (7,), (60,), (220,)),
    Program(ludcmp, system, (7,), (60,), (220,)),
    Program(gramschmidt, columns, (7, 5), (70, 60), (220, 180)),
    Program(durbin, autocorrelation, (8,), (1000,), (6000,)),
    Program(trisolv, triangle, (7,), (2000,), (5000,)),
]
