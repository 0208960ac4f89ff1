"""Reads: nothing. Writes: the time of a program until its first result, and of a first call from the cache. Leaves: 0.

A process is timed from start to end, in wall-clock and processor time, and compared with one that only imports NumPy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import mlirad
from mlirad.demo import initial_parameters, loss

ROUNDS = 9

NUMPY = "import numpy as np\nx = np.ones(100)\nprint(np.sum(np.sin(x) * x))\n"
IMPORT = NUMPY.replace("import numpy as np\n", "import numpy as np\nimport mlirad\n")
GRADIENT = """import numpy as np
import mlirad

def f(x):
    return np.sum(np.sin(x) * x)

x = np.ones(100)
print(mlirad.grad(f)(x)[0])
"""


def tiny(x):
    return np.sum(np.sin(x) * x)


def fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy that no kernel knows yet."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)


def process(program: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds of wall-clock and processor time."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, program], check=True, env=environment, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, os.times()
    return seconds, sum(after[2:4]) - sum(before[2:4])


def processes(directory: Path) -> None:
    """Processes in turns, each kind's shortest."""
    environment = dict(
        os.environ, MLIRAD_CACHE_DIR=str(directory / "cache"), PYTHONPYCACHEPREFIX=str(directory / "pyc")
    )
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    environment.pop("MLIRAD_CACHE", None)
    programs = {"NumPy alone": NUMPY, "import mlirad": IMPORT, "a gradient from the cache": GRADIENT}
    kinds = {name: (directory / f"{number}.py", environment) for number, name in enumerate(programs)}
    for name, text in programs.items():
        kinds[name][0].write_text(text)
    kinds["a gradient that is compiled"] = (kinds["a gradient from the cache"][0], {**environment, "MLIRAD_CACHE": "0"})
    for program, variables in kinds.values():
        process(program, variables)  # writes byte code, and the cache
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, (program, variables) in kinds.items():
            times[name].append(process(program, variables))
    print(f"a process, from its start to its end; the shortest of {ROUNDS}, ms")
    shortest = {name: [min(each[i] for each in seconds) for i in (0, 1)] for name, seconds in times.items()}
    clock, processor = shortest["NumPy alone"]
    for name, (seconds, used) in shortest.items():
        more = f"+{1e3 * (seconds - clock):.0f} clock, +{1e3 * (used - processor):.0f} processor"
        print(f"  {name:34s} {1e3 * seconds:8.0f} clock {1e3 * used:8.0f} processor   {more}")


def from_cache(title: str, make: Callable[[], Callable[..., Any]], *arguments: Any) -> None:
    make()(*arguments)
    times: list[float] = []
    for _ in range(30):
        gradient = make()
        start = time.perf_counter()
        gradient(*arguments)
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"  {title:34s} {1e3 * times[0]:8.2f} shortest {1e3 * times[len(times) // 2]:8.2f} median")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        processes(Path(name))
        os.environ["MLIRAD_CACHE_DIR"] = str(Path(name, "warm"))
        os.environ.pop("MLIRAD_CACHE", None)
        print("\na first call from the cache in a warm process, ms of the clock")
        from_cache("tiny", lambda: mlirad.grad(fresh(tiny)), np.ones(100))
        params = initial_parameters(np.random.default_rng(0))
        network = (params, np.zeros((64, 64)), np.zeros((64, 10)))
        from_cache("the demonstration network", lambda: mlirad.value_and_grad(fresh(loss)), *network)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
