"""Reads: nothing. Writes: how long first calls take, the stages, and growth with the program. Leaves: 0.

Seconds of the processor, not of the clock. Peer: JAX, whose tracing and compiling are timed in the same way.
"""

from __future__ import annotations

import linecache
import os
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from harness import has

import mlirad
from mlirad.demo import initial_parameters, jax_gradient, loss


def tiny(x):
    return np.sum(np.sin(x) * x)


def of_processor(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def first_call(make: Callable[[], Callable[..., Any]], *arguments: Any) -> float:
    """The shortest of five first calls, each of a function that is made anew."""
    return min(of_processor(lambda: make()(*arguments)) for _ in range(5))


def fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy that no kernel knows yet."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)


def unrolled(lines: int) -> Callable[..., Any]:
    """A program without loops: so many lines of three operations each."""
    source: str = "def program(x):\n" + "    x = 1.5 * np.sin(x) + x\n" * lines + "    return x\n"
    name = f"<unrolled {lines}>"
    linecache.cache[name] = (len(source), None, list(map(str, source.splitlines(keepends=True))), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["program"]


def print_stages(title: str, gradient: Any, *arguments: Any) -> None:
    timings = gradient.lower(*arguments).timings()
    listed = "  ".join(f"{stage} {1e3 * seconds:.0f}" for stage, seconds in timings.items())
    print(f"  {title:34s} {listed}")


def main() -> int:
    os.environ["MLIRAD_CACHE"] = "0"  # it is compiling that is measured
    x, params = np.ones(100), initial_parameters(np.random.default_rng(0))
    network = (params, np.zeros((64, 64)), np.zeros((64, 10)))
    cold = of_processor(lambda: mlirad.grad(tiny)(x))
    print("first call of a gradient, ms of the processor")
    print(f"  {'tiny, the first of the process':34s} {1e3 * cold:10.0f}")
    print(f"  {'tiny, later':34s} {1e3 * first_call(lambda: mlirad.grad(fresh(tiny)), x):10.0f}")
    made = first_call(lambda: mlirad.value_and_grad(fresh(loss)), *network)
    print(f"  {'the demonstration network':34s} {1e3 * made:10.0f}")
    if has("jax"):
        jax_gradient()(*network)  # starts JAX
        print(f"  {'the demonstration network in JAX':34s} {1e3 * first_call(jax_gradient, *network):10.0f}")
    print("\nstages, ms of the clock; llvmopt and asm each parse their text again, and print theirs")
    print_stages("tiny", mlirad.grad(tiny), x)
    print_stages("the demonstration network", mlirad.value_and_grad(loss), *network)
    print("\nprograms without loops, three operations a line: first call of the gradient")
    for lines in (50, 100, 200, 400):
        seconds = of_processor(lambda lines=lines: mlirad.grad(unrolled(lines))(1.5))
        print(f"  {lines:5d} lines {1e3 * seconds:10.0f} ms {1e3 * seconds / lines:8.2f} ms a line")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
