"""Reads: nothing. Writes: for whole-array programs and their gradients, the loop nests, the bytes that they move, the
memory of a call and its time. Leaves: 0.

The bytes count every array that a nest reads or writes, once for nests that work on a block of rows together. Further
savings by caches are not subtracted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from statistics import median
from typing import Any

import numpy as np

import mlirad


def chain(x):
    return np.sum(np.tanh(np.exp(np.sin(x)) * x))


def log_sum_exp(x):
    largest = np.max(x)
    return np.log(np.sum(np.exp(x - largest))) + largest


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def of_softmax(x, w):
    return np.sum(softmax(x) * w)


def layer_norm(x, w):
    centred = x - np.mean(x, axis=1, keepdims=True)
    return np.sum(w * centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + 1e-5))


def k_means(points, centres):
    distances = np.sum(points**2, axis=1)[:, None] - 2 * points @ centres.T + np.sum(centres**2, axis=1)
    return np.sum(np.min(distances, axis=1))


def jacobi_2d(a, steps=10):
    for _ in range(steps):
        b = a.copy()
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a = b
    return np.sum(a * a)


@dataclass(frozen=True)
class Counted:
    """The nests of a program, and the bytes that they read and write in all trips of the loops around them."""

    nests: int
    moved: int


IN_CACHE = 1 << 16  # bytes of temporaries that do not count


def count(kernel: Any, arguments: tuple[Any, ...]) -> Counted:
    from mlirad.pipeline import run

    lowered = kernel.lower(*arguments)
    module = next(value for name, value in run(lowered.module.clone(), lowered.target) if name == "bufferized")
    found = [op for op in module.walk() if op.name in ("linalg.generic", "linalg.fill", "linalg.copy", "memref.copy")]
    moved = {}
    for op in found:
        loop, trips = op.parent_op(), 1
        is_block = loop.name == "scf.for" and str(loop.body.block.args[0].type) == "index"
        while loop.name == "scf.for":
            bounds = [each.owner.value.value.data for each in (loop.lb, loop.ub, loop.step)]
            trips *= len(range(*bounds))
            loop = loop.parent_op()
        for operand in op.operands:
            if hasattr(operand.type, "get_shape"):
                # Memory that several nests of a block of rows touch is in the cache.
                place = (op.parent, base_of(operand)) if is_block else (op, operand)
                moved[place] = 0 if bytes_of(base_of(operand)) <= IN_CACHE else trips * bytes_of(operand)
    return Counted(len(found), sum(moved.values()))


def base_of(value: Any) -> Any:
    while getattr(value.owner, "name", "") in ("memref.subview", "memref.expand_shape", "memref.collapse_shape"):
        value = value.owner.operands[0]
    return value


def bytes_of(value: Any) -> int:
    return prod(value.type.get_shape()) * value.type.element_type.size


def programs(n: int) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    rows, w = rng.normal(size=(2, max(n // 100, 1), 100))
    side = max(int(n**0.5), 4)
    yield "chain", chain, (x,)
    yield "log-sum-exp", log_sum_exp, (x,)
    yield "softmax", of_softmax, (rows, w)
    yield "layer norm", layer_norm, (rows, w)
    yield "k-means", k_means, (rng.normal(size=(max(n // 100, 10), 8)), rng.normal(size=(100, 8)))
    yield "jacobi_2d", jacobi_2d, (rng.normal(size=(side, side)),)


def middle(works: list[Callable[[], object]], budget: float) -> list[float]:
    """Processor seconds per call, the contenders in turns."""
    samples: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
        work()
    end = time.process_time() + budget * len(works)
    while len(samples[0]) < 5 or (time.process_time() < end and len(samples[0]) < 200):
        for work, mine in zip(works, samples, strict=True):
            start = time.process_time()
            work()
            mine.append(time.process_time() - start)
    return [median(mine) for mine in samples]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", type=float, default=1.0)
    options = parser.parse_args()
    print(f"{options.n:,} elements")
    print("| program | what | nests | bytes moved, MB | memory, MB | ms |\n|---|---|---:|---:|---:|---:|")
    for name, function, arguments in programs(options.n):
        if options.only not in name:
            continue
        argnums = 0
        kernels = {
            "value": mlirad.jit(function),
            "grad": mlirad.grad(function, argnums=argnums),
            "value_and_grad": mlirad.value_and_grad(function, argnums=argnums),
        }
        times = middle([lambda k=kernel, a=arguments: k(*a) for kernel in kernels.values()], options.budget)
        for (what, kernel), seconds in zip(kernels.items(), times, strict=True):
            counted = count(kernel, arguments)
            kernel(*arguments)
            memory = kernel.last_memory()
            bytes = f"{counted.moved / 1e6:.0f} | {memory / 1e6:.2f}"
            print(f"| {name} | {what} | {counted.nests} | {bytes} | {seconds * 1e3:.2f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
