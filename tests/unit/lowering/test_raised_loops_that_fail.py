"""Loops that could be raised, on arrays that overlap and with trips out of range: what they write is what NumPy writes.

Each loop writes into its argument. Python runs the same source on the same arrays, and is the judge: of what is
written, also if an exception ends the loop, of the exception, and of its line.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

LENGTH = 40


def mapped(x, y, p, n):
    for i in range(40):
        y[i] = np.sin(x[i]) * x[i]


def ahead(x, y, p, n):
    for i in range(38):
        y[i] = np.exp(-x[i + 2]) + y[i + 1]


def counted(x, y, p, n):
    for i in range(n):
        y[i] = np.sin(x[i]) * x[i]


def summed(x, y, p, n):
    s = 0.0
    for i in range(n):
        y[i] = np.exp(x[i - 3])
        s += y[i]
    y[0] = s


def gathered(x, y, p, n):
    for i in range(40):
        y[i] = np.sin(x[p[i]])


def rows(x, y, p, n):
    for i in range(n - 38):
        for j in range(20):
            y[20 * i + j] = np.sin(x[j])


def sliding(x, y, p, n):
    for i in range(20):
        y[i] = np.sin(x[i + n]) + x[2 * i + 1]


def falling(x, y, p, n):
    for i in range(n):
        y[2 - i] = np.sin(x[n - i])


def strided(x, y, p, n):
    for i in range(0, n, 3):
        y[i] = np.exp(x[39 - i])


def two_writes(x, y, p, n):
    for i in range(n):
        y[i] = np.sin(x[i])
        x[i + 3] = y[i]


def both_fail(x, y, p, n):
    s = 0.0
    for i in range(n):
        s += np.sin(x[i + 2]) * y[i - n]
    y[1] = s


# --- x and y of 40 numbers each, in one memory; or in two -----------------------------------------------------------


def alone(memory, other):
    return memory[:40], other


def apart(memory, other):
    return memory[:40], memory[45:85]


def same(memory, other):
    return memory[:40], memory[:40]


def behind(memory, other):
    return memory[:40], memory[1:41]


def backwards(memory, other):
    return memory[:40], memory[39::-1]


def on_views(loop: Callable[..., Any], views: Callable[..., Any]) -> Callable[..., Any]:
    def run(memory, other, places, count):
        x, y = views(memory, other)
        loop(x, y, places, count)

    return run


def outcome(run: Callable[..., Any], name: str, places: Any, count: int) -> tuple[Any, Any]:
    """The memory afterwards, and the line and the message of the exception in the loop of that name, if it ends so."""
    memory, other = np.split(np.random.default_rng(3).normal(size=130), [90])
    both = (memory, other)
    try:
        run(*both, places, count)
    except IndexError as error:
        told = re.match(r".*?:(\d+):\d+: (.*)", str(error))  # of compiled code
        if told is not None:
            return both, (int(told[1]), told[2])
        (line,) = {each.lineno for each in traceback.extract_tb(error.__traceback__) if each.name == name}
        return both, (line, str(error))
    return both, None


HUGE = 2**63 - 1
COUNTS = {
    counted: (-1, 0, 1, 17, 40, 41, 70, HUGE),
    summed: (2, 40, 43, 45),
    rows: (37, 40, 41),
    sliding: (0, 20, 21, 40, -1, -20, -40, -41, -60, HUGE, -HUGE - 1),
    falling: (0, 3, 39, 40, 42, 43, HUGE),
    strided: (0, 1, 38, 40, 41, 79, 80, 100),
    two_writes: (0, 5, 37, 38, 41),
    both_fail: (0, 5, 38, 39, 40, 41, 60),
}
WRONG_PLACES = {gathered: (0, 40, -41)}
CASES = [
    *((loop, views) for loop in (mapped, ahead) for views in (apart, same, behind, backwards)),
    *((loop, views) for loop in (counted, gathered) for views in (apart, behind)),
    *((loop, views) for loop in (sliding, falling) for views in (alone, behind)),
    *((loop, apart) for loop in (summed, rows)),
    *((loop, alone) for loop in (counted, summed, strided, two_writes, both_fail)),
]


@pytest.mark.parametrize(("loop", "views"), CASES, ids=lambda function: function.__name__)
def test_what_is_written_is_what_numpy_writes(loop: Callable[..., Any], views: Callable[..., Any]) -> None:
    plain = on_views(loop, views)
    compiled = mlirad.jit(plain)
    failed = 0
    for count in COUNTS.get(loop, (0,)):
        for wrong in WRONG_PLACES.get(loop, (0,)):
            places = np.random.default_rng(5).permutation(LENGTH)
            places[23] = wrong
            wanted, error = outcome(plain, loop.__name__, places, count)
            found, found_error = outcome(compiled, loop.__name__, places, count)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-13, err_msg=f"{count} {wrong}")
            assert found_error == error, (count, wrong)
            failed += error is not None
    assert (failed > 0) == (loop not in (mapped, ahead))


@pytest.mark.parametrize(("views", "is_raised"), [(apart, True), (same, True), (behind, False), (backwards, False)])
def test_a_loop_on_views_is_raised_if_no_trip_reads_what_another_writes(views: Any, is_raised: bool) -> None:
    arguments = np.ones(90), np.ones(40), np.zeros(LENGTH, np.int64), 0
    text = mlirad.jit(on_views(mapped, views)).lower(*arguments).as_text("optimized")
    assert ("scf.for" not in text) == is_raised


@pytest.mark.parametrize("loop", [counted, summed], ids=lambda loop: loop.__name__)
def test_the_trips_that_pass_are_raised(loop: Callable[..., Any]) -> None:
    arguments = np.ones(90), np.ones(40), np.zeros(LENGTH, np.int64), 0
    assert "scf.for" not in mlirad.jit(on_views(loop, alone)).lower(*arguments).as_text("optimized")
