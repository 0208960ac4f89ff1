"""Reads: a fraction of the work (1 without a number). Writes: the resident set while calls, exceptions and compilations
go on. Leaves: 0.

    MLIRAD_CACHE=0 python benchmarks/leaks.py [fraction]

The whole run, 1e6 calls, 1e4 exceptions and 1e4 compilations, takes about ten minutes, mostly for the compilations.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Work, status_bytes

import mlirad

X = np.linspace(0.0, 1.0, 5)
LINES = 5
MIB = 1 << 20


def multiply_add(a, b, c):
    return a * b + c


def element(x, i):
    return x[i]


def gradient_of_another():
    """Compiles a function, calls it and drops it together with its code."""
    mlirad.grad(lambda x: np.sum(np.sin(x) * x))(X)


def call_of(function: Callable[..., Any]) -> Work:
    kernel = mlirad.jit(function)
    return lambda: kernel(X, X, X)


def failure_of(function: Callable[..., Any]) -> Work:
    kernel = mlirad.jit(function)

    def fail():
        try:
            kernel(X, 99)
        except IndexError:
            return
        raise AssertionError("an index out of range was taken")

    return fail


def watch(name: str, work: Work, count: int) -> None:
    """Run it `count` times, after a warm-up of a tenth. For each fifth: the resident set and its growth."""
    print(f"\n{count:,} {name}")
    for _ in range(max(1, count // 10)):
        work()
    gc.collect()
    start = status_bytes("VmRSS")
    print(f"  {0:9,}  {start / MIB:9.2f} MiB")
    for number in range(1, LINES + 1):
        for _ in range(count // LINES):
            work()
        gc.collect()
        now = status_bytes("VmRSS")
        print(f"  {number * (count // LINES):9,}  {now / MIB:9.2f} MiB  {(now - start) / 1024:+9.0f} KiB", flush=True)


def main() -> int:
    fraction = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    watch("calls", call_of(multiply_add), int(1e6 * fraction))
    watch("exceptions", failure_of(element), int(1e4 * fraction))
    watch("compilations of a gradient", gradient_of_another, int(1e4 * fraction))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
