"""Reads: nothing. Writes: times of chains of functions, and of softmax and its relatives, beside C. Leaves: 0.

Each program is written in array form and as loops over numbers, each with and without `fastmath`. C is compiled by
gcc with -O3 -march=native -ffast-math, which calls the vector functions of libmvec: it may round in any order, as
mlirad may with `fastmath` only. Values and gradients are compared first. Figures are medians of processor time as
multiples of C's, contenders in turns on one core. The gradient in C also gives the value.

    python benchmarks/beside_c.py [names] [--sizes 10000 1000000] [--budget 2]
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from harness import Work, c_library, medians
from peers import alone

import mlirad

CLASSES = 10
SOURCE = """
#include <math.h>
static double highest(long n, const double *x) {
    double high = -INFINITY;
    for (long i = 0; i < n; i++) high = x[i] > high ? x[i] : high;
    return high;
}

double chain(long n, const double *x) {
    double total = 0;
    for (long i = 0; i < n; i++) total += exp(-x[i] * x[i]) * sin(3 * x[i]) + tanh(x[i]);
    return total;
}
double chain_gradient(long n, const double *x, double *g) {
    double s[512], c[512], total = 0;  /* sin and cos in loops of their own: together they have no vectors */
    for (long start = 0; start < n; start += 512) {
        const double *v = x + start;
        long m = n - start < 512 ? n - start : 512;
        for (long i = 0; i < m; i++) s[i] = sin(3 * v[i]);
        for (long i = 0; i < m; i++) c[i] = cos(3 * v[i]);
        for (long i = 0; i < m; i++) {
            double e = exp(-v[i] * v[i]), t = tanh(v[i]);
            total += e * s[i] + t;
            g[start + i] = e * (3 * c[i] - 2 * v[i] * s[i]) + 1 - t * t;
        }
    }
    return total;
}

double log_sum_exp(long n, const double *x) {
    double high = highest(n, x), total = 0;
    for (long i = 0; i < n; i++) total += exp(x[i] - high);
    return high + log(total);
}
double log_sum_exp_gradient(long n, const double *x, double *g) {
    double high = highest(n, x), total = 0;
    for (long i = 0; i < n; i++) { g[i] = exp(x[i] - high); total += g[i]; }
    for (long i = 0; i < n; i++) g[i] /= total;
    return high + log(total);
}

double softmax(long n, const double *x, const double *w) {
    double high = highest(n, x), total = 0, dot = 0;
    for (long i = 0; i < n; i++) { double e = exp(x[i] - high); total += e; dot += w[i] * e; }
    return dot / total;
}
double softmax_gradient(long n, const double *x, const double *w, double *g) {
    double high = highest(n, x), total = 0, dot = 0;
    for (long i = 0; i < n; i++) { double e = exp(x[i] - high); g[i] = e; total += e; dot += w[i] * e; }
    dot /= total;
    for (long i = 0; i < n; i++) g[i] = g[i] / total * (w[i] - dot);
    return dot;
}

double cross_entropy(long n, const double *x, const long *labels) {
    double loss = 0;
    for (long row = 0; row < n / 10; row++) {
        const double *v = x + 10 * row;
        double high = highest(10, v), total = 0;
        for (long i = 0; i < 10; i++) total += exp(v[i] - high);
        loss += high + log(total) - v[labels[row]];
    }
    return loss;
}
double cross_entropy_gradient(long n, const double *x, const long *labels, double *g) {
    double loss = 0;
    for (long row = 0; row < n / 10; row++) {
        const double *v = x + 10 * row;
        double *h = g + 10 * row, high = highest(10, v), total = 0;
        for (long i = 0; i < 10; i++) { h[i] = exp(v[i] - high); total += h[i]; }
        for (long i = 0; i < 10; i++) h[i] /= total;
        h[labels[row]] -= 1;
        loss += high + log(total) - v[labels[row]];
    }
    return loss;
}
"""


def chain(x):
    return np.sum(np.exp(-x * x) * np.sin(3 * x) + np.tanh(x))


def chain_loop(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.exp(-x[i] * x[i]) * np.sin(3 * x[i]) + np.tanh(x[i])
    return s


def log_sum_exp(x):
    high = np.max(x)
    return high + np.log(np.sum(np.exp(x - high)))


def log_sum_exp_loop(x):
    high = x[0]
    for i in range(1, x.shape[0]):
        high = max(high, x[i])
    s = 0.0
    for i in range(x.shape[0]):
        s += np.exp(x[i] - high)
    return high + np.log(s)


def softmax(x, w):
    e = np.exp(x - np.max(x))
    return np.sum(w * (e / np.sum(e)))


def softmax_loop(x, w):
    high = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > high:
            high = x[i]
    s, dot = 0.0, 0.0
    for i in range(x.shape[0]):
        e = np.exp(x[i] - high)
        s += e
        dot += w[i] * e
    return dot / s


def cross_entropy(x, labels):
    rows = np.reshape(x, (-1, CLASSES))
    shifted = rows - rows.max(axis=1, keepdims=True)
    logs = np.log(np.sum(np.exp(shifted), axis=1))
    return np.sum(logs - shifted[np.arange(len(labels)), labels])


def cross_entropy_loop(x, labels):
    rows, loss = np.reshape(x, (-1, CLASSES)), 0.0
    for i in range(rows.shape[0]):
        high = rows[i, 0]
        for j in range(1, CLASSES):
            high = max(high, rows[i, j])
        s = 0.0
        for j in range(CLASSES):
            s += np.exp(rows[i, j] - high)
        loss += high + np.log(s) - rows[i, labels[i]]
    return loss


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "chain": (chain, chain_loop),
    "log_sum_exp": (log_sum_exp, log_sum_exp_loop),
    "softmax": (softmax, softmax_loop),
    "cross_entropy": (cross_entropy, cross_entropy_loop),
}
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "value": mlirad.jit,
    "gradient": mlirad.grad,
    "both": mlirad.value_and_grad,
}
COLUMNS = ("array form", "loops", "array form, fastmath", "loops, fastmath")


def arguments(name: str, n: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    x = random.normal(size=n)
    further = {"softmax": random.normal(size=n), "cross_entropy": random.integers(0, CLASSES, n // CLASSES)}
    return (x, further[name]) if name in further else (x,)


def by_c(library: ctypes.CDLL, name: str, kind: str, given: tuple[np.ndarray, ...]) -> Work:
    function = getattr(library, name if kind == "value" else f"{name}_gradient")
    function.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * (len(given) + (kind != "value"))]
    function.restype = ctypes.c_double
    addresses = [each.ctypes.data for each in given]

    def gradient() -> Any:
        g = np.empty_like(given[0])
        value = function(g.size, *addresses, g.ctypes.data)
        return g if kind == "gradient" else (value, g)

    return partial(function, given[0].size, *addresses) if kind == "value" else gradient


@dataclass(frozen=True)
class Row:
    name: str
    size: int
    kind: str
    times: dict[str, float]

    def __str__(self) -> str:
        own = self.times["C"]
        ratios = " | ".join(f"{self.times[column] / own:.2f}" for column in COLUMNS)
        return f"| {self.name}, {self.kind} | {self.size:,} | {own * 1e6:,.0f} | {ratios} |"


def rows(library: ctypes.CDLL, name: str, size: int, budget: float) -> Iterator[Row]:
    given = arguments(name, size)
    for kind, transform in TRANSFORMS.items():
        works: dict[str, Work] = {"C": by_c(library, name, kind, given)}
        variants = [(program, is_fast) for is_fast in (False, True) for program in PROGRAMS[name]]
        for column, (program, is_fast) in zip(COLUMNS, variants, strict=True):
            works[column] = partial(transform(program, fastmath=is_fast), *given)
        require_equal(name, {each: work() for each, work in works.items()})
        yield Row(name, size, kind, medians(works, budget))


def require_equal(name: str, results: dict[str, Any]) -> None:
    expected = results["C"] if isinstance(results["C"], tuple) else (results["C"],)
    for column, result in results.items():
        for one, other in zip(result if isinstance(result, tuple) else (result,), expected, strict=True):
            scale = np.max(np.abs(other))
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * scale, err_msg=f"{name}: {column}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=tuple(PROGRAMS))
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of measurements for each row")
    options = parser.parse_args()
    alone()
    library = c_library(SOURCE)
    if library is None:
        print("there is no gcc")
        return 1
    print(f"| program | numbers | C, us | {' | '.join(COLUMNS)} |")
    print("|---" + "|---:" * (2 + len(COLUMNS)) + "|")
    for name in options.names:
        for size in options.sizes:
            for row in rows(library, name, size, options.budget):
                print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
