"""Reads: callables that do the same work. Writes: a table. Leaves: their shortest times, taken in turns in one process.

They take turns because a machine's speed drifts: whatever slows one contender also slows the others of the same round.
The shortest time counts, because other work on the machine can only add to it. Only ratios are comparable between
machines.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

Work = Callable[[], object]

MINIMUM_SAMPLE = 2e-3  # seconds; shorter calls are repeated, so that the clock does not matter
ENOUGH = 2.0  # seconds after which the search for the usual length of a call ends
PAUSE = 1e-3  # seconds before each sample: on a busy machine, a process that runs long without a rest is interrupted
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def has(module: str) -> bool:
    """Whether a peer is installed; every peer is optional."""
    return importlib.util.find_spec(module) is not None


def c_library(source: str) -> ctypes.CDLL | None:
    """The functions of a C program, compiled by gcc with vector functions (libmvec); None if there is no gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "functions.so"
        flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-x", "c", "-"]
        command = [compiler, *flags, "-o", str(library), "-lmvec", "-lm"]
        subprocess.run(command, input=source, text=True, check=True)
        return ctypes.CDLL(str(library))


def elapsed(work: Work, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


def shortest(contenders: Mapping[str, Work], rounds: int = 25, budget: float = 20.0) -> dict[str, float]:
    """Seconds per call. Each contender is first called once, to compile it; `budget` limits the sum, in seconds."""
    once: dict[str, float] = {}
    for name, work in contenders.items():
        work()
        # More than one: otherwise work that is prepared at, say, the third call would count as part of the call.
        first = [elapsed(work, 1)]
        while len(first) < 5 and sum(first) < ENOUGH:
            first.append(elapsed(work, 1))
        once[name] = min(first)
    calls = {name: max(1, int(MINIMUM_SAMPLE / max(seconds, 1e-9))) for name, seconds in once.items()}
    one_round = sum(once[name] * calls[name] for name in contenders)
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    gc.disable()
    try:
        order = list(contenders.items())
        for _ in range(max(3, min(rounds, int(budget / one_round)))):
            for name, work in order:
                time.sleep(PAUSE)
                samples[name].append(elapsed(work, calls[name]))
            order.append(order.pop(0))
    finally:
        gc.enable()
    return {name: min(values) for name, values in samples.items()}


def print_ratios(title: str, times: Mapping[str, float]) -> None:
    """Each contender's time, and its ratio to the first one's."""
    first = next(iter(times.values()))
    print(title)
    for name, seconds in times.items():
        print(f"  {name:34s} {seconds * 1e6:14.2f} us {seconds / first:8.2f} x")


def high_water(prepare: Callable[[], Work]) -> int | None:
    """The peak growth of the process's resident memory in one call, in bytes; None if Linux does not report it.

    In a child process, so that nothing is kept from earlier calls. `prepare` compiles, which is not counted.
    """
    if not CLEAR.exists():
        return None
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work = prepare()
            gc.collect()
            before = status_bytes("VmRSS")
            CLEAR.write_text("5")  # resets VmHWM
            work()
            os.write(writer, str(status_bytes("VmHWM") - before).encode())
            status = 0
        finally:
            if status != 0:
                traceback.print_exc()
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise RuntimeError("the child process that measures memory has failed")
    return int(text)


def status_bytes(name: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)
