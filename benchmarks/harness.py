"""Reads: callables that do the same work. Writes: a table. Leaves: their times, taken in turns in one process.

They take turns because a machine's speed drifts: whatever slows one contender also slows the others of the same round.
Of times by the clock the shortest counts, because other work on the machine can only add to it; of processor time the
median. Only ratios are comparable between machines.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

Work = Callable[[], object]
Clock = Callable[[], float]

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


def elapsed(work: Work, calls: int, clock: Clock = time.perf_counter) -> float:
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls


def usual_length(work: Work, clock: Clock = time.perf_counter) -> float:
    """The shortest of some calls, in seconds.

    More than one, or work that is prepared at, say, the fourth call would count as part of each call: its samples would
    be a few calls long, and show cold caches.
    """
    first = [elapsed(work, 1, clock)]
    while len(first) < 8 and sum(first) < ENOUGH:
        first.append(elapsed(work, 1, clock))
    return min(first)


def samples_in_turns(
    contenders: Mapping[str, Work], rounds: range, budget: float, clock: Clock = time.perf_counter, pause: float = 0.0
) -> dict[str, list[float]]:
    """Seconds per call, one sample of each contender in each round.

    Each round has an order of its own, so that no contender always follows the same one. `budget` limits the sum of the
    samples, in seconds; `rounds` has the smallest and the largest number of rounds.
    """
    once = {name: usual_length(work, clock) for name, work in contenders.items()}
    calls = {name: max(1, int(MINIMUM_SAMPLE / max(seconds, 1e-9))) for name, seconds in once.items()}
    one_round = sum(once[name] * calls[name] for name in contenders)
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    order, random = list(contenders.items()), Random(0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(max(rounds.start, min(rounds.stop, int(budget / one_round)))):
            random.shuffle(order)
            for name, work in order:
                time.sleep(pause)
                samples[name].append(elapsed(work, calls[name], clock))
    finally:
        gc.enable()
    return samples


def shortest(contenders: Mapping[str, Work], rounds: int = 25, budget: float = 20.0) -> dict[str, float]:
    """Seconds per call. Each contender is first called once, to compile it; `budget` limits the sum, in seconds."""
    for work in contenders.values():
        work()
    samples = samples_in_turns(contenders, range(3, rounds), budget, pause=PAUSE)
    return {name: min(each) for name, each in samples.items()}


def medians(contenders: Mapping[str, Work], budget: float) -> dict[str, float]:
    """Seconds of processor time for a call, all threads counted. Each contender has been called before."""
    samples = samples_in_turns(contenders, range(5, 51), budget, time.process_time)
    return {name: statistics.median(each) for name, each in samples.items()}


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
