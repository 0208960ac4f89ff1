"""Cholesky's factorisation in place: the sum of squares of the factor, its adjoint by hand. JAX's version in scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (20, 43, 93, 200)


def arguments(n: int) -> tuple[Any, ...]:
    factor = np.random.default_rng(0).normal(size=(n, n))
    return (factor @ factor.T / n + np.eye(n),)


def operations(n: int) -> int:
    return n**3 // 6


def loss(matrix):
    a = matrix.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            total += a[i, j] * a[i, j] * (1.0 + i + j)
    return total


@numba.njit
def adjoint(matrix):
    """Every entry is written for the last time before it is read: the reverse sweep needs only the factor."""
    a = matrix.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    g = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            g[i, j] = 2.0 * a[i, j] * (1.0 + i + j)
    for i in range(n - 1, -1, -1):
        g[i, i] *= 0.5 / a[i, i]
        for k in range(i - 1, -1, -1):
            g[i, k] -= 2.0 * g[i, i] * a[i, k]
        for j in range(i - 1, -1, -1):
            g[i, j] /= a[j, j]
            g[j, j] -= g[i, j] * a[i, j]
            for k in range(j - 1, -1, -1):
                g[i, k] -= g[i, j] * a[j, k]
                g[j, k] -= g[i, j] * a[i, k]
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(matrix):
        n = matrix.shape[0]
        columns = jnp.arange(n)

        def row(a, i):
            def entry(a, j):
                known = jnp.where(columns < j, a[i] * a[j], 0.0)
                value = jnp.where(j < i, (a[i, j] - jnp.sum(known)) / a[j, j], a[i, j])
                return a.at[i, j].set(value), None

            a, _ = jax.lax.scan(entry, a, columns)
            left = a[i, i] - jnp.sum(jnp.where(columns < i, a[i] * a[i], 0.0))
            return a.at[i, i].set(jnp.sqrt(left)), None

        a, _ = jax.lax.scan(row, matrix, columns)
        weights = 1.0 + columns[:, None] + columns[None, :]
        return jnp.sum(jnp.tril(a) ** 2 * weights)

    return loss
