"""A determinant by minors: recursion over the columns that are left, its adjoint by hand. JAX has no recursion."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (5, 7, 8, 9)
jax_loss = None


def arguments(n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(0).uniform(size=(n, n)),)


def operations(n: int) -> int:
    """The products."""
    return sum(int(np.prod(np.arange(n, n - m, -1))) for m in range(1, n))


def minor(a, size, after):
    """The determinant of the last `size` rows. Column after[j] follows column j, after[n] is the first one."""
    n = a.shape[0]
    before, column = n, after[n]
    if size == 1:
        return a[n - 1, column]
    total = 0.0
    sign = 1.0
    for _ in range(size):
        after[before] = after[column]
        total += sign * a[n - size, column] * minor(a, size - 1, after)
        after[before] = column
        before, column = column, after[column]
        sign = -sign
    return total


def loss(a):
    n = a.shape[0]
    after = np.arange(1, n + 2) % (n + 1)
    after[n] = 0
    return minor(a, n, after)


@numba.njit
def adjoint(a):
    """Loops, as Numba's calls count references to arrays. One number is stored for each product; the lists of columns
    are made again."""
    n = a.shape[0]
    after = np.arange(1, n + 2)
    after[n] = 0
    count, products = 0, 1
    for size in range(n, 1, -1):
        products *= size
        count += products
    minors, place = np.empty(count), 0
    before, column, trip = np.full(n + 1, n), np.empty(n + 1, np.int64), np.zeros(n + 1, np.int64)
    sign, total = np.ones(n + 1), np.zeros(n + 1)
    size = n
    while True:
        column[size] = after[before[size]]
        after[before[size]] = after[column[size]]
        size -= 1
        if size > 1:
            before[size], trip[size], sign[size], total[size] = n, 0, 1.0, 0.0
            continue
        value = a[n - 1, after[n]]
        while True:
            size += 1
            minors[place] = value
            place += 1
            total[size] += sign[size] * a[n - size, column[size]] * value
            after[before[size]] = column[size]
            before[size] = column[size]
            sign[size] = -sign[size]
            trip[size] += 1
            value = total[size]
            if trip[size] < size or size == n:
                break
        if trip[size] == size:
            break
    g, g_a = np.ones(n + 1), np.zeros_like(a)
    before[n], trip[n], place, size = n, 0, 0, n
    while True:
        column[size] = after[before[size]]
        after[before[size]] = after[column[size]]
        size -= 1
        g[size] = g[size + 1] * a[n - size - 1, column[size + 1]]
        if size > 1:
            before[size], trip[size] = n, 0
            continue
        g_a[n - 1, after[n]] += g[1]
        while True:
            size += 1
            g_a[n - size, column[size]] += g[size] * minors[place]
            place += 1
            after[before[size]] = column[size]
            before[size] = column[size]
            g[size] = -g[size]
            trip[size] += 1
            if trip[size] < size or size == n:
                break
        if trip[size] == size:
            break
    return g_a
