"""Reads: nothing. Writes: how many times as long as its value a program's gradient takes, at three sizes. Leaves: 0.

    python benchmarks/ratios.py [names] [--budget SECONDS] [--small]

The programs are those of `growth.py`, `peers.py` and `ordinary_loops.py`, at sizes that differ up to thousandfold in
operations. Value, gradient and both at once take turns in one process, on one core with one thread; the figures are
medians of processor time. The worst ratio comes first. The last columns compare `value_and_grad` with `grad` at the
largest size, in time and in memory (`last_memory()`).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import medians
from ordinary_loops import PROGRAMS, Program
from peers import alone

import mlirad

HERE = Path(__file__).parent
NAMES = sorted(
    [*PROGRAMS, *(path.stem for folder in ("programs", "workloads") for path in HERE.glob(f"{folder}/[!_]*"))]
)
SIZES: Mapping[str, tuple[int, ...]] = {
    "attention": (16, 64, 512),
    "chain": (1_000, 100_000, 3_000_000),
    "conv2d": (1, 8),
    "cross_entropy": (100, 3_000, 100_000),
    "fdtd_2d": (30, 100, 1_000),
    "hdiff": (8, 32, 128),
    "heat_3d": (10, 30, 100),
    "jacobi_1d": (100, 3_000, 100_000),
    "jacobi_2d": (30, 200, 1_000),
    "k_means": (100, 2_000, 50_000),
    "lenet": (1, 8, 128),
    "log_sum_exp": (1_000, 100_000, 3_000_000),
    "mixture": (100, 2_000, 50_000),
    "network": (8, 64, 512),
    "wide_mixture": (30, 500, 10_000),
}
"""Of `workloads`, whose own sizes are two. Of others, the least, a middle one and the largest count."""


@dataclass(frozen=True)
class Row:
    name: str
    size: int
    value: float
    gradient: float
    both: float
    memory: tuple[int, int]

    @property
    def ratio(self) -> float:
        return self.gradient / self.value


def program_of(name: str) -> Program:
    if name in PROGRAMS:
        return PROGRAMS[name]
    folder = "workloads" if name in SIZES else "programs"
    module = importlib.import_module(f"{folder}.{name}")
    own = module.SIZES
    sizes = SIZES.get(name, (own[0], own[len(own) // 2], own[-1]))
    return Program(module.loss, module.ARGNUMS, module.arguments, sizes)


def measured(name: str, program: Program, size: int, budget: float) -> Row:
    arguments = program.arguments(size)
    kernels = {
        "value": mlirad.jit(program.loss),
        "gradient": mlirad.grad(program.loss, program.argnums),
        "both": mlirad.value_and_grad(program.loss, program.argnums),
    }
    works = {each: partial(kernel, *arguments) for each, kernel in kernels.items()}
    for work in works.values():
        work()
    memory = kernels["gradient"].last_memory(), kernels["both"].last_memory()
    return Row(name, size, **medians(works, budget), memory=memory)


def line(rows: Sequence[Row]) -> str:
    last = rows[-1]
    cells = [
        rows[0].name,
        ", ".join(f"{row.size:,}" for row in rows),
        ", ".join(f"{1e6 * row.value:,.1f}" for row in rows),
        ", ".join(f"{row.ratio:.2f}" for row in rows),
        f"{max(row.ratio for row in rows):.2f}",
        f"{last.both / last.gradient:.2f}",
        f"{last.memory[1] / last.memory[0]:.2f}" if last.memory[0] else "-",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES, help="which programs; all of them if none is named")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of measurements for one size")
    parser.add_argument("--small", action="store_true", help="the least size only")
    options = parser.parse_args()
    alone()
    table: list[list[Row]] = []
    for name in options.names:
        program = program_of(name)
        sizes = program.sizes[: 1 if options.small else None]
        table.append([measured(name, program, size, options.budget) for size in sizes])
        print(line(table[-1]), file=sys.stderr, flush=True)
    print("| program | sizes | value, us | gradient / value | worst | both / gradient | memory, both / gradient |")
    print("|---|---|---|---|---:|---:|---:|")
    for rows in sorted(table, key=lambda rows: -max(row.ratio for row in rows)):
        print(line(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
