"""The scenarios of benchmarks/endurance.py: a round of each here, a thousand in the full tier."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import mlirad
from mlirad.lowering.to_loops import parallel_nest

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "endurance.py"
NAMES = (
    "eight threads on one kernel",
    "eight kernels compiling at once",
    "forks while others compile",
    "four processes on one cold cache",
    "eight threads on one parallel kernel",
    "forks while threads share work",
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("endurance", SCRIPT)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["endurance"] = made
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The changes of scenarios to their process."""
    monkeypatch.setattr(parallel_nest, "BLOCK", parallel_nest.BLOCK)
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    threads, interval = mlirad.get_num_threads(), sys.getswitchinterval()
    yield
    mlirad.set_num_threads(threads)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("name", NAMES)
def test_a_round(name: str, script: ModuleType) -> None:
    tally = script.Tally()
    script.SCENARIOS[name](1, tally)
    assert tally.counts["calls"] > 0
    assert tally.counts["wrong"] == 0


def test_all_scenarios_are_here(script: ModuleType) -> None:
    assert tuple(script.SCENARIOS) == NAMES


def test_a_wrong_answer_is_noticed(script: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    tally = script.Tally()
    tally.check(1.0, 1.0 + 1e-9)
    with tally.noticing():
        raise ValueError("noticed")
    script.in_child(lambda: tally.check(1.0, 2.0), tally)
    assert tally.counts["wrong"] == 3
    assert "noticed" in capfd.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_rounds(name: str) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", SCRIPT, "1000", name], check=False)
    assert done.returncode == 0
