"""The logarithm of a sum of exponentials, without overflow."""

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
    high = np.max(x)
    return high + np.log(np.sum(np.exp(x - high)))


@numba.njit
def adjoint(x):
    high = np.max(x)
    g = np.exp(x - high)
    total = np.sum(g)
    for i in range(x.size):
        g[i] /= total
    return g


C = """
#include <math.h>
void gradient(long n, const double *x, double *g) {
    double high = -INFINITY, total = 0;
    for (long i = 0; i < n; i++) high = x[i] > high ? x[i] : high;
    for (long i = 0; i < n; i++) { g[i] = exp(x[i] - high); total += g[i]; }
    for (long i = 0; i < n; i++) g[i] /= total;
}
"""


def jax_loss() -> Callable[..., Any]:
    from jax.scipy.special import logsumexp

    return logsumexp


def torch_loss() -> Callable[..., Any]:
    import torch

    return lambda x: torch.logsumexp(x, 0)
