"""Reads: nothing. Writes: how long first calls take, the stages, and growth with the program. Leaves: 0.

In a warm process with nothing cached, in processor time and in wall-clock time. Peer: JAX; its tracing and compiling
are timed in the same way, one contender after the other.
"""

from __future__ import annotations

import linecache
import os
import time
from collections.abc import Callable
from itertools import pairwise
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from harness import has

import mlirad
from mlirad.demo import jax_gradient, loss

SIZES = (784, 512, 256, 10)
BATCH = 64
LAYER = """\
    z = np.tanh(h @ w + b)
    y = z * np.sin(z) + h
    h = y / (1.0 + np.abs(y)) - 0.5 * z
"""
LAYERS = 27  # of eleven operations each


def tiny(x):
    return np.sum(np.sin(x) * x)


class Took(NamedTuple):
    """Seconds."""

    processor: float
    clock: float


def timed(work: Callable[[], object]) -> Took:
    start = Took(time.process_time(), time.perf_counter())
    work()
    return Took(time.process_time() - start.processor, time.perf_counter() - start.clock)


def first_calls(contenders: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, Took]:
    """The shortest of several first calls of each contender, in turns. A contender makes a new function each time."""
    for work in contenders.values():
        work()  # starts what is started once
    calls: dict[str, list[Took]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            calls[name].append(timed(work))
    return {name: Took(*map(min, zip(*took, strict=True))) for name, took in calls.items()}


def fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy that no kernel knows yet."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)


def made(source: str, name: str, numpy: Any = np) -> Callable[..., Any]:
    """The function `program` of a text, which is found as if it were in a file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": numpy}
    exec(compile(source, name, "exec"), space)
    return space["program"]


def unrolled(lines: int) -> Callable[..., Any]:
    """A program without loops: this many lines of three operations each."""
    source = "def program(x):\n" + "    x = 1.5 * np.sin(x) + x\n" * lines + "    return x\n"
    return made(source, f"<unrolled {lines}>")


def model(numpy: Any = np) -> Callable[..., Any]:
    """Some 300 operations on arrays, including matrix products, written out."""
    source = "def program(w, b, h):\n" + LAYER * LAYERS + "    return np.sum(h * h)\n"
    return made(source, "<model>", numpy)


def of_jax_model(*arguments: Any) -> object:
    import jax
    import jax.numpy as jnp

    return jax.block_until_ready(jax.jit(jax.grad(model(jnp), argnums=(0, 1, 2)))(*arguments))


def of_jax_tiny(x: Any) -> object:
    import jax
    import jax.numpy as jnp

    return jax.block_until_ready(jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)))(x))


def print_first_calls() -> None:
    rng = np.random.default_rng(0)
    params = tuple((rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(SIZES))
    network = (params, rng.normal(size=(BATCH, SIZES[0])), np.eye(10)[rng.integers(0, 10, BATCH)])
    layers = (rng.normal(size=(16, 16)) / 4.0, np.zeros(16), rng.normal(size=(8, 16)))
    x = np.ones(100)
    programs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "sum(sin(x) * x)": (lambda: mlirad.grad(fresh(tiny))(x), lambda: of_jax_tiny(x)),
        "network 784-512-256-10": (
            lambda: mlirad.value_and_grad(fresh(loss))(*network),
            lambda: jax_gradient()(*network),
        ),
        "model of 300 operations": (
            lambda: mlirad.grad(model(), argnums=(0, 1, 2))(*layers),
            lambda: of_jax_model(*layers),
        ),
    }
    print("first call of a gradient, ms of the processor (and of the clock)")
    for name, (ours, theirs) in programs.items():
        rounds = 2 if name.startswith("model") else 5  # these take seconds
        times = first_calls({"mlirad": ours} | ({"JAX": theirs} if has("jax") else {}), rounds)
        listed = "  ".join(f"{who} {1e3 * took.processor:6.0f} ({1e3 * took.clock:.0f})" for who, took in times.items())
        print(f"  {name:34s} {listed}")
    print("\nstages, ms of the clock; llvmopt and asm each parse their text again, and print theirs")
    for name, gradient, arguments in (
        ("sum(sin(x) * x)", mlirad.grad(tiny), (x,)),
        ("network 784-512-256-10", mlirad.value_and_grad(loss), network),
    ):
        timings = gradient.lower(*arguments).timings()
        listed = "  ".join(f"{stage} {1e3 * seconds:.0f}" for stage, seconds in timings.items())
        print(f"  {name:34s} {listed}")


def main() -> int:
    os.environ["MLIRAD_CACHE"] = "0"  # it is compiling that is measured
    print_first_calls()
    print("\nprograms without loops: first call of the gradient")
    for operations in (300, 1_000, 3_000, 10_000):
        seconds = timed(lambda lines=operations // 3: mlirad.grad(unrolled(lines))(1.5)).processor
        print(f"  {operations:6d} operations {1e3 * seconds:10.0f} ms {1e3 * seconds / operations:8.2f} ms each")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
