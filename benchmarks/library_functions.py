"""Reads: a million random numbers. Writes: NumPy's processor time of library functions, and mlirad's times for value
and gradient relative to it. Leaves: 0.

The gradient is of the sum of the squares of the value, relative to the value. It measures processor time, which does
not include other work on the machine: the shortest of several calls, taken in turns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import mlirad

SIZE = 1_000_000
ENOUGH = 0.3  # seconds of a contender

FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "sort": lambda x: np.sort(x),
    "argsort": lambda x: np.argsort(x),
    "median": lambda x: np.median(x),
    "quantile": lambda x: np.quantile(x, 0.9),
    "partition": lambda x: np.partition(x, 1000),
    "unique": lambda x: np.unique(x),
    "cumsum": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x),
    "diff": lambda x: np.diff(x),
    "gradient": lambda x: np.gradient(x),
    "trapezoid": lambda x: np.trapezoid(x),
    "mean": lambda x: np.mean(x),
    "std": lambda x: np.std(x),
    "nanmean": lambda x: np.nanmean(x),
    "ptp": lambda x: np.ptp(x),
    "roll": lambda x: np.roll(x, 7),
    "clip": lambda x: np.clip(x, 0.2, 0.8),
    "where": lambda x: np.where(x > 0.5, x, 0.0),
    "searchsorted": lambda x: np.searchsorted(np.linspace(0.0, 1.0, 1000), x),
    "digitize": lambda x: np.digitize(x, np.linspace(0.0, 1.0, 100)),
    "interp": lambda x: np.interp(x, np.linspace(0.0, 1.0, 1000), np.linspace(0.0, 1.0, 1000) ** 2),
    "histogram": lambda x: np.histogram(x, 100, (0.0, 1.0))[0],
    "bincount": lambda x: np.bincount((x * 1000).astype(np.int64), x),
    "convolve": lambda x: np.convolve(x, np.linspace(0.0, 1.0, 16)),
    "isin": lambda x: np.isin(np.floor(x * 1000), np.arange(100.0)),
    "take": lambda x: np.take(x, np.arange(0, SIZE, 3)),
    "pad": lambda x: np.pad(x, 10, mode="reflect"),
    "einsum": lambda x: np.einsum("ij,ij->i", np.reshape(x, (1000, -1)), np.reshape(x, (1000, -1))),
}
DISCRETE = frozenset({"argsort", "searchsorted", "digitize", "histogram", "isin"})
"""Functions without derivatives."""


def seconds(contenders: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """The shortest processor time of a call of each."""
    found = dict.fromkeys(contenders, float("inf"))
    spent = dict.fromkeys(contenders, 0.0)
    for call in contenders.values():
        call()  # which compiles it
    while any(each < ENOUGH for each in spent.values()):
        for name, call in contenders.items():
            start = time.process_time()
            call()
            taken = time.process_time() - start
            found[name], spent[name] = min(found[name], taken), spent[name] + max(taken, 1e-3)
    return found


def main(names: list[str]) -> int:
    x = np.random.default_rng(0).random(SIZE)
    print(f"{'n = 1e6, f64':14}{'NumPy':>10}{'value':>8}{'gradient':>10}   of the value")
    for name, function in FUNCTIONS.items():
        if names and name not in names:
            continue
        compiled = mlirad.jit(function)
        contenders = {"NumPy": lambda function=function: function(x), "value": lambda f=compiled: f(x)}
        if name not in DISCRETE:
            gradient = mlirad.grad(lambda x, function=function: np.sum(function(x) ** 2))
            contenders["gradient"] = lambda f=gradient: f(x)
        times = seconds(contenders)
        ratio = times["value"] / times["NumPy"]
        of_value = f"{times['gradient'] / times['value']:9.2f}x" if "gradient" in times else ""
        print(f"{name:14}{times['NumPy'] * 1e3:8.2f}ms{ratio:7.2f}x{of_value}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
