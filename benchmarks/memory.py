"""The memory and time of memory-saving gradients: checkpointed functions, parts of a batch, budgets. Prints tables.

    python benchmarks/memory.py

The memory of a call is the figure of `last_memory()`: exact, and the same in every run. Times are the shortest of
three.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mlirad

RNG = np.random.default_rng(0)
LAYERS, WIDTH, BATCH, TRIPS = 24, 64, 256, 4000


def layer(h: Any, w: Any, v: Any) -> Any:
    return np.tanh(np.sin(np.tanh(h @ w)) @ v) + h


def network(helper: Callable[..., Any]) -> Callable[..., Any]:
    def loss(weights, x, y):
        h = x
        for i in range(len(weights)):
            h = helper(h, weights[i, 0], weights[i, 1])
        return np.mean((h - y) ** 2)

    return loss


def until(x, n):
    """A `while` with a state of 128 numbers."""
    k = 0.0
    while k < n:
        x = np.sin(x * 1.1) + 0.3
        k += 1.0
    return np.sum(x)


def measured(kernel: Any, args: Sequence[Any]) -> tuple[float, int]:
    """The shortest time of a call, and its memory."""
    kernel(*args)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        kernel(*args)
        seconds.append(time.perf_counter() - start)
    return min(seconds), kernel.last_memory()


def table(rows: Sequence[tuple[str, Any]], args: Sequence[Any]) -> None:
    """Compares each gradient with the first one."""
    first: tuple[float, int] | None = None
    print("| | memory, KB | of the plain one | time of the plain one |\n|---|---:|---:|---:|")
    for name, kernel in rows:
        seconds, memory = measured(kernel, args)
        first = first or (seconds, memory)
        print(f"| {name} | {memory / 1000:,.0f} | {memory / first[1]:.3f} | {seconds / first[0]:.2f} |")


def budgets(transform: Callable[..., Any], f: Callable[..., Any], args: Sequence[Any]) -> list[tuple[str, Any]]:
    """The gradient within the memory of the plain one, a quarter of it, and a sixteenth."""
    _, whole = measured(transform(f), args)
    rows = (("all of it", whole), ("1/4", whole // 4), ("1/16", whole // 16))
    return [(f"`checkpoint={size:_}`: {share}", transform(f, checkpoint=size)) for share, size in rows]


def main() -> None:
    weights = RNG.standard_normal((LAYERS, 2, WIDTH, WIDTH)) * 0.1
    batch = RNG.standard_normal((BATCH, WIDTH)), RNG.standard_normal((BATCH, WIDTH))
    plain = network(layer)
    print(f"\nA network of {LAYERS} layers, {WIDTH} wide, for {BATCH} examples:\n")
    table(
        [
            ("plain", mlirad.value_and_grad(plain)),
            ("`checkpoint(layer)`", mlirad.value_and_grad(network(mlirad.checkpoint(layer)))),
            ("`accumulate_grad(loss, 4)`", mlirad.value_and_grad(mlirad.accumulate_grad(plain, 4))),
            ("both", mlirad.value_and_grad(mlirad.accumulate_grad(network(mlirad.checkpoint(layer)), 4))),
            *budgets(mlirad.value_and_grad, plain, (weights, *batch)),
        ],
        (weights, *batch),
    )
    print(f"\nA `while` of {TRIPS:,} trips, which carries 128 numbers:\n")
    args = np.linspace(0.1, 0.9, 128), TRIPS
    table([("plain", mlirad.grad(until)), *budgets(mlirad.grad, until, args)], args)


if __name__ == "__main__":
    main()
