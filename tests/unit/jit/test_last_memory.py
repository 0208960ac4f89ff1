"""`last_memory()`: the memory of a call besides its arguments and results, compared with figures computed by hand."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from taped_loops import power, power_of_700, until

import mlirad

FLOAT = 8


def _rounded(count: int) -> int:
    """Bytes of an array that grows: room for 64 at first, then twice as many each time."""
    size = 64
    while size < count:
        size *= 2
    return FLOAT * size


def checkpointed(how: str | int) -> Any:
    def function(x, n):
        total = 0.0
        for _ in mlirad.checkpointed(range(n), how):
            x = np.sin(x * x)
            total += x
        return total

    return function


def running(x):
    y = x * 2.0
    for i in range(1, len(y)):
        y[i] += y[i - 1]
    return np.sum(y * y)


def nested(x, n):
    if n == 0:
        return x[0]
    row = np.zeros(32)
    row[:] = x[0] + n
    row[n % 32] = 1.0
    return row[0] + nested(row, n - 1) + row[5]


def test_nothing_is_known_before_the_first_call() -> None:
    assert mlirad.grad(lambda x: x * x).last_memory() is None


def test_no_tape() -> None:
    gradient = mlirad.grad(lambda x: 3.0 * x * x)
    gradient(2.0)
    assert gradient.last_memory() == 0


def test_a_temporary_array() -> None:
    function = mlirad.jit(running)
    function(np.arange(1000.0))
    assert 1000 * FLOAT <= function.last_memory() <= 1000 * FLOAT + 64  # a multiple of 64, and a number


def test_a_loop_of_static_trip_count() -> None:
    """For each trip, one value on the tape and one cosine, in the arena, at multiples of 64 bytes."""
    gradient = mlirad.grad(power_of_700)
    gradient(1.3)
    assert gradient.last_memory() == 2 * -(-700 * FLOAT // 64) * 64


def test_a_loop_of_traced_trip_count() -> None:
    """Only requests of the last call count, not memory that earlier calls left."""
    gradient = mlirad.grad(power)
    for n in (1000, 10, 5000, 0, 1):
        gradient(1.3, n)
        assert gradient.last_memory() == n * FLOAT


@pytest.mark.parametrize("n", [0, 64, 65, 1000, 10])
def test_a_while_loop(n: int) -> None:
    gradient = mlirad.grad(until)
    for _ in range(2):  # the second call finds the memory of the first
        gradient(1.3, n)
        assert gradient.last_memory() == _rounded(n)


def test_a_shorter_while_loop_in_the_memory_of_a_longer_one() -> None:
    gradient = mlirad.grad(until)
    for n in (100_000, 20, 0, 300):
        gradient(1.3, n)
        assert gradient.last_memory() == _rounded(n)


def test_checkpointed_loops() -> None:
    """ "sqrt": as many states as there are trips between two of them, each with its tape. A number: states and tape."""
    gradient = mlirad.grad(checkpointed("sqrt"))
    for side in (10, 100, 1000):
        gradient(1.3, side * side)
        assert gradient.last_memory() == 2 * side * FLOAT
    gradient = mlirad.grad(checkpointed(3))
    needed = []
    for n in (100, 10_000):
        gradient(1.3, n)
        needed.append(gradient.last_memory())
    assert needed[0] == needed[1] <= 64 + 4 * FLOAT


def test_every_call_under_way_has_its_array() -> None:
    """32 numbers for each depth, and less than one more frame for the outermost call."""
    function = mlirad.jit(nested)
    for n in (3, 100, 1000, 5):
        function(np.ones(32), n)
        assert n * 32 * FLOAT <= function.last_memory() < (n + 2) * 32 * FLOAT


def test_arrays_that_share_memory_are_another_code() -> None:
    def function(x, y):
        z = x + y
        for i in range(1, len(z)):
            z[i] += z[i - 1]
        x[0] = z[-1]
        return x[0]

    compiled = mlirad.jit(function)
    x = np.arange(100.0)
    compiled(x, np.ones(100))
    apart = compiled.last_memory()
    compiled(x, x)
    assert 0 < compiled.last_memory() <= 2 * 832
    compiled(x, np.ones(100))
    assert compiled.last_memory() == apart


def test_a_call_that_raises() -> None:
    def function(x, n):
        total = 0.0
        for i in range(n):
            total += np.sin(x[i]) * total
        return total

    gradient = mlirad.grad(function)
    gradient(np.ones(10), 10)
    with pytest.raises(IndexError):
        gradient(np.ones(10), 50)
    assert gradient.last_memory() in (50 * FLOAT, 2 * 50 * FLOAT, 3 * 50 * FLOAT)


def test_calls_of_other_threads_count() -> None:
    gradient = mlirad.grad(power)
    gradient(1.3, 10)
    other = threading.Thread(target=gradient, args=(1.3, 77))
    other.start()
    other.join()
    assert gradient.last_memory() == 77 * FLOAT


def test_a_pullback_tells_its_own() -> None:
    _, pullback = mlirad.vjp(lambda x: np.sin(x) * x, np.arange(100.0))
    assert pullback.last_memory() is None
    pullback(np.ones(100))
    assert 0 <= pullback.last_memory() <= 4 * 100 * FLOAT
