"""Reads: MLIRAD_CI, MLIRAD_FULL. Writes: nothing. Leaves: Hypothesis profiles, the `full` tier and the judges."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

# Packages of their own, whose tests run where they are installed.
collect_ignore = ["plugins"]

# No test finds code that was compiled before, and none leaves any with the user; the cache's own tests turn it on.
os.environ["MLIRAD_CACHE"] = "0"

# Derandomised: the same tree gives the same verdict. `make full` looks further, at other examples each time.
hypothesis.settings.register_profile("push", deadline=None, max_examples=25, derandomize=True, database=None)
hypothesis.settings.register_profile("full", deadline=None, max_examples=500)
hypothesis.settings.load_profile("full" if os.environ.get("MLIRAD_FULL") else "push")


# Seconds after which a test is a hang: its process writes the stacks of all threads and ends, which is a failure.
TIME_LIMIT = 300
FULL_TIME_LIMIT = 7200


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    limit = FULL_TIME_LIMIT if os.environ.get("MLIRAD_FULL") else TIME_LIMIT
    for item in items:
        item.add_marker(pytest.mark.timeout(limit, method="thread"))  # tests use the timers of signals themselves
    if os.environ.get("MLIRAD_FULL"):
        return
    skip = pytest.mark.skip(reason="only in the full tier: make full")
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(skip)


@pytest.fixture
def control_c() -> Iterator[None]:
    """Python's handler of SIGINT, also where the tests were started with the signal ignored (nohup, cron)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def young_heap() -> Iterator[None]:
    """`gc.collect` looks at what the tests of this file make, and not at the millions of objects of those before: one
    collection of these takes seconds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session")
def mlir_opt() -> Callable[..., str]:
    """MLIR's own verifier: `mlir_opt(text, *flags)` gives its output, and fails the test if it refuses the text."""
    program = shutil.which("mlir-opt-19")
    if program is None:
        if os.environ.get("MLIRAD_CI"):
            pytest.fail("mlir-opt-19 is not installed, and CI needs it (Debian: mlir-19-tools)")
        pytest.skip("mlir-opt-19 is not installed (Debian: mlir-19-tools)")

    def run(text: str, *flags: str) -> str:
        done = subprocess.run([program, *flags], input=text, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"mlir-opt-19 refuses it:\n{done.stderr}\n--- the text ---\n{text}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def ascend_tools() -> Path:
    """The folder of `bishengir-opt` and `bishengir-compile`, Huawei's open compiler for the Ascend target."""
    found = importlib.util.find_spec("ascendnpuir")
    if found is None or found.origin is None:
        message = "ascendnpu-ir is not installed (pip install 'mlirad[oracles]'; Linux on x86-64)"
        if os.environ.get("MLIRAD_CI"):
            pytest.fail(f"{message}, and CI needs it")
        pytest.skip(message)
    return Path(found.origin).parent / "bin"


@pytest.fixture(scope="session")
def bishengir_opt(ascend_tools: Path) -> Callable[..., str]:
    """Huawei's verifier: `bishengir_opt(text, *flags)` gives its output, and fails the test if it refuses the text."""

    def run(text: str, *flags: str) -> str:
        command = [str(ascend_tools / "bishengir-opt"), *flags]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"bishengir-opt refuses it:\n{done.stderr}\n--- the text ---\n{text}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def bishengir_compile(ascend_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], set[str]]:
    """Huawei's compiler as far as it is open: `bishengir_compile(text)` gives the library functions that it calls.

    It fails the test if the compiler refuses the text, leaves an instruction, or calls what the device's library lacks.
    """
    libraries = b"".join(path.read_bytes() for path in (ascend_tools.parent / "lib").glob("meta_op*.c220.bc"))

    def run(text: str) -> set[str]:
        folder = tmp_path_factory.mktemp("bishengir")
        source, made = folder / "kernel.mlir", folder / "module.hivm.opt.mlir"
        source.write_text(text, encoding="utf-8")
        command = [str(ascend_tools / "bishengir-compile"), str(source), "-enable-hivm-compile"]
        command += ["--target=Ascend910B1", f"--save-temps={folder}", "-o", str(folder / "kernel.o")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        log = done.stdout + done.stderr
        errors = [line for line in log.splitlines() if "error:" in line]
        assert len(errors) == 1 and "External hivmc run fails" in errors[0], f"{log}\n--- the text ---\n{text}"
        lowered = made.read_text(encoding="utf-8")
        assert not re.search(r"hivm\.hir\.(v[a-z]+|load|store|nd2nz|mmadL1|fixpipe)\b", lowered), lowered
        called = set(re.findall(r"func\.func private @(\w+)", lowered))
        missing = {name for name in called if name.encode() not in libraries}
        assert not missing, f"the device's library lacks {missing}"
        return called

    return run
