"""Reads: nothing. Writes: the times of gradients as ratios to peers, worst first. Leaves: 0.

    python benchmarks/peers.py --make ENV    # an environment of Python 3.12 or newer with the peers; then run in it:
    ENV/bin/python benchmarks/peers.py [names] [--memory] [--log FILE]

Peers: JAX, PyTorch, adjoints by hand compiled by Numba (with and without its `fastmath`), and C by hand (gcc, whose
-ffast-math calls the vector functions of libmvec). Peers that are not installed are skipped. All gradients are compared
before they are timed.

Contenders take turns in one process on one core, each with one thread, in another order in each round. The figure is
the median of processor time, as a ratio to mlirad's. Compile time is the time of the first call minus the time of a
later call; memory is the peak growth of the resident set in a call, in a separate process. `peer_tables.py` writes
the tables of README.md and docs/benchmarks.md from a log.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from harness import Work, c_library, has, high_water, medians
from peer_tables import OURS, Figures, full_table, read, summary

import mlirad

STENCILS = ("jacobi_1d", "jacobi_2d", "heat_3d", "fdtd_2d", "hdiff")
NETWORKS = ("network", "attention", "conv2d", "lenet")
ARRAYS = ("chain", "log_sum_exp", "cross_entropy", "mixture", "wide_mixture", "k_means", *NETWORKS, *STENCILS)
FACTORS = ("cholesky", "lu", "gramschmidt", "durbin", "trisolve")
IN_TIME = ("lotka_volterra", "runge_kutta", "lstm", "adi", "vadv")
LOOPS = (
    "recurrence",
    "seidel_2d",
    "burgers",
    *FACTORS,
    "minors",
    "newton_each",
    *IN_TIME,
    "row_history",
    "masks",
    "hand_tracking",
    "bundle_adjustment",
    "rigid_bodies",
)
ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("jax", "torch==2.13.0", "numba", "scipy")
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "MLIRAD_CACHE": "0",  # the first call compiles
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    # Freed memory stays in the process, or adjoints by hand would spend up to a third of their time on page faults.
    **dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"), str(1 << 30)),
}
LOOP_SIZES = 2  # for a loop program, the second and third size: calls dominate the first


# --- contenders: each gives the gradient of a workload at arguments, as a function without arguments ---------------


def of_mlirad(program: ModuleType, arguments: Sequence[Any], is_fast: bool = False) -> Work:
    return partial(mlirad.grad(program.loss, program.ARGNUMS, fastmath=is_fast), *arguments)


def of_jax(program: ModuleType, arguments: Sequence[Any]) -> Work | None:
    if not has("jax") or getattr(program, "jax_loss", None) is None:
        return None
    import jax

    jax.config.update("jax_enable_x64", True)
    statics = tuple(k for k, each in enumerate(arguments) if isinstance(each, int))
    compiled = jax.jit(jax.grad(program.jax_loss(), program.ARGNUMS), static_argnums=statics)
    return lambda: jax.block_until_ready(compiled(*arguments))


def of_torch(program: ModuleType, arguments: Sequence[Any]) -> Work | None:
    if not has("torch") or not hasattr(program, "torch_loss"):
        return None
    import torch

    torch.set_num_threads(1)
    loss = program.torch_loss()
    chosen = (program.ARGNUMS,) if isinstance(program.ARGNUMS, int) else program.ARGNUMS
    given = [torch.from_numpy(each) if isinstance(each, np.ndarray) else each for each in arguments]
    leaves = [given[k].requires_grad_() for k in chosen]

    def work() -> Any:
        found = torch.autograd.grad(loss(*given), leaves)
        return found[0] if isinstance(program.ARGNUMS, int) else found

    return work


def of_numba(program: ModuleType, arguments: Sequence[Any], fastmath: bool | set[str] = False) -> Work | None:
    if not hasattr(program, "adjoint"):
        return None
    import numba

    return partial(numba.njit(fastmath=fastmath)(program.adjoint.py_func), *arguments)


def of_c(program: ModuleType, arguments: Sequence[Any]) -> Work | None:
    library = c_library(program.C) if hasattr(program, "C") else None
    if library is None:
        return None
    gradient = library.gradient
    gradient.argtypes, gradient.restype = (ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p), None
    (x,) = arguments

    def work() -> np.ndarray:
        g = np.empty_like(x)
        gradient(x.size, x.ctypes.data, g.ctypes.data)
        return g

    return work


CONTENDERS: Mapping[str, Callable[[ModuleType, Sequence[Any]], Work | None]] = {
    OURS: of_mlirad,
    "mlirad, fastmath": partial(of_mlirad, is_fast=True),
    "JAX": of_jax,
    "PyTorch": of_torch,
    "by hand": of_numba,
    "by hand, fastmath": partial(of_numba, fastmath={"reassoc", "arcp", "contract"}),
    "C, libmvec": of_c,
}
# --- measurements -------------------------------------------------------------------------------------------------


def first_call(make: Callable[[], Work | None]) -> tuple[Work | None, float]:
    """The contender, called twice, and how much longer its first call takes than the second, in seconds."""
    start = time.perf_counter()
    work = make()
    if work is None:
        return None, 0.0
    work()
    first = time.perf_counter() - start
    start = time.perf_counter()
    work()
    return work, max(0.0, first - (time.perf_counter() - start))


def peak(name: str, size: int, contender: str) -> int | None:
    """The growth of the resident set in a call, in bytes, in a separate process."""
    command = [sys.executable, __file__, name, "--peak", contender, "--size", str(size)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(told.stdout.splitlines()[-1])


def difference(one: Any, other: Any) -> float:
    """The largest, relative to the largest element."""
    pairs = zip(one, other, strict=True) if isinstance(one, tuple | list) else [(one, other)]
    return max(
        float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in ((np.asarray(a), np.asarray(b)) for a, b in pairs)
    )


def program_of(name: str) -> ModuleType:
    return importlib.import_module(f"{'workloads' if name in ARRAYS else 'programs'}.{name}")


def sizes_of(name: str) -> Sequence[int]:
    return program_of(name).SIZES if name in ARRAYS else program_of(name).SIZES[1 : 1 + LOOP_SIZES]


def measured(name: str, size: int, budget: float, with_memory: bool) -> Figures:
    """Raises AssertionError if a contender's gradient differs."""
    program = program_of(name)
    arguments = program.arguments(size)
    made = {each: first_call(partial(make, program, arguments)) for each, make in CONTENDERS.items()}
    works = {each: work for each, (work, _) in made.items() if work is not None}
    expected = works[OURS]()
    apart = max(difference(work(), expected) for work in works.values())
    if apart > (1e-4 if any(getattr(each, "dtype", None) == np.float32 for each in arguments) else 1e-8):
        raise AssertionError(f"{name} at {size}: gradients differ by {apart:.1e}")
    compiled = {each: made[each][1] for each in works}
    memory = {each: peak(name, size, each) for each in works} if with_memory else {}
    return Figures(name, size, medians(works, budget), compiled, memory)


# --- the environment ----------------------------------------------------------------------------------------------


def make_environment(folder: Path) -> None:
    """A virtual environment with the newest available Python, this project and the peers."""
    candidates = [shutil.which(f"python3.{minor}") for minor in (13, 12)]
    candidates += sorted(map(str, Path.home().glob(".pyenv/versions/3.1[23].*/bin/python")), reverse=True)
    python = next(filter(_runs, filter(None, candidates)), sys.executable)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", str(ROOT), *NEEDED], check=True)
    print(f"made; now: {folder}/bin/python benchmarks/peers.py")


def _runs(python: str) -> bool:
    """A command on the path may only say that its version is not chosen."""
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def alone() -> None:
    """Run again with one thread for each library, and on one core."""
    if os.environ.get("XLA_FLAGS") != ONE_THREAD["XLA_FLAGS"]:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=(*ARRAYS, *LOOPS), help="which; all if none is named")
    parser.add_argument("--make", type=Path, metavar="ENV", help="make the environment, and measure nothing")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of measurements for one size")
    parser.add_argument("--memory", action="store_true", help="measure memory too")
    parser.add_argument("--log", type=Path, help="a file of results: what is in it is not measured again")
    parser.add_argument("--small", action="store_true", help="the first size only")
    parser.add_argument("--peak", choices=tuple(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make_environment(options.make)
        return 0
    alone()
    if options.peak:
        (name,) = options.names
        program = program_of(name)
        made = CONTENDERS[options.peak](program, program.arguments(options.size))
        assert made is not None
        made()
        print(json.dumps(high_water(lambda: made)))
        return 0
    found = [] if options.log is None else read(options.log)
    known = {(each.name, each.size) for each in found}
    for name in options.names:
        for size in sizes_of(name)[: 1 if options.small else None]:
            if (name, size) in known:
                continue
            found.append(measured(name, size, options.budget, options.memory))
            print(found[-1].line(), file=sys.stderr, flush=True)
            if options.log is not None:
                with options.log.open("a") as log:
                    log.write(f"{found[-1].line()}\n")
    print("\n".join([*full_table(found), "", summary(found)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
