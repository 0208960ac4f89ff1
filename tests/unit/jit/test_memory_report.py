"""`lower(...).memory()`: what a call will need, against what `last_memory()` reports after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from taped_loops import power, power_of_700, until

import mlirad
from mlirad.targets.byte_counts import ByteCount, Unknown, applied, bound_of, largest
from mlirad.targets.memory_report import MemoryReport

FLOAT = 8


def in_two_loops(x, n, m):
    total = 0.0
    for _ in range(n):
        for _ in range(m):
            x = np.sin(x * x)
            total += x
    return total


def triangle(x, n):
    total = 0.0
    for i in range(n):
        for _ in range(i):
            x = np.sin(x * x)
            total += x
    return total


def rows(x, n):
    for _ in range(1, n, 2):
        x = np.sin(x * x)
    return np.sum(x)


def by_sqrt(x, n):
    total = 0.0
    for _ in mlirad.checkpointed(range(n), "sqrt"):
        x = np.sin(x * x)
        total += x
    return total


def by_slots(x, n):
    total = 0.0
    for _ in mlirad.checkpointed(range(n), 5):
        x = np.sin(x * x)
        total += x
    return total


def nested(x, n):
    if n == 0:
        return x[0]
    row = np.zeros(32)
    row[:] = x[0] + n
    row[n % 32] = 1.0
    return row[0] + nested(row, n - 1) + row[5]


def recursive(x, n):
    return x if n == 0 else np.sin(recursive(x * x, n - 1))


def either(x, n, chosen):
    if chosen:
        y = np.zeros(n)
        for i in range(n):
            y[i] = np.sin(x[0] + i)
        x[0] = y[n - 1]
    return x[0]


def entangled(x, n):
    k = n
    k = min(k, n + 1) + max(k - 1, n - k)
    k = min(k, n + 2) + max(k - 2, n - k)
    k = min(k, n + 3) + max(k - 3, n - k)
    k = min(k, n + 4) + max(k - 4, n - k)
    k = min(k, n + 5) + max(k - 5, n - k)
    k = min(k, n + 6) + max(k - 6, n - k)
    k = min(k, n + 7) + max(k - 7, n - k)
    k = min(k, n + 8) + max(k - 8, n - k)
    k = min(k, n + 9) + max(k - 9, n - k)
    k = min(k, n + 10) + max(k - 10, n - k)
    for _ in range(min(k, 50)):
        x = np.sin(x * x)
    return x


def running(x):
    y = x * 2.0
    for i in range(1, len(y)):
        y[i] += y[i - 1]
    return np.sum(y * y)


def network(a, b):
    return np.sum(np.tanh(a @ b) @ b)


def line(function: Callable[..., Any], below: int) -> int:
    return function.__code__.co_firstlineno + below


def report(kernel: Any, *args: Any) -> tuple[MemoryReport, int]:
    """The predicted memory, and the memory that the call then needed."""
    predicted = kernel.lower(*args).memory()
    kernel(*args)
    return predicted, kernel.last_memory()


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (power_of_700, (1.3,)),
        (running, (np.arange(1000.0),)),
        (network, (np.ones((40, 30)), np.ones((30, 30)))),
        (lambda x: 3.0 * x * x, (2.0,)),
        (by_slots, (1.3, 100)),
    ],
    ids=["loop", "running", "network", "no tape", "slots"],
)
@pytest.mark.parametrize("transform", [mlirad.jit, mlirad.grad])
def test_what_is_static_is_exact(transform: Any, function: Callable[..., Any], args: Sequence[Any]) -> None:
    predicted, measured = report(transform(function), *args)
    assert predicted.is_exact and predicted.total.static == measured == predicted.arena + predicted.segments.static


def test_a_tape_of_static_trip_count() -> None:
    predicted = mlirad.grad(power_of_700).lower(1.3).memory()
    (tape,) = predicted.tapes
    assert tape.region == "the arena" and not tape.grows
    assert (tape.bytes_per_trip, tape.trips.static, tape.bytes.static) == (FLOAT, 700, 700 * FLOAT)
    assert tape.location.filename == power_of_700.__code__.co_filename and tape.location.lineno == line(power_of_700, 2)


def test_the_formula_of_a_loop() -> None:
    kernel = mlirad.grad(power)
    predicted = kernel.lower(1.3, 7).memory()
    trips = f"trips({line(power, 2)})"
    assert predicted.is_exact and predicted.total.unknowns == (trips,)
    assert str(predicted.total) == f"8 * {trips}"
    for n in (0, 1, 10, 1000):
        kernel(1.3, n)
        assert predicted.total.at({trips: n}) == predicted.total.at(n) == kernel.last_memory() == n * FLOAT
    with pytest.raises(KeyError):
        predicted.total.at({})


def test_what_a_trip_keeps_of_an_array() -> None:
    predicted, measured = report(mlirad.grad(rows), np.ones(5), 10)
    (tape,) = predicted.tapes
    assert tape.bytes_per_trip == 5 * FLOAT and str(tape.trips) == f"trips({line(rows, 1)})"
    assert predicted.total.at(5) == measured == 5 * 5 * FLOAT + 64
    assert predicted.arena == 64 and predicted.results == 5 * FLOAT


def test_two_loops() -> None:
    predicted, measured = report(mlirad.grad(in_two_loops), 1.3, 10, 7)
    outer, inner = (f"trips({line(in_two_loops, below)})" for below in (2, 3))
    assert predicted.total.at({outer: 10, inner: 7}) == measured == 70 * FLOAT


def test_a_tape_that_grows() -> None:
    kernel = mlirad.grad(until)
    predicted = kernel.lower(1.3, 7).memory()
    (tape,) = predicted.tapes
    assert tape.grows and predicted.is_exact
    for n in (0, 64, 65, 1000):
        kernel(1.3, n)
        assert predicted.total.at({f"trips({line(until, 2)})": n}) == kernel.last_memory()
    assert "doubled" in str(predicted)


def test_trips_that_are_only_counted_in_all() -> None:
    kernel = mlirad.grad(triangle)
    predicted = kernel.lower(1.3, 7).memory()
    outer, inner = (f"trips({line(triangle, below)})" for below in (2, 3))
    for n in (1, 10, 50):
        kernel(1.3, n)
        measured = kernel.last_memory()
        assert measured <= predicted.total.at({outer: n, inner: n * (n - 1) // 2}) <= 3 * measured
    assert not predicted.is_exact and "at most" in str(predicted)


def test_checkpoints_by_square_root() -> None:
    kernel = mlirad.grad(by_sqrt)
    predicted = kernel.lower(1.3, 7).memory()
    assert predicted.total.unknowns == (f"trips({line(by_sqrt, 2)})",)
    for n in (0, 1, 2, 99, 100, 101, 1000):
        kernel(1.3, n)
        assert predicted.total.at(n) == kernel.last_memory()
    assert len(predicted.tapes) == 2


def test_frames_of_a_function_that_calls_itself() -> None:
    predicted, measured = report(mlirad.jit(nested), np.ones(32), 10)
    assert measured == predicted.total.at(11) == 11 * 32 * FLOAT
    assert predicted.total.unknowns == (f"calls({line(nested, 0)})",)
    assert [each.kind for each in predicted.buffers].count("frame") == 1


def test_records_of_calls() -> None:
    kernel = mlirad.grad(recursive)
    predicted = kernel.lower(1.3, 7).memory()
    assert all(each.grows for each in predicted.tapes)
    for n in (0, 10, 200):
        kernel(1.3, n)
        assert kernel.last_memory() <= predicted.total.at(3 * (n + 1))


def test_branches() -> None:
    predicted, measured = report(mlirad.jit(either), np.ones(3), 1000, True)
    assert 1000 * FLOAT <= measured <= predicted.total.at(1000) <= 1000 * FLOAT + 64
    predicted, measured = report(mlirad.jit(either), np.ones(3), 1000, False)
    assert measured <= predicted.total.at(1000)


def test_formulas_stay_short() -> None:
    predicted, measured = report(mlirad.grad(entangled), 1.3, 3)
    assert len(str(predicted)) < 2000
    assert measured <= predicted.total.at(50)


def test_nothing_is_run() -> None:
    kernel = mlirad.jit(power)
    kernel.lower(1.3, 10).memory()
    assert kernel.last_memory() is None and kernel.cache_info().misses == 0


def test_what_is_printed() -> None:
    text = repr(mlirad.grad(power_of_700).lower(1.3).memory())
    assert (
        "arena: 11,264 bytes" in text
        and f"{power_of_700.__code__.co_filename}:{line(power_of_700, 2)}" in text
        and "700 trips" in text
    )


def test_byte_counts() -> None:
    n, m = (ByteCount.of(Unknown(name)) for name in "nm")
    assert str(n * 8 + m * n * 2 + 5) == "2 * m * n + 8 * n + 5"
    assert (n * 8 - n * 8).static == 0 and (n - 1).at(5) == 4 and str(n - 1) == "n - 1"
    assert largest(n, n + 1) == n + 1 and str(largest(n, m)) == "max(n, m)"
    assert largest(n, m).at({"n": 3, "m": 4}) == 4
    assert str(largest(largest(n, m), n * m)) == "max(n, m, m * n)"
    bound = bound_of(n * 2 + 3, n + m, m * 4)
    assert bound == n * 2 + 3 + m * 4 and bound.covers(n * 2 + 3)
    assert applied("ceil_div", ByteCount.of(7), ByteCount.of(2)).static == 4
    assert [applied("ceil_sqrt", n).at(k) for k in (0, 1, 4, 5, 9, 10)] == [1, 1, 2, 3, 3, 4]
    assert applied("doubled", ByteCount.of(64), n).unknowns == ("n",)
