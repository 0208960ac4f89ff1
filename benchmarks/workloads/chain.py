"""A chain of elementwise functions: the sum of exp(-x^2) sin(3x) + tanh(x)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (10_000, 1_000_000)


def arguments(n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(0).normal(size=n),)


def loss(x):
    return np.sum(np.exp(-x * x) * np.sin(3 * x) + np.tanh(x))


@numba.njit
def adjoint(x):
    g = np.empty_like(x)
    for i in range(x.size):
        e, t = np.exp(-x[i] * x[i]), np.tanh(x[i])
        g[i] = e * (3 * np.cos(3 * x[i]) - 2 * x[i] * np.sin(3 * x[i])) + 1 - t * t
    return g


C = """
#include <math.h>
void gradient(long n, const double *x, double *g) {
    double s[512], c[512];  /* sin and cos in loops of their own: together they are one function without vectors */
    for (long start = 0; start < n; start += 512) {
        const double *v = x + start;
        long m = n - start < 512 ? n - start : 512;
        for (long i = 0; i < m; i++) s[i] = sin(3 * v[i]);
        for (long i = 0; i < m; i++) c[i] = cos(3 * v[i]);
        for (long i = 0; i < m; i++) {
            double e = exp(-v[i] * v[i]), t = tanh(v[i]);
            g[start + i] = e * (3 * c[i] - 2 * v[i] * s[i]) + 1 - t * t;
        }
    }
}
"""


def jax_loss() -> Callable[..., Any]:
    import jax.numpy as jnp

    return lambda x: jnp.sum(jnp.exp(-x * x) * jnp.sin(3 * x) + jnp.tanh(x))


def torch_loss() -> Callable[..., Any]:
    import torch

    return lambda x: torch.sum(torch.exp(-x * x) * torch.sin(3 * x) + torch.tanh(x))
