"""The cost of the k-th derivative of a function: `mlirad.jet` compared with nested `mlirad.jvp`.

    python benchmarks/taylor.py [--orders 8] [--nested 5]

For each order: the time to compile, and the time of a call.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad

X = np.linspace(0.2, 0.9, 1000)


def step(y: Any, x: Any, shift: float) -> Any:
    """Five operations."""
    return np.sin(y) * np.exp(-0.1 * y) + x / shift


def straight(x: Any) -> Any:
    """Fifty operations, of 1000 numbers each."""
    y = step(step(step(x, x, 2.0), x, 3.0), x, 4.0)
    y = step(step(step(y, x, 5.0), x, 6.0), x, 7.0)
    return step(step(step(step(y, x, 8.0), x, 9.0), x, 10.0), x, 11.0)


def loop(x: Any) -> Any:
    """A recurrence of 1000 steps, of numbers."""
    y = x[0]
    for i in range(1, x.shape[0]):
        y = step(y, x[i], 2.0)
    return y


def nested(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    derivative = function
    for _ in range(order):
        derivative = _along_ones(derivative)
    return derivative


def _along_ones(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: mlirad.jvp(inner, (x,), (np.ones_like(x),))[1]


def by_jet(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    ones = (np.ones_like(X), *(np.zeros_like(X) for _ in range(order - 1)))
    return lambda x: mlirad.jet(function, (x,), (ones,))[1][-1]


def measured(derivative: Callable[[Any], Any]) -> tuple[float, float, Any]:
    """Seconds of the first call, which compiles, and of another one; and their results."""
    kernel = mlirad.jit(derivative, cache=False)
    start = time.perf_counter()
    found = kernel(X)
    first = time.perf_counter() - start
    repeated = []
    for _ in range(20):
        start = time.perf_counter()
        kernel(X)
        repeated.append(time.perf_counter() - start)
    return first, min(repeated), found


def main() -> None:
    parser = argparse.ArgumentParser(description="What the k-th derivative costs.")
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--nested", type=int, default=5, help="the highest order by nested jvp")
    options = parser.parse_args()
    measured(by_jet(loop, 1))  # the first compilation imports the compiler
    for function in (straight, loop):
        print(function.__doc__)
        print(f"{'order':>5} {'jet compile':>12} {'run':>10} {'nested compile':>15} {'run':>10}")
        for order in range(1, options.orders + 1):
            compiling, running, found = measured(by_jet(function, order))
            line = f"{order:5} {compiling:10.2f} s {running * 1e6:7.0f} us"
            if order <= options.nested:
                compiling, running, other = measured(nested(function, order))
                np.testing.assert_allclose(found, other, rtol=1e-8)
                line += f" {compiling:13.2f} s {running * 1e6:7.0f} us"
            print(line, flush=True)


if __name__ == "__main__":
    main()
