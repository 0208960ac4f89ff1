"""The benchmarks' harness: times taken in turns, and memory measured in a child."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[3] / "benchmarks" / "harness.py"

# The harness collects garbage before it measures.
pytestmark = pytest.mark.usefixtures("young_heap")


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


@pytest.mark.parametrize("slow_calls", [1, 4])
def test_work_whose_first_calls_are_slow_has_whole_samples(harness: ModuleType, slow_calls: int) -> None:
    """Samples of a few calls would begin with cold caches each time, and another contender's would not."""
    now = 0.0
    lengths = iter([1e-3 if number <= slow_calls else 1e-5 for number in range(1, 21)])

    def work() -> None:
        nonlocal now
        now += next(lengths)

    assert harness.usual_length(work, lambda: now) == pytest.approx(1e-5)


def test_no_contender_always_follows_the_same_one(harness: ModuleType) -> None:
    calls: list[str] = []

    def contender(name: str) -> Callable[[], None]:
        return lambda: calls.append(name) or time.sleep(2e-3)

    samples = harness.samples_in_turns({name: contender(name) for name in "abc"}, range(12, 12), 0.0)
    assert {name: len(each) for name, each in samples.items()} == dict.fromkeys("abc", 12)
    rounds = ["".join(calls[k : k + 3]) for k in range(24, len(calls), 3)]  # behind eight calls of each
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert {each[:2] for each in rounds} | {each[1:] for each in rounds} == {"ab", "ac", "ba", "bc", "ca", "cb"}


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
