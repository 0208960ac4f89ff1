"""Python's collector is called rarely while code is compiled, and as before afterwards, whatever happens meanwhile."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import mlirad
from mlirad.jit.collect_rarely import YOUNG, collect_rarely


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[tuple[int, int, int]]:
    usual = gc.get_threshold()
    yield usual
    gc.set_threshold(*usual)


def test_a_compilation_collects_rarely_and_leaves_the_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    seen: list[int] = []

    def look(phase: str, info: dict[str, int]) -> None:
        seen.append(gc.get_threshold()[0])

    def square_and_cube(x):
        return np.sum(x * x) + np.sum(x * x * x)

    mlirad.grad(lambda x: x * x)(1.0)  # imports what compiles
    gc.set_threshold(500, 7, 9)
    gc.callbacks.append(look)
    try:
        mlirad.grad(square_and_cube)(np.ones(3))
    finally:
        gc.callbacks.remove(look)
    assert gc.get_threshold() == (500, 7, 9)
    # Without it there would be tens of collections: twenty thousand objects are made.
    assert len(seen) < 12


def test_an_error_leaves_the_thresholds() -> None:
    gc.set_threshold(600, 7, 9)
    with pytest.raises(mlirad.CompileError):
        mlirad.jit(lambda x: np.roots(x))(np.ones(3))
    assert gc.get_threshold() == (600, 7, 9)


def test_the_last_of_several_threads_restores_them() -> None:
    gc.set_threshold(700, 7, 9)
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with collect_rarely():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=stay)
    with collect_rarely():
        thread.start()
        assert entered.wait(10)
    assert gc.get_threshold() == (YOUNG, 7, 9)
    leave.set()
    thread.join()
    assert gc.get_threshold() == (700, 7, 9)


@pytest.mark.parametrize("first", [0, 10 * YOUNG])
def test_a_program_that_collects_never_or_more_rarely_goes_on_so(first: int) -> None:
    gc.set_threshold(first, 7, 9)
    with collect_rarely():
        assert gc.get_threshold() == (first, 7, 9)
    assert gc.get_threshold() == (first, 7, 9)


def test_what_the_program_sets_meanwhile_stays() -> None:
    with collect_rarely():
        gc.set_threshold(800, 1, 2)
    assert gc.get_threshold() == (800, 1, 2)
