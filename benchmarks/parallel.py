"""Reads: nothing. Writes: the time of work on large arrays, with one thread and with all threads. Leaves: 0.

Peers: the same in Numba, with `parallel=True` and `prange`, and, like mlirad, without fast-math; its gradient is
written by hand. NumPy's product calls its BLAS, with as many threads as the environment allows.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from functools import partial

import numpy as np
from harness import has, print_ratios, shortest
from shared_programs import PROGRAMS

import mlirad
from mlirad.options import Environment

WORKLOADS = ("chain", "log_sum_exp", "network", "mixture", "k_means", "attention", "cross_entropy")
STENCILS = ("jacobi_1d", "jacobi_2d", "heat_3d", "fdtd_2d", "hdiff")
LARGER = {"jacobi_2d": (2000,)}
"""Further sizes, beyond the largest of `peers.py`."""


def wave(x, y):
    return np.sum(np.exp(np.sin(x) * y))


def product(a, b):
    return a @ b


def numba_gradient():
    import numba

    def gradient(x, y):
        result = np.empty_like(x)
        for i in numba.prange(x.size):
            result[i] = np.exp(np.sin(x[i]) * y[i]) * np.cos(x[i]) * y[i]
        return result

    return numba.njit(gradient), numba.njit(parallel=True)(gradient)


def numba_product():
    import numba

    def multiply(a, b):
        result = np.zeros((a.shape[0], b.shape[1]))
        for i in numba.prange(a.shape[0]):
            for k in range(a.shape[1]):
                for j in range(b.shape[1]):
                    result[i, j] += a[i, k] * b[k, j]
        return result

    return numba.njit(multiply), numba.njit(parallel=True)(multiply)


def compare(title, one, shared, numba_pair, arguments, check):
    contenders = {"mlirad": one, "mlirad, parallel=True": shared}
    if has("numba"):
        contenders["Numba"], contenders["Numba, parallel=True"] = numba_pair()
    wanted = check(*arguments)
    for name, function in contenders.items():
        np.testing.assert_allclose(function(*arguments), wanted, rtol=1e-9, err_msg=name)
    works = {name: partial(function, *arguments) for name, function in contenders.items()}
    if check is product:
        works["NumPy"] = partial(product, *arguments)
    print_ratios(title, shortest(works, rounds=15))
    print_processor_time({name: works[name] for name in ("mlirad", "mlirad, parallel=True")})
    print()


def print_processor_time(works):
    """Shows, even on a busy machine, the cost of sharing, and how much of the work other threads than the caller do."""
    for name, work in works.items():
        times: list[tuple[float, float]] = []
        for _ in range(15):
            all_before, own_before = time.process_time(), time.thread_time()
            work()
            times.append((time.process_time() - all_before, time.thread_time() - own_before))
        everyone, own = (1e6 * min(each) for each in zip(*times, strict=True))
        print(f"  {name:34s} {everyone:14.2f} us of processors, {own:10.2f} of the caller's")


def gradients():
    """Name, size, loss, argnums and arguments of each program: those of `peers.py` at their largest sizes, and more."""
    names = (*WORKLOADS, *STENCILS)
    rows = [(name, number) for name in names for number in range(1 + len(LARGER.get(name, ())))]
    for name, number in rows:
        program = importlib.import_module(f"workloads.{name}")
        size = (program.SIZES[-1], *LARGER.get(name, ()))[number]
        yield name, size, program.loss, program.ARGNUMS, program.arguments(size)
    for name, (make, size) in PROGRAMS.items():
        loss, arguments = make(size)
        yield name, size, loss, 0, arguments


def print_gradients():
    """By the clock: the shortest median of three rounds. Those that gain least come first."""
    lines: list[tuple[float, str]] = []
    for name, size, loss, argnums, arguments in gradients():
        one = mlirad.grad(loss, argnums)
        shared = mlirad.grad(loss, argnums, parallel=True)
        for wanted, found in zip(_arrays(one(*arguments)), _arrays(shared(*arguments)), strict=True):
            tolerance = 1e-4 if wanted.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.max(np.abs(wanted)))
        medians = [[_median(function, arguments) for function in (one, shared)] for _ in range(3)]
        alone, together = map(min, zip(*medians, strict=True))
        gain = alone / together
        lines.append((gain, f"  {name:20s} {size:12,} {1e3 * alone:9.2f} ms  {1e3 * together:9.2f} ms   {gain:9.2f}"))
    print("gradients of programs                 one thread   all threads   faster by")
    for _, line in sorted(lines):
        print(line)


def _arrays(result):
    listed = result.values() if isinstance(result, dict) else result
    return list(listed) if isinstance(result, dict | tuple) else [result]


def _median(function, arguments):
    times = []
    for _ in range(7):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    print(f"{Environment.read().threads} threads, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4_000_000))
    compare(
        "gradient of sum(exp(sin(x) * y)), 4,000,000 elements",
        mlirad.grad(wave),
        mlirad.grad(mlirad.jit(wave, parallel=True)),
        numba_gradient,
        (x, y),
        lambda x, y: np.exp(np.sin(x) * y) * np.cos(x) * y,
    )
    a, b = rng.normal(size=(2, 1024, 1024))
    shared = mlirad.jit(product, parallel=True)
    compare("product, 1024 x 1024", mlirad.jit(product), shared, numba_product, (a, b), product)
    x, y = rng.normal(size=(2, 100))
    one, shared = mlirad.grad(wave), mlirad.grad(mlirad.jit(wave, parallel=True))
    works = {"mlirad": lambda: one(x, y), "mlirad, parallel=True": lambda: shared(x, y)}
    print_ratios("the same gradient of 100 elements: nothing to share", shortest(works, rounds=15))
    print_gradients()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
