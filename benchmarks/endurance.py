"""Reads: how many rounds (1,000 without a number), and which scenarios. Writes: what was run, and what was wrong.
Leaves: 0, or 1 if an answer was wrong, a process crashed or one hung.

    python benchmarks/endurance.py [rounds] [scenario ...]

Threads, forks and processes under stress, in short rounds: each scenario runs in a separate process, one round after
the other, and compares every answer with NumPy.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import mlirad
from mlirad.jit.disk_store import Store
from mlirad.lowering.to_loops import parallel_nest

ROUNDS = 1000
PATIENCE = 120  # seconds that a round may take
X = np.array([0.5, -1.25, 2.0])
WEIGHT = 3.0


COUNTED = ("calls", "compilations", "forks", "wrong")


@dataclass
class Tally:
    """What was done, and what went wrong. Several threads count in it."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, count: int = 1) -> None:
        with self.lock:
            self.counts[name] += count

    def check(self, found: Any, expected: Any) -> None:
        """All numbers are chosen so that nothing is rounded."""
        self.add("calls")
        if not np.array_equal(found, expected):
            self.add("wrong")
            print(f"found {found}, expected {expected}", file=sys.stderr)

    def rounds(self, count: int) -> Iterator[int]:
        """The rounds; prints the number of finished rounds after every hundred."""
        for number in range(count):
            yield number
            if (number + 1) % 100 == 0:
                print(f"... {number + 1:,} rounds", file=sys.stderr, flush=True)

    @contextmanager
    def noticing(self):
        """Counts every exception as wrong."""
        try:
            yield
        except BaseException:  # noqa: BLE001  (also what ends a thread)
            self.add("wrong")
            traceback.print_exc()


def together(count: int, work: Callable[[int], None], tally: Tally) -> None:
    """This many threads, which start at the same time."""
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        with tally.noticing():
            barrier.wait()
            work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def beside(works: list[Callable[[], None]], tally: Tally):
    """Threads that repeat this work meanwhile."""
    is_over = threading.Event()

    def run(work: Callable[[], None]) -> None:
        with tally.noticing():
            while not is_over.is_set():
                work()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def in_child(work: Callable[[], None], tally: Tally) -> None:
    """Fork; the child does the work, and is abandoned if that takes too long."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(PATIENCE)
            before = tally.counts["wrong"]
            work()
            status = int(tally.counts["wrong"] != before)
        except BaseException:  # noqa: BLE001  (only its status may leave a child)
            traceback.print_exc()
        finally:
            os._exit(status)
    tally.add("forks")
    if os.waitpid(child, 0)[1] != 0:
        tally.add("wrong")


def weighted(weight: float) -> Callable[[np.ndarray], float]:
    return lambda x: np.sum(x * x) * weight


def compile_anew(weight: float, x: np.ndarray, tally: Tally) -> None:
    """The gradient of a function that no kernel knows yet."""
    tally.check(mlirad.grad(weighted(weight))(x), 2.0 * weight * x)
    tally.add("compilations")


def one_kernel(rounds: int, tally: Tally) -> None:
    """Eight threads call a new kernel, from its first call on."""
    for number in tally.rounds(rounds):
        kernel = mlirad.grad(weighted(number + 1.0))

        def work(thread: int, weight: float = number + 1.0, kernel=kernel) -> None:
            x = X + thread
            for _ in range(50):
                tally.check(kernel(x), 2.0 * weight * x)

        together(8, work, tally)
        tally.add("compilations", kernel.cache_info().misses)


def eight_kernels(rounds: int, tally: Tally) -> None:
    """Eight threads each compile a gradient, of different functions and sizes."""
    sys.setswitchinterval(1e-5)  # so that they are at different passes
    for number in tally.rounds(rounds):
        together(8, lambda thread, n=number: compile_anew(8.0 * n + thread, np.arange(2.0 + thread), tally), tally)


def forks_while_compiling(rounds: int, tally: Tally) -> None:
    """Forks while two threads compile and one calls; the child calls existing kernels, and compiles."""
    rng = random.Random(1)
    kernel = mlirad.jit(weighted(WEIGHT))
    kernel(X)

    def call() -> None:
        tally.check(kernel(X), WEIGHT * np.sum(X * X))

    def work() -> None:
        call()
        compile_anew(rng.randrange(1000), X, tally)

    compiling = [lambda: compile_anew(rng.randrange(1000), X, tally)] * 2
    with beside([*compiling, call], tally):
        for _ in tally.rounds(rounds):
            time.sleep(rng.uniform(0.0, 0.02))
            in_child(work, tally)


def shared_work(x: np.ndarray) -> np.ndarray:
    return np.sin(x) * x + 1.0


def threads_of_threads(rounds: int, tally: Tally) -> None:
    """Eight threads call a kernel that shares its work among threads, a different number in each round."""
    kernel, x, expected = shared_kernel(tally)

    def work(_: int) -> None:
        for _ in range(10):
            tally.check(kernel(x), expected)

    for number in tally.rounds(rounds):
        mlirad.set_num_threads(1 + number % 6)
        together(8, work, tally)


def forks_beside_shared_work(rounds: int, tally: Tally) -> None:
    """Forks while two threads call kernels that share their work among threads; the child calls too, and forks."""
    kernel, x, expected = shared_kernel(tally)
    mlirad.set_num_threads(3)

    def call() -> None:
        tally.check(kernel(x), expected)

    def work() -> None:
        call()
        in_child(call, tally)

    with beside([call, call], tally):
        for _ in tally.rounds(rounds):
            in_child(work, tally)


def shared_kernel(tally: Tally) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray, np.ndarray]:
    """A kernel, its argument and its result; it has many blocks, because they are short here."""
    parallel_nest.BLOCK = 1 << 12
    kernel, x = mlirad.jit(shared_work, parallel=True, cache=False), np.linspace(0.0, 9.0, 20_000)
    expected = kernel(x)
    np.testing.assert_allclose(expected, shared_work(x), rtol=1e-13)
    tally.add("compilations")
    return kernel, x, expected


def square(x):
    return np.sum(x * x) * WEIGHT


def shifted(x):
    return x + WEIGHT


def fresh(function: Callable[..., object]) -> Callable[..., object]:
    """A copy that no kernel knows yet."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, function.__globals__, function.__name__)


def one_cold_cache(rounds: int, tally: Tally) -> None:
    """Four processes compile the same function at once, with one disk cache, which is empty when a round begins."""
    context = multiprocessing.get_context("fork")
    ready, done = (context.Barrier(5, timeout=PATIENCE) for _ in range(2))
    totals = context.RawArray("q", len(tally.counts))
    lock = context.Lock()
    work = [(mlirad.jit, shifted, X + WEIGHT), (mlirad.grad, square, 2.0 * WEIGHT * X)]

    def process(directory: Path) -> None:
        mine = Tally()
        rng = random.Random(os.getpid())
        for number in range(rounds):
            os.environ["MLIRAD_CACHE_DIR"] = str(directory / str(number))
            ready.wait()
            with mine.noticing():
                for transform, function, expected in rng.sample(work, 2):
                    mine.check(transform(fresh(function))(X), expected)
            done.wait()
        with lock:
            for place, count in enumerate(mine.counts.values()):
                totals[place] += count

    os.environ.pop("MLIRAD_CACHE", None)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        children = [context.Process(target=process, args=(root,)) for _ in range(4)]
        for child in children:
            child.start()
        entries = set()
        for number in tally.rounds(rounds):
            ready.wait()
            done.wait()
            census = Store(root / str(number)).verify()
            tally.add("wrong", census.damaged)
            entries.add(census.entries)
            shutil.rmtree(root / str(number))
        for child in children:
            child.join()
            tally.add("wrong", int(child.exitcode != 0))
    for key, count in zip(tally.counts, totals, strict=True):
        tally.add(key, count)
    if entries != {4}:  # two specialisations, and their object code
        print(f"entries left by the rounds: {sorted(entries)}", file=sys.stderr)
        tally.add("wrong")


SCENARIOS: dict[str, Callable[[int, Tally], None]] = {
    "eight threads on one kernel": one_kernel,
    "eight kernels compiling at once": eight_kernels,
    "forks while others compile": forks_while_compiling,
    "four processes on one cold cache": one_cold_cache,
    "eight threads on one parallel kernel": threads_of_threads,
    "forks while threads share work": forks_beside_shared_work,
}


def run(name: str, rounds: int) -> int:
    """One scenario, in this process."""
    faulthandler.enable()
    os.environ["MLIRAD_CACHE"] = "0"
    tally, started = Tally(), time.perf_counter()
    with tally.noticing():
        SCENARIOS[name](rounds, tally)
    used = sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    done = ", ".join(f"{count:,} {key}" for key, count in tally.counts.items() if count or key == "wrong")
    print(f"{name}: {rounds:,} rounds, {done}; {time.perf_counter() - started:.0f} s, {used:.0f} s of processors")
    return int(tally.counts["wrong"] != 0)


def main(arguments: list[str]) -> int:
    rounds = int(arguments[0]) if arguments else ROUNDS
    names = arguments[1:] or list(SCENARIOS)
    if len(arguments) == 2:
        return run(names[0], rounds)
    status = 0
    for name in names:
        code = subprocess.run([sys.executable, "-W", "ignore", __file__, str(rounds), name], check=False).returncode
        if code:
            print(f"{name}: left with {code}")
            status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
