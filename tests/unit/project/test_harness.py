"""The benchmarks' harness: the shortest of turns, and memory measured in a child."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[3] / "benchmarks" / "harness.py"


@pytest.fixture(scope="module")
def harness() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_harness", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_times_are_of_one_call(harness: ModuleType) -> None:
    calls = {"slow": 0, "fast": 0}

    def slow() -> None:
        calls["slow"] += 1
        time.sleep(0.01)

    def fast() -> None:
        calls["fast"] += 1

    times = harness.shortest({"slow": slow, "fast": fast}, rounds=3)
    assert times["slow"] >= 0.01
    assert times["fast"] < times["slow"]
    assert calls["fast"] > calls["slow"] >= 5


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's /proc has the high-water mark")
def test_memory_counts_the_call_and_not_its_preparation(harness: ModuleType) -> None:
    size = 64 * 2**20

    def prepare():
        np.ones(2 * size // 8)
        return lambda: np.ones(size // 8)

    assert harness.high_water(prepare) == pytest.approx(size, rel=0.1)


def test_a_failing_child_is_an_error(harness: ModuleType) -> None:
    def prepare():
        return lambda: 1 / 0

    with pytest.raises(RuntimeError, match="child"):
        harness.high_water(prepare)
