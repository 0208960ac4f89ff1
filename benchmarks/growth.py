"""Reads: nothing. Writes: time and memory of gradients of loops, over three decades of operations. Leaves: 0.

Peers: the adjoint written by hand and compiled by Numba, and JAX up to the size at which its compilation and first call
take a minute. JAX's gradient is written as usual for JAX (`lax` loops and `.at[].set`).

Prints a table. For a gradient's memory it shows the figure of `last_memory()` (mostly the tape), and the peak growth of
the resident set in one call, which is less if compilation has left free memory to reuse.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from harness import Work, has, high_water, shortest

import mlirad

NAMES = (
    *("recurrence", "seidel_2d", "products_2d", "newton_each", "trisolve", "cholesky", "limited", "lotka_volterra"),
    *("lu", "gramschmidt", "durbin", "minors"),
    *("row_history", "columns", "slices", "masks", "burgers"),
    *("bundle_adjustment", "rigid_bodies", "runge_kutta", "lstm", "adi", "vadv", "hand_tracking"),
)
NAMED = ("mlirad", "function", "JAX")
COLUMNS = (
    "operations",
    "by hand, ns each",
    *(f"{name} / by hand" for name in NAMED),
    "mlirad's tape, B each",
    "mlirad's memory, B each",
    "by hand, B each",
    "largest difference",
)
PATIENCE = 60.0  # seconds that JAX gets for one size
BUDGET = 20.0  # seconds that the measurements of one size take, roughly


def gradient(program: ModuleType) -> Any:
    return mlirad.grad(program.loss, program.ARGNUMS)


def prepare_mlirad(program: ModuleType, arguments: tuple[Any, ...]) -> Work:
    return partial(gradient(program).lower(*arguments).compile(), *arguments)


def prepare_numba(program: ModuleType, arguments: tuple[Any, ...]) -> Work:
    program.adjoint(*program.arguments(program.SIZES[0]))
    return partial(program.adjoint, *arguments)


def jax_gradient(program: ModuleType) -> Callable[..., Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    statics = tuple(k for k, each in enumerate(program.arguments(program.SIZES[0])) if isinstance(each, int))
    compiled = jax.jit(jax.grad(program.jax_loss(), program.ARGNUMS), static_argnums=statics)
    return lambda *arguments: jax.block_until_ready(compiled(*arguments))


def difference(x: Any, y: Any) -> float:
    """The largest difference, relative to the largest number."""
    pairs = zip(x, y, strict=True) if isinstance(x, tuple) else [(x, y)]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def rises(program: ModuleType, size: int) -> list[int | None]:
    """The peak growth of the resident set in one call of the gradient, for mlirad and for the adjoint by hand."""
    arguments = program.arguments(size)
    return [high_water(partial(prepare, program, arguments)) for prepare in (prepare_mlirad, prepare_numba)]


def rows(
    program: ModuleType, memory: Mapping[int, list[int | None]], patience: float, budget: float
) -> Iterator[list[str]]:
    """The columns for each size: numbers, and "-" if not measured."""
    ours, function = gradient(program), mlirad.jit(program.loss)
    peer = jax_gradient(program) if patience > 0 and program.jax_loss is not None else None
    for size, raised in memory.items():
        arguments, operations = program.arguments(size), program.operations(size)
        contenders: dict[str, Work] = {
            "by hand": partial(program.adjoint, *arguments),
            "mlirad": partial(ours, *arguments),
            "function": partial(function, *arguments),
        }
        result = ours(*arguments)
        apart = [difference(result, program.adjoint(*arguments))]
        if peer is not None:
            start = time.perf_counter()
            apart.append(difference(result, peer(*arguments)))
            contenders["JAX"] = partial(peer, *arguments)
            took = time.perf_counter() - start
            if took > patience / 10:  # the next size has ten times the operations, or more
                peer = None
            if took > patience:
                del contenders["JAX"]
        times = shortest(contenders, budget=budget)
        ratios = [f"{times[name] / times['by hand']:.2f}" if name in times else "-" for name in NAMED]
        bytes = [None if each is None else each / operations for each in (ours.last_memory(), *raised)]
        yield [
            f"{operations:,d}",
            f"{1e9 * times['by hand'] / operations:.2f}",
            *ratios,
            *("-" if each is None else f"{each:.1f}" for each in bytes),
            f"{max(apart):.0e}",
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="which programs; all of them if none is named")
    parser.add_argument("--operations", type=float, default=1e9, help="no size with more")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds that JAX gets for one size")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of measurements for one size")
    options = parser.parse_args()
    programs = {name: importlib.import_module(f"programs.{name}") for name in options.names}
    sizes = {
        name: [size for size in program.SIZES if program.operations(size) <= options.operations]
        for name, program in programs.items()
    }
    # Memory first: the children are forked before JAX has threads.
    memory = {name: {size: rises(programs[name], size) for size in sizes[name]} for name in programs}
    print("| program |", " | ".join(COLUMNS), "|")
    print("|---" + "|---:" * len(COLUMNS) + "|")
    for name, program in programs.items():
        for row in rows(program, memory[name], options.patience if has("jax") else 0.0, options.budget):
            print(f"| {name} |", " | ".join(row), "|", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
