"""A nonlinear recurrence written in place, and its gradient: what array-at-a-time differentiation makes quadratic.

python examples/recurrence.py
"""

import sys
import time

import numpy as np

import mlirad


def loss(x, c):
    """The sum of squares of y[i] = c * sin(y[i-1]) + x[i]."""
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


def adjoint_by_hand(x, c):
    """The gradient in x, in plain Python: d loss/d y[i] = 2 y[i] + c cos(y[i]) d loss/d y[i+1]."""
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    g = 2.0 * y
    for i in reversed(range(1, len(x))):
        g[i - 1] += c * np.cos(y[i - 1]) * g[i]
    return g


def main():
    gradient = mlirad.grad(loss)
    rng = np.random.default_rng(0)
    gradient(rng.normal(size=1000), 1.1)
    worst = 0.0
    for n in (10_000, 100_000, 1_000_000):
        x = rng.normal(size=n)
        gradient(x, 1.1)
        start = time.perf_counter()
        found = gradient(x, 1.1)
        seconds = time.perf_counter() - start
        print(f"n = {n:9,d}: gradient in {seconds * 1e3:8.2f} ms, {seconds / n * 1e9:6.1f} ns an element")
        if n <= 100_000:
            worst = max(worst, np.max(np.abs(found - adjoint_by_hand(x, 1.1))))
    print(f"largest difference from the adjoint by hand: {worst:.1e}")
    return 0 if worst < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
