"""Loops as users write them, each beside its array form, and what becomes of them.

Reads: nothing. Gives: `LOOPS`. Run as a script, writes the table of docs/verification/user-loops.md: which loops are
raised to ops on whole arrays, their times as multiples of the array form's, and the bytes that their gradients store.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from mlirad.analysis.decision_report import Kind

Arguments = Callable[[int], tuple[Any, ...]]


@dataclass(frozen=True)
class UserLoop:
    """arguments: for about n elements; the gradient is taken of the first one."""

    loop: Callable[..., Any]
    arrays: Callable[..., Any]
    arguments: Arguments

    @property
    def name(self) -> str:
        return self.loop.__name__


LOOPS: list[UserLoop] = []


def beside(arrays: Callable[..., Any], arguments: Arguments) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a loop to the corpus."""

    def add(loop: Callable[..., Any]) -> Callable[..., Any]:
        LOOPS.append(UserLoop(loop, arrays, arguments))
        return loop

    return add


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def vectors(count: int) -> Arguments:
    return lambda n: tuple(numbers(n, seed=seed) for seed in range(count))


def matrix(n: int) -> tuple[Any, ...]:
    return (numbers(max(n // 100, 1), min(n, 100)),)


# --- arithmetic, element by element ---------------------------------------------------------------------------------


@beside(lambda x, y: 2.5 * x + y, vectors(2))
def saxpy(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = 2.5 * x[i] + y[i]
    return out


@beside(lambda x, y: np.sum(x * y), vectors(2))
def dot(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s


@beside(lambda x: ((0.5 * x - 1.0) * x + 2.0) * x + 3.0, vectors(1))
def horner(x):
    out = np.empty(x.size)
    for i in range(x.size):
        t = 0.5
        t = t * x[i] - 1.0
        t = t * x[i] + 2.0
        out[i] = t * x[i] + 3.0
    return out


def polynomial_arguments(n):
    return numbers(n), np.linspace(-1.0, 1.0, 8)


def polynomial_of_arrays(x, c):
    t = np.zeros(x.shape[0])
    for k in range(c.shape[0]):
        t = t * x + c[k]
    return t


@beside(polynomial_of_arrays, polynomial_arguments)
def polynomial(x, c):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        t = 0.0
        for k in range(c.shape[0]):
            t = t * x[i] + c[k]
        out[i] = t
    return out


@beside(lambda x, y: x * y / (1.0 + x * x), vectors(2))
def quotient(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * y[i] / (1.0 + x[i] * x[i])
    return y


@beside(lambda x: np.where(x > 0.0, x, 0.1 * x), vectors(1))
def leaky(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] > 0.0:
            out[i] = x[i]
        else:
            out[i] = 0.1 * x[i]
    return out


@beside(lambda x: np.minimum(np.maximum(x, -1.0), 1.0), vectors(1))
def clipped(x):
    out = x.copy()
    for i in range(out.shape[0]):
        if out[i] > 1.0:
            out[i] = 1.0
        elif out[i] < -1.0:
            out[i] = -1.0
    return out


# --- functions, element by element ----------------------------------------------------------------------------------


@beside(lambda x: np.sum(np.sin(x) * x), vectors(1))
def chain(x):
    y, s = np.empty(x.shape[0]), 0.0
    for i in range(x.shape[0]):
        y[i] = np.sin(x[i]) * x[i]
        s += y[i]
    return s


def counted(n):
    return numbers(n), n


@beside(lambda x, n: np.sum(np.exp(np.sin(x[:n]))), counted)
def first_n(x, n):
    s = 0.0
    for i in range(n):
        s += np.exp(np.sin(x[i]))
    return s


@beside(lambda x, y: np.tanh(x) * np.exp(-y), vectors(2))
def in_place(x, y):
    for i in range(len(y)):
        y[i] = np.tanh(x[i]) * np.exp(-y[i])
    return y


@beside(lambda x, y: np.sum(np.where(x > 0.0, np.log1p(np.exp(-x)) * y, np.tanh(y))), vectors(2))
def softplus(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.log1p(np.exp(-x[i])) * y[i] if x[i] > 0 else np.tanh(y[i])
    return s


def payoff_of_arrays(z, s0):
    s = s0 * np.exp(-0.02 + 0.2 * z)
    return np.sum(np.maximum(s - 100.0, 0.0)) / z.shape[0]


@beside(payoff_of_arrays, lambda n: (numbers(n), 100.0))
def payoff(z, s0):
    total = 0.0
    for k in range(z.shape[0]):
        s = s0 * np.exp(-0.02 + 0.2 * z[k])
        total += max(s - 100.0, 0.0)
    return total / z.shape[0]


def paths_of_arrays(z):
    s = np.ones(z.shape[0])
    for t in range(z.shape[1]):
        s = s * np.exp(-0.005 + 0.1 * z[:, t])
    return np.sum(np.maximum(s - 1.0, 0.0))


@beside(paths_of_arrays, lambda n: (numbers(max(n // 10, 1), 10),))
def paths(z):
    total = 0.0
    for k in range(z.shape[0]):
        s = 1.0
        for t in range(z.shape[1]):
            s = s * np.exp(-0.005 + 0.1 * z[k, t])
        total += max(s - 1.0, 0.0)
    return total


# --- neighbours -----------------------------------------------------------------------------------------------------


def laplace_of_arrays(x):
    out = np.zeros(x.shape[0])
    out[1:-1] = x[:-2] - 2.0 * x[1:-1] + x[2:]
    return out


@beside(laplace_of_arrays, vectors(1))
def laplace(x):
    out = np.zeros(x.shape[0])
    for i in range(1, x.shape[0] - 1):
        out[i] = x[i - 1] - 2.0 * x[i] + x[i + 1]
    return out


def jacobi_of_arrays(a):
    b = np.zeros(a.shape)
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return b


@beside(jacobi_of_arrays, matrix)
def jacobi(a):
    b = np.zeros(a.shape)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return b


@beside(lambda x, y: np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) * 0.5, vectors(2))
def trapezoids(x, y):
    area = 0.0
    for i in range(1, len(x)):
        area += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1])
    return area


@beside(lambda x: np.sum(np.sqrt(1.0 + (x[1:] - x[:-1]) ** 2)), vectors(1))
def arc_length(x):
    total = 0.0
    for i in range(x.shape[0] - 1):
        d = x[i + 1] - x[i]
        total += np.sqrt(1.0 + d * d)
    return total


def convolution_arguments(n):
    return numbers(n), numbers(7, seed=1)


def convolution_of_arrays(x, w):
    m = x.shape[0] - w.shape[0] + 1
    out = np.zeros(m)
    for k in range(w.shape[0]):
        out = out + w[k] * x[k : k + m]
    return out


@beside(convolution_of_arrays, convolution_arguments)
def convolution(x, w):
    m = x.shape[0] - w.shape[0] + 1
    out = np.zeros(m)
    for i in range(m):
        for k in range(w.shape[0]):
            out[i] += w[k] * x[i + k]
    return out


def convolution_2d_of_arrays(a, w):
    m, n = a.shape[0] - 2, a.shape[1] - 2
    out = np.zeros((m, n))
    for k in range(3):
        for l in range(3):
            out = out + w[k, l] * a[k : k + m, l : l + n]
    return out


@beside(convolution_2d_of_arrays, lambda n: (*matrix(max(n, 300)), numbers(3, 3, seed=1)))
def convolution_2d(a, w):
    out = np.zeros((a.shape[0] - 2, a.shape[1] - 2))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for k in range(3):
                for l in range(3):
                    s += w[k, l] * a[i + k, j + l]
            out[i, j] = s
    return out


# --- rows -----------------------------------------------------------------------------------------------------------


def log_sum_exp_of_arrays(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


@beside(log_sum_exp_of_arrays, vectors(1))
def log_sum_exp(x):
    top = x[0]
    for i in range(len(x)):
        if x[i] > top:
            top = x[i]
    s = 0.0
    for i in range(len(x)):
        s += np.exp(x[i] - top)
    return top + np.log(s)


def softmax_of_arrays(a):
    e = np.exp(a - np.max(a, axis=1)[:, None])
    return e / np.sum(e, axis=1)[:, None]


@beside(softmax_of_arrays, matrix)
def softmax(a):
    out = np.zeros(a.shape)
    for i in range(a.shape[0]):
        top = a[i, 0]
        for j in range(a.shape[1]):
            top = max(top, a[i, j])
        s = 0.0
        for j in range(a.shape[1]):
            out[i, j] = np.exp(a[i, j] - top)
            s += out[i, j]
        for j in range(a.shape[1]):
            out[i, j] /= s
    return out


def normalised_of_arrays(a):
    centred = a - np.mean(a, axis=1)[:, None]
    return centred / np.sqrt(np.mean(centred * centred, axis=1) + 1e-5)[:, None]


@beside(normalised_of_arrays, matrix)
def normalised(a):
    n, m = a.shape
    out = np.zeros((n, m))
    for i in range(n):
        mean = 0.0
        for j in range(m):
            mean += a[i, j]
        mean /= m
        variance = 0.0
        for j in range(m):
            variance += (a[i, j] - mean) ** 2
        scale = 1.0 / np.sqrt(variance / m + 1e-5)
        for j in range(m):
            out[i, j] = (a[i, j] - mean) * scale
    return out


@beside(lambda a: np.sum(np.exp(-a * a)), matrix)
def sum_of_rows(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += np.exp(-a[i, j] * a[i, j])
    return s


@beside(lambda a, x: a @ x, lambda n: (*matrix(n), numbers(min(n, 100), seed=1)))
def matrix_vector(a, x):
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        out[i] = s
    return out


@beside(lambda x, y: np.outer(x, y), lambda n: (numbers(max(n // 100, 1)), numbers(min(n, 100), seed=1)))
def outer(x, y):
    out = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = x[i] * y[j]
    return out


# --- tables, places and masks ---------------------------------------------------------------------------------------


def table_arguments(n):
    return numbers(64), np.random.default_rng(1).integers(0, 64, n)


@beside(lambda t, k: np.sum(np.exp(t[k])), table_arguments)
def lookup(t, k):
    s = 0.0
    for i in range(k.shape[0]):
        s += np.exp(t[k[i]])
    return s


def interpolation_arguments(n):
    return np.random.default_rng(1).uniform(0.0, 62.9, n), numbers(64)


def interpolation_of_arrays(x, t):
    k = np.minimum(x.astype(np.int64), t.shape[0] - 2)
    return np.sum(t[k] + (x - k) * (t[k + 1] - t[k]))


@beside(interpolation_of_arrays, interpolation_arguments)
def interpolation(x, t):
    s = 0.0
    for i in range(x.shape[0]):
        k = min(int(x[i]), t.shape[0] - 2)
        s += t[k] + (x[i] - k) * (t[k + 1] - t[k])
    return s


def masked_arguments(n):
    return numbers(n), np.random.default_rng(1).uniform(size=n) < 0.5


@beside(lambda x, m: np.where(m, np.sqrt(1.0 + x * x), x), masked_arguments)
def masked(x, m):
    for i in range(x.shape[0]):
        if m[i]:
            x[i] = np.sqrt(1.0 + x[i] * x[i])
    return x


@beside(lambda x: x[::-1] * np.cos(x), vectors(1))
def backwards(x):
    n = x.shape[0]
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[n - 1 - i] * np.cos(x[i])
    return out


@beside(lambda x: np.sum(np.exp(x[-1::-1]) * x), vectors(1))
def negative_indices(x):
    s = 0.0
    for i in range(len(x)):
        s += np.exp(x[-1 - i]) * x[i]
    return s


# --- several quantities ---------------------------------------------------------------------------------------------


def points(n):
    side = max(int(np.sqrt(n)), 1)
    return numbers(side, 3), numbers(side, 3, seed=1)


@beside(lambda a, b: np.sqrt(np.sum((a[:, None] - b[None]) ** 2, axis=2) + 1e-9), points)
def distances(a, b):
    out = np.zeros((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            d = 0.0
            for k in range(3):
                d += (a[i, k] - b[j, k]) ** 2
            out[i, j] = np.sqrt(d + 1e-9)
    return out


@beside(
    lambda a, c: np.sum(np.min(np.sum((a[:, None] - c[None]) ** 2, axis=2), axis=1)),
    lambda n: (numbers(max(n // 24, 1), 3), numbers(8, 3, seed=1)),
)
def nearest(a, c):
    total = 0.0
    for i in range(a.shape[0]):
        least = np.inf
        for k in range(c.shape[0]):
            d = 0.0
            for j in range(3):
                d += (a[i, j] - c[k, j]) ** 2
            if d < least:
                least = d
        total += least
    return total


def gates_arguments(n):
    size = max(n // 4, 1)
    return numbers(4 * size), numbers(size, seed=1)


def gates_of_arrays(z, c):
    n = c.shape[0]
    i, f, o = (1.0 / (1.0 + np.exp(-z[k * n : (k + 1) * n])) for k in range(3))
    new = f * c + i * np.tanh(z[3 * n : 4 * n])
    return o * np.tanh(new)


@beside(gates_of_arrays, gates_arguments)
def gates(z, c):
    n = c.shape[0]
    h = np.zeros(n)
    for k in range(n):
        i = 1.0 / (1.0 + np.exp(-z[k]))
        f = 1.0 / (1.0 + np.exp(-z[n + k]))
        o = 1.0 / (1.0 + np.exp(-z[2 * n + k]))
        new = f * c[k] + i * np.tanh(z[3 * n + k])
        h[k] = o * np.tanh(new)
    return h


@beside(lambda x, y: np.sum(np.exp(x) * y) / np.sum(np.exp(x)), vectors(2))
def weighted(x, y):
    s, t = 0.0, 0.0
    for i in range(x.shape[0]):
        e = np.exp(x[i])
        s += e
        t += e * y[i]
    return t / s


# --- what becomes of them -------------------------------------------------------------------------------------------


def total(results: Any) -> Any:
    """A number that depends on all results."""
    return np.sum(results)


def _seconds(contenders: Mapping[str, Callable[[], Any]], budget: float) -> dict[str, float]:
    """The least processor time of a call; contenders take turns."""
    best = dict.fromkeys(contenders, np.inf)
    for work in contenders.values():
        work()
    end, rounds = time.process_time() + budget, 0
    while rounds < 5 or (time.process_time() < end and rounds < 40):
        for name, work in contenders.items():
            start = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - start)
        rounds += 1
    return best


def row(each: UserLoop, size: int, budget: float) -> str:
    """A line of the table."""
    arguments = each.arguments(size)

    def copies() -> tuple[Any, ...]:
        return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in arguments)

    def gradient(f: Callable[..., Any]) -> Any:
        return mlirad.grad(lambda *args: total(f(*args)))

    values: dict[str, Any] = {"loop": mlirad.jit(each.loop), "arrays": mlirad.jit(each.arrays)}
    gradients: dict[str, Any] = {"loop": gradient(each.loop), "arrays": gradient(each.arrays)}
    ratios, memory = [], []
    for contenders in (values, gradients):
        results = {name: f(*copies()) for name, f in contenders.items()}
        np.testing.assert_allclose(results["loop"], results["arrays"], rtol=1e-9, atol=1e-9, err_msg=each.name)
        taken = _seconds({name: (lambda f=f: f(*arguments)) for name, f in contenders.items()}, budget)
        ratios.append((taken["loop"] * 1e3, taken["loop"] / taken["arrays"]))
        memory.append(contenders["loop"].last_memory())
    said: dict[str, None] = {}
    for lowered in (gradients["loop"].lower(*arguments), values["loop"].lower(*arguments)):
        report = lowered.report()
        kept = [fact.reason for fact in report.of(Kind.KEPT)]
        raised = len(report.of(Kind.RAISED))
        said["; ".join([*(["raised"] if raised == 1 else [f"{raised} raised"] if raised else []), *kept])] = None
    return " | ".join(
        (
            f"| `{each.name}`",
            "<br>".join(said),
            *(f"{milliseconds:.3f} | {ratio:.2f}" for milliseconds, ratio in ratios),
            f"{memory[1]:,} |",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="loops; all of them without")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--budget", type=float, default=0.3, help="seconds of processor time for each comparison")
    parser.add_argument("--page", type=Path, help="write the table into this file, below its own text")
    args = parser.parse_args()
    lines = [
        "| loop | what becomes of it | value, ms | to arrays | gradient, ms | to arrays | bytes of the gradient |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in LOOPS:
        if not args.names or each.name in args.names:
            lines.append(row(each, args.size, args.budget))
            print(lines[-1], file=sys.stderr, flush=True)
    if args.page is not None:
        text = args.page.read_text()
        args.page.write_text(text[: text.index("| loop |")] + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
