"""Orthogonalisation of columns by Gram and Schmidt: cubes of both factors, the adjoint by hand, JAX's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (12, 26, 56, 120)


def arguments(n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(0).normal(size=(n + n // 4, n)),)


def operations(n: int) -> int:
    return (n + n // 4) * n * n


def loss(matrix):
    a = matrix.copy()
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return np.sum(r * r * r) + np.sum(q * q * q)


@numba.njit
def adjoint(matrix):
    """Columns become rows, which are contiguous. What step k subtracted is added again: only the factors are kept."""
    m, n = matrix.shape
    a = np.ascontiguousarray(matrix.T)
    q, r = np.empty((n, m)), np.zeros((n, n))
    for k in range(n):
        total = 0.0
        for i in range(m):
            total += a[k, i] * a[k, i]
        r[k, k] = np.sqrt(total)
        for i in range(m):
            q[k, i] = a[k, i] / r[k, k]
        for j in range(k + 1, n):
            total = 0.0
            for i in range(m):
                total += q[k, i] * a[j, i]
            r[k, j] = total
            for i in range(m):
                a[j, i] -= q[k, i] * total
    g, g_q = np.zeros((n, m)), np.empty(m)
    for k in range(n - 1, -1, -1):
        for i in range(m):
            g_q[i] = 3.0 * q[k, i] * q[k, i]
        for j in range(n - 1, k, -1):
            g_r = 3.0 * r[k, j] * r[k, j]
            for i in range(m):
                g_r -= q[k, i] * g[j, i]
            for i in range(m):
                a[j, i] += q[k, i] * r[k, j]
                g_q[i] += g_r * a[j, i] - r[k, j] * g[j, i]
                g[j, i] += g_r * q[k, i]
        g_r = 3.0 * r[k, k] * r[k, k]
        for i in range(m):
            g_r -= g_q[i] * q[k, i] / r[k, k]
        for i in range(m):
            g[k, i] += g_q[i] / r[k, k] + g_r * q[k, i]
    return np.ascontiguousarray(g.T)


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(matrix):
        numbers = jnp.arange(matrix.shape[1])

        def step(a, k):
            length = jnp.sqrt(a[:, k] @ a[:, k])
            q = a[:, k] / length
            r = jnp.where(numbers > k, q @ a, 0.0)
            return a - q[:, None] * r[None, :], (q, r.at[k].set(length))

        _, (q, r) = jax.lax.scan(step, matrix, numbers)
        return jnp.sum(r * r * r) + jnp.sum(q * q * q)

    return loss
