"""Reads: nothing. Writes: time and memory of gradients of loops, over three decades of operations. Leaves: 0.

Peers: the adjoint written by hand, compiled by Numba, and JAX up to the size whose compilation and first call take it
a minute. JAX's time is for the gradient as it is usually written there (`lax` loops and `.at[].set`).
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from harness import Work, has, high_water, print_ratios, shortest

import mlirad

NAMES = ("recurrence", "seidel_2d", "products_2d", "newton_each", "trisolve", "cholesky", "limited", "lotka_volterra")
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
    import jax  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)
    statics = tuple(k for k, each in enumerate(program.arguments(program.SIZES[0])) if isinstance(each, int))
    compiled = jax.jit(jax.grad(program.jax_loss(), program.ARGNUMS), static_argnums=statics)
    return lambda *arguments: jax.block_until_ready(compiled(*arguments))


def difference(x: Any, y: Any) -> float:
    """The largest relative to the largest."""
    pairs = zip(x, y, strict=True) if isinstance(x, tuple) else [(x, y)]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def print_memory(program: ModuleType, sizes: list[int]) -> None:
    for size in sizes:
        arguments, operations = program.arguments(size), program.operations(size)
        for name, prepare in (("mlirad", prepare_mlirad), ("Numba, adjoint by hand", prepare_numba)):
            rise = high_water(partial(prepare, program, arguments))
            told = (
                "not measured" if rise is None else f"{rise / 2**20:9.2f} MiB {rise / operations:9.2f} B an operation"
            )
            print(f"  size {size:9,d}  {name:26s} {told}")


def print_counted(program: ModuleType, sizes: list[int]) -> None:
    """What a call says that it has needed besides arguments and results, whatever memory was there already."""
    ours = gradient(program)
    for size in sizes:
        arguments, operations = program.arguments(size), program.operations(size)
        ours(*arguments)
        needed = ours.last_memory()
        print(f"  size {size:9,d}  {needed / 2**20:9.2f} MiB {needed / operations:9.2f} B an operation")


def print_times(program: ModuleType, sizes: list[int], patience: float, budget: float) -> None:
    ours, function = gradient(program), mlirad.jit(program.loss)
    peer = jax_gradient(program) if patience > 0 and program.jax_loss is not None else None
    for size in sizes:
        arguments, operations = program.arguments(size), program.operations(size)
        contenders: dict[str, Work] = {
            "Numba, adjoint by hand": partial(program.adjoint, *arguments),
            "mlirad": partial(ours, *arguments),
            "mlirad, the function alone": partial(function, *arguments),
        }
        title = f"size {size:,d}: {operations:,d} operations"
        told = f"largest difference {difference(ours(*arguments), program.adjoint(*arguments)):.1e}"
        if peer is not None:
            start = time.perf_counter()
            told += f", from JAX's {difference(ours(*arguments), peer(*arguments)):.1e}"
            contenders["JAX"] = partial(peer, *arguments)
            took = time.perf_counter() - start
            if took > patience / 10:  # the next size has ten times the operations, or more
                peer = None
            if took > patience:
                told += f" (JAX took {took:.0f} s)"
                del contenders["JAX"]
        print_ratios(f"\n{title} ({told})", shortest(contenders, budget=budget))


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
    for name, program in programs.items():
        print(f"\n== {name}: rise of the resident set at its highest, of one call")
        print_memory(program, sizes[name])
    for name, program in programs.items():
        print(f"\n== {name}: what mlirad's last_memory() tells")
        print_counted(program, sizes[name])
    for name, program in programs.items():
        print(f"\n== {name}")
        print_times(program, sizes[name], options.patience if has("jax") else 0.0, options.budget)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
