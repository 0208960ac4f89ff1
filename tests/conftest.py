"""Reads: MLIRAD_CI, MLIRAD_FULL. Writes: nothing. Leaves: Hypothesis profiles, the `full` tier and the judges."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import NoReturn

import forked_scripts
import hypothesis
import pytest

# Separate packages; their tests run where they are installed.
collect_ignore = ["plugins"]

# No test finds code that was compiled before, and none leaves any with the user; the cache's own tests turn it on.
os.environ["MLIRAD_CACHE"] = "0"

# A compilation makes some hundred thousand objects, and Python's collector would scan those of all tests so far again
# and again: up to a tenth of the time of a file with large programs.
gc.set_threshold(200_000, *gc.get_threshold()[1:])

# Derandomised: the same tree gives the same verdict. `make full` looks further, at other examples each time.
hypothesis.settings.register_profile("push", deadline=None, max_examples=25, derandomize=True, database=None)
hypothesis.settings.register_profile("full", deadline=None, max_examples=500)
hypothesis.settings.load_profile("full" if os.environ.get("MLIRAD_FULL") else "push")


# Seconds after which a test is a hang: its process writes the stacks of all threads and ends, which is a failure.
TIME_LIMIT = 300
FULL_TIME_LIMIT = 7200

ABOVE_LLVM = frozenset({"frontend", "library", "derivatives", "autodiff", "nn"})
"""Rooms whose tests find no fault of generated code that other rooms would not."""
IS_REPEAT = pytest.StashKey[bool]()
"""Whether a test is one of ABOVE_LLVM, with other parameters than the first."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    limit = FULL_TIME_LIMIT if os.environ.get("MLIRAD_FULL") else TIME_LIMIT
    for item in items:
        item.add_marker(pytest.mark.timeout(limit, method="thread"))  # tests use the timers of signals themselves
    if os.environ.get("MLIRAD_FULL"):
        return
    # Thousands, whose reports of being skipped would take seconds. `make full` runs them.
    later = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=later)
    left_out = set(later)
    items[:] = [item for item in items if item not in left_out]
    note_repeats(items)
    # Thousands of short tests come last, so that no process waits long for the other one.
    items.sort(key=lambda item: item.path.name == "test_catalogue.py")


def note_repeats(items: list[pytest.Item]) -> None:
    seen: set[str] = set()
    for item in items:
        called = item.nodeid.partition("[")[0]
        item.stash[IS_REPEAT] = called in seen and not ABOVE_LLVM.isdisjoint(called.split("/"))
        seen.add(called)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """LLVM optimises the kernels of the first parameters of each test, and leaves out its passes for the others, in the
    rooms that know nothing of LLVM (decision 134)."""
    if not item.stash.get(IS_REPEAT, False):
        return (yield)
    os.environ["MLIRAD_TARGET_OPTIONS"] = "cpu.unoptimised=True"
    try:
        return (yield)
    finally:
        del os.environ["MLIRAD_TARGET_OPTIONS"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The modules and the tests stay until the end: the collector looks at them once, and not while they are made."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture
def control_c() -> Iterator[None]:
    """Python's handler of SIGINT, also where the tests were started with the signal ignored (nohup, cron)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def young_heap() -> None:
    """`gc.collect` looks at what the tests of this file make, and not at the millions of objects of those before: one
    collection of these takes seconds. Those before stay out of later collections too."""
    gc.collect()
    gc.freeze()


def absent(message: str) -> NoReturn:
    """A judge that is not installed: a failure in CI, elsewhere a reason to skip."""
    if os.environ.get("MLIRAD_CI"):
        pytest.fail(f"{message}; CI needs it")
    pytest.skip(message)


@pytest.fixture(scope="session")
def mlir_opt() -> Callable[..., str]:
    """MLIR's own verifier: `mlir_opt(text, *flags)` gives its output, and fails the test if it refuses the text."""
    program = shutil.which("mlir-opt-19")
    if program is None:
        absent("mlir-opt-19 is not installed (Debian: mlir-19-tools)")

    def run(text: str, *flags: str) -> str:
        done = subprocess.run([program, *flags], input=text, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"mlir-opt-19 refuses it:\n{done.stderr}\n--- the text ---\n{text}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def scripts() -> Iterator[forked_scripts.Scripts]:
    with forked_scripts.started() as found:
        yield found


@pytest.fixture(scope="session")
def ascend_tools() -> Path:
    """The folder of `bishengir-opt` and `bishengir-compile`, Huawei's open compiler for the Ascend target."""
    found = importlib.util.find_spec("ascendnpuir")
    if found is None or found.origin is None:
        absent("ascendnpu-ir is not installed (pip install 'mlirad[oracles]'; Linux on x86-64)")
    return Path(found.origin).parent / "bin"
