"""Reads: nothing. Writes: times of loops that are raised to arrays, and of their gradients. Leaves: 0.

Contenders: the loop, the array form, and the loop and its adjoint by hand in Numba. All take turns in one process.
Values are compared first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import has, print_ratios, shortest

import mlirad


def chain(x: Any) -> Any:
    y, s = np.empty(x.shape[0]), 0.0
    for i in range(x.shape[0]):
        y[i] = np.sin(x[i]) * x[i]
        s += y[i]
    return s


def chain_of_arrays(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


def softplus(x: Any) -> Any:
    s = 0.0
    for i in range(1, x.shape[0]):
        s += np.log1p(np.exp(-x[i])) * x[i - 1] if x[i] > 0 else np.tanh(x[i - 1])
    return s


def softplus_of_arrays(x: Any) -> Any:
    now, before = x[1:], x[:-1]
    return np.sum(np.where(now > 0, np.log1p(np.exp(-now)) * before, np.tanh(before)))


def rows(x: Any) -> Any:
    a, s = np.reshape(x, (-1, 100)), 0.0
    for i in range(a.shape[0]):
        for j in range(100):
            s += np.exp(-a[i, j] * a[i, j])
    return s


def rows_of_arrays(x: Any) -> Any:
    return np.sum(np.exp(-x * x))


def chain_adjoint(x: Any) -> Any:
    g = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        g[i] = np.cos(x[i]) * x[i] + np.sin(x[i])
    return g


def softplus_adjoint(x: Any) -> Any:
    g = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        if x[i] > 0:
            e = np.exp(-x[i])
            g[i - 1] += np.log1p(e)
            g[i] -= x[i - 1] * e / (1.0 + e)
        else:
            t = np.tanh(x[i - 1])
            g[i - 1] += 1.0 - t * t
    return g


def rows_adjoint(x: Any) -> Any:
    g = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        g[i] = -2.0 * x[i] * np.exp(-x[i] * x[i])
    return g


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "chain": (chain, chain_of_arrays, chain_adjoint),
    "softplus": (softplus, softplus_of_arrays, softplus_adjoint),
    "rows": (rows, rows_of_arrays, rows_adjoint),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 1_000_000])
    parser.add_argument("--budget", type=float, default=10.0, help="seconds for each table")
    args = parser.parse_args()
    for name, (loop, arrays, adjoint) in PROGRAMS.items():
        values: dict[str, Callable[..., Any]] = {"loop": mlirad.jit(loop), "array form": mlirad.jit(arrays)}
        gradients: dict[str, Callable[..., Any]] = {"loop": mlirad.grad(loop), "array form": mlirad.grad(arrays)}
        if has("numba"):
            import numba

            values["loop, Numba"] = numba.njit(loop)
            gradients["adjoint by hand, Numba"] = numba.njit(adjoint)
        for size in args.sizes:
            x = np.random.default_rng(0).normal(size=size)
            for kind, contenders in (("value", values), ("gradient", gradients)):
                results = [np.asarray(contender(x)) for contender in contenders.values()]
                for result in results[1:]:
                    np.testing.assert_allclose(result, results[0], rtol=1e-9, atol=1e-12)
                work = {each: partial(contender, x) for each, contender in contenders.items()}
                print_ratios(f"{name}, {kind}, {size:,} numbers", shortest(work, budget=args.budget))


if __name__ == "__main__":
    main()
