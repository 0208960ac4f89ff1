"""The cost of derivatives in forward and in reverse mode, for n inputs and m outputs: counted and timed.

python benchmarks/cost_of_modes.py [--sizes 8x8 64x1] [--time]

The operations are those of the optimized program, run op by op: an operation is one number computed from others by an
arithmetic op or a function, so moves are free. The times are of compiled code, medians, interleaved.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

import mlirad
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp
from mlirad.evaluator.watch import Watch
from mlirad.jit.live.op_by_op import Interpreted
from mlirad.stages import OPTIMIZED

SIZES = ("1x1", "64x1", "1x64", "8x8", "64x64")


def f(x, w):
    """n inputs and m outputs; each output depends on all inputs."""
    y = np.zeros(w.shape[0])
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            y[i] += np.sin(w[i, j] * x[j])
    return y


def jvp(x, w, v):
    return mlirad.jvp(lambda each: f(each, w), (x,), (v,))


def vjp(x, w, g):
    value, pullback = mlirad.vjp(lambda each: f(each, w), x)
    return value, pullback(g)[0]


class OperationCount(Watch):
    """Counts the numbers that arithmetic computes."""

    def __init__(self) -> None:
        self.operations = 0

    def ran(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if isinstance(op, UnaryOp | BinaryOp) and np.asarray(results[0]).dtype.kind == "f":
            self.operations += np.size(results[0])


def operations(function: Callable[..., Any], *args: Any) -> int:
    count = OperationCount()
    Interpreted(function, OPTIMIZED, watch=lambda _: count)(*args)
    return count.operations


def calls(n: int, m: int) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    random = np.random.default_rng(0)
    x, w = random.normal(size=n), random.normal(size=(m, n))
    return {
        "f": (f, (x, w)),
        "jvp": (jvp, (x, w, np.ones(n))),
        "vjp": (vjp, (x, w, np.ones(m))),
        "jacfwd": (mlirad.jacfwd(f), (x, w)),
        "jacrev": (mlirad.jacrev(f), (x, w)),
    }


def counted(n: int, m: int) -> list[str]:
    """A row: the operations of f, and how many times as many the derivatives have."""
    counts = {
        name: operations(getattr(each, "__mlirad_function__", each), *args)
        for name, (each, args) in calls(n, m).items()
    }
    return [str(counts["f"]), *(f"{counts[name] / counts['f']:.1f}" for name in counts if name != "f")]


def timed(n: int, m: int, runs: int = 15) -> list[str]:
    """A row: the time of f in microseconds, and how many times as long the derivatives take."""
    compiled = {
        name: (mlirad.jit(each) if callable(each) else each, args) for name, (each, args) in calls(n, m).items()
    }
    times: dict[str, list[float]] = {name: [] for name in compiled}
    for _ in range(runs + 1):
        for name, (kernel, args) in compiled.items():
            start = time.process_time_ns()
            for _ in range(20):
                kernel(*args)
            times[name].append((time.process_time_ns() - start) / 20e3)
    medians = {name: statistics.median(each[1:]) for name, each in times.items()}
    return [f"{medians['f']:.1f}", *(f"{medians[name] / medians['f']:.1f}" for name in medians if name != "f")]


def main() -> None:
    command_line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command_line.add_argument("--sizes", nargs="+", default=SIZES, metavar="NxM")
    command_line.add_argument("--time", action="store_true", help="time compiled code instead of counting")
    arguments = command_line.parse_args()
    unit = "us of f" if arguments.time else "operations of f"
    print(f"| n | m | {unit} | jvp | vjp | jacfwd | jacrev |")
    print("|---|---|---|---|---|---|---|")
    for size in arguments.sizes:
        n, m = map(int, size.split("x"))
        print(f"| {n} | {m} | {' | '.join((timed if arguments.time else counted)(n, m))} |")


if __name__ == "__main__":
    main()
