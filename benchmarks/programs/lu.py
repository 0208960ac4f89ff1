"""LU factorisation in place, without pivots: a sum of squares of the factors, its adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (16, 34, 74, 160)


def arguments(n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(0).normal(size=(n, n)) / n + 2.0 * np.eye(n),)


def operations(n: int) -> int:
    return n**3 // 3


def loss(matrix):
    a = matrix.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(a * a)


@numba.njit
def adjoint(matrix):
    """Every entry is written for the last time before it is read: the reverse sweep needs only the factors."""
    a = matrix.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(j):
                total += a[i, k] * a[k, j]
            a[i, j] = (a[i, j] - total) / a[j, j]
        for j in range(i, n):
            total = 0.0
            for k in range(i):
                total += a[i, k] * a[k, j]
            a[i, j] -= total
    g = 2.0 * a
    for i in range(n - 1, -1, -1):
        for k in range(i):
            total = 0.0
            for j in range(i, n):
                total += g[i, j] * a[k, j]
                g[k, j] -= g[i, j] * a[i, k]
            g[i, k] -= total
        for j in range(i - 1, -1, -1):
            g[i, j] /= a[j, j]
            g[j, j] -= g[i, j] * a[i, j]
            for k in range(j):
                g[i, k] -= g[i, j] * a[k, j]
                g[k, j] -= g[i, j] * a[i, k]
    return g


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(matrix):
        n = matrix.shape[0]
        numbers = jnp.arange(n)

        def row(a, i):
            def entry(a, j):
                known = jnp.where(numbers < jnp.minimum(i, j), a[i] * a[:, j], 0.0)
                left = a[i, j] - jnp.sum(known)
                return a.at[i, j].set(jnp.where(j < i, left / a[j, j], left)), None

            return jax.lax.scan(entry, a, numbers)[0], None

        a, _ = jax.lax.scan(row, matrix, numbers)
        return jnp.sum(a * a)

    return loss
