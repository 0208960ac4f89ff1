"""Reads: nothing. Writes: times of gradients of loops in place and of `while` loops. Leaves: 0.

Peers: the function itself (ours, and compiled by Numba), and its adjoint written by hand in Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from harness import print_ratios, shortest

import mlirad


def seidel(x, sweeps):
    a = x.copy()
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + a[i, j - 1] + a[i, j] + a[i, j + 1] + below) / 9.0
    return np.sum(a * a)


@numba.njit
def seidel_adjoint(x, sweeps):
    a = x.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + a[i, j - 1] + a[i, j] + a[i, j + 1] + below) / 9.0
    g = 2.0 * a
    for _ in range(sweeps):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                v = g[i, j] / 9.0
                g[i, j] = 0.0
                for k in range(-1, 2):
                    g[i + k, j - 1] += v
                    g[i + k, j] += v
                    g[i + k, j + 1] += v
    return g


def products(x, sweeps):
    a = x.copy()
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 0.25 * (a[i - 1, j] * a[i + 1, j] + a[i, j - 1] * a[i, j + 1]) + 0.5 * a[i, j]
    return np.sum(a * a)


def damped_newton(a, tolerance):
    x = a
    while abs(x * x - a) > tolerance:
        x = x - 0.001 * (x * x - a) / (2.0 * x)
    return x


@numba.njit
def damped_newton_adjoint(a, tolerance):
    tape = np.empty(64)
    trips, x = 0, a
    while abs(x * x - a) > tolerance:
        if trips == tape.size:
            larger = np.empty(2 * trips)
            larger[:trips] = tape
            tape = larger
        tape[trips] = x
        trips += 1
        x = x - 0.001 * (x * x - a) / (2.0 * x)
    g, g_a = 1.0, 0.0
    for k in range(trips - 1, -1, -1):
        x = tape[k]
        g_quotient = -0.001 * g
        g_a -= g_quotient / (2.0 * x)
        g += g_quotient * (1.0 - (x * x - a) / (2.0 * x * x))
    return g + g_a


def newton_each(values):
    total = 0.0
    for i in range(values.shape[0]):
        x = values[i]
        while abs(x * x - values[i]) > 1e-10:
            x = 0.5 * (x + values[i] / x)
        total += x
    return total


def compare(title: str, function: Callable[..., Any], arguments: tuple[Any, ...], adjoint: Any = None) -> None:
    gradient, primal, peer = mlirad.grad(function), mlirad.jit(function), numba.njit(function)
    contenders = {
        "Numba, the function": partial(peer, *arguments),
        "mlirad, the function": partial(primal, *arguments),
        "mlirad, its gradient": partial(gradient, *arguments),
    }
    if adjoint is not None:
        contenders["Numba, adjoint by hand"] = partial(adjoint, *arguments)
        difference = np.max(np.abs(gradient(*arguments) - adjoint(*arguments)))
        title += f" (largest difference {difference:.1e})"
    print_ratios("\n" + title, shortest(contenders))


def main() -> int:
    rng = np.random.default_rng(0)
    for n, sweeps in ((32, 10), (100, 10), (316, 10)):
        x = rng.normal(size=(n, n))
        compare(f"9-point stencil in place, {n} x {n}, {sweeps} sweeps", seidel, (x, sweeps), seidel_adjoint)
        compare(f"nonlinear stencil in place, {n} x {n}, {sweeps} sweeps", products, (0.5 * x, sweeps))
    compare("damped Newton by while, about 14,000 trips", damped_newton, (2.0, 1e-6), damped_newton_adjoint)
    compare("Newton by while for each of 10,000 numbers", newton_each, (rng.uniform(1, 5, 10_000),))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
