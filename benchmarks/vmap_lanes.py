"""Reads: nothing. Writes: the time of `mlirad.vmap`, compared with loops over the lanes in Numba. Leaves: 0.

A square root by Newton's iteration for each of 10,000 lanes: with trip counts that hardly differ, and with a few lanes
that take many times as long as the others. Then functions whose lanes read arrays by indices, and loop over elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from harness import print_ratios, shortest

import mlirad

LANES = 10_000


def root(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def filtered(x, c):
    """A recurrence along 16 elements."""
    y = 0.0
    for i in range(x.shape[0]):
        y = c * y + x[i]
    return y


def looked_up(table, places, weights):
    return np.sum(table[places] * weights)


root_in_numba = numba.njit(root)
filtered_in_numba = numba.njit(filtered)


@numba.njit
def roots(a):
    found = np.empty_like(a)
    for i in range(a.shape[0]):
        found[i] = root_in_numba(a[i])
    return found


@numba.njit
def all_filtered(x, c):
    found = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        found[i] = filtered_in_numba(x[i], c[i])
    return found


@numba.njit
def all_looked_up(table, places, weights):
    found = np.empty(places.shape[0])
    for i in range(places.shape[0]):
        total = 0.0
        for k in range(places.shape[1]):
            total += table[places[i, k]] * weights[i, k]
        found[i] = total
    return found


def compare(title: str, ours: Callable[..., Any], theirs: Callable[..., Any], *arguments: Any) -> None:
    difference = float(np.max(np.abs(ours(*arguments) - theirs(*arguments))))
    contenders = {
        "mlirad.vmap": lambda: ours(*arguments),
        "numba, a loop over the lanes": lambda: theirs(*arguments),
    }
    print_ratios(f"{title} (largest difference {difference:.1e})", shortest(contenders))


def main() -> int:
    rng = np.random.default_rng(0)
    even = rng.uniform(1.0, 2.0, LANES)
    skewed = np.where(rng.uniform(size=LANES) < 0.01, 1e30, even)
    compare("roots, even trips", mlirad.vmap(root), roots, even)
    compare("roots, skewed trips", mlirad.vmap(root), roots, skewed)
    x, c = rng.normal(size=(LANES, 16)), rng.uniform(size=LANES)
    compare("recurrences", mlirad.vmap(filtered), all_filtered, x, c)
    table, places = rng.normal(size=1000), rng.integers(0, 1000, size=(LANES, 8))
    weights = rng.normal(size=(LANES, 8))
    compare("tables", mlirad.vmap(looked_up, in_axes=(None, 0, 0)), all_looked_up, table, places, weights)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
