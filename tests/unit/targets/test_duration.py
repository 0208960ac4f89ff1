"""Which calls release the interpreter's lock: those that may take long, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from thread_turns import turns_during

import mlirad
from mlirad.requests.python_functions import copied
from mlirad.targets.cpu.calls.abi import CpuArtifact

SMALL, LARGE = np.ones(8), np.ones(100_000)


def multiply_add(a, b, c):
    return a * b + c


def of_ten_trips(x):
    for _ in range(10):
        x = np.sin(x)
    return x


def of_n_trips(x, n):
    for _ in range(n):
        x = np.sin(x)
    return x


def until(x):
    while x[0] > 0.5:
        x = 0.5 * x
    return x


def deep(x, n):
    return x if n == 0 else deep(0.5 * x, n - 1)


def product(a, b):
    return a @ b


@pytest.mark.parametrize(
    ("function", "args", "is_long"),
    [
        (multiply_add, (SMALL, SMALL, SMALL), False),
        (multiply_add, (LARGE, LARGE, LARGE), True),
        (of_ten_trips, (SMALL,), False),
        (of_ten_trips, (LARGE,), True),
        (of_n_trips, (0.5, 3), True),
        (until, (SMALL,), True),
        (deep, (0.5, 3), True),
        (product, (np.ones((4, 4)), np.ones((4, 4))), False),
        (product, (np.ones((64, 64)), np.ones((64, 64))), True),
    ],
)
def test_who_releases_the_lock(function: Callable[..., Any], args: tuple[Any, ...], is_long: bool) -> None:
    kernel = mlirad.jit(copied(function))  # a separate kernel
    kernel(*args)
    (made,) = kernel.specializations()
    assert isinstance(made.artifact, CpuArtifact)
    assert made.artifact.entries[made.built.name].is_long == is_long


def test_another_thread_runs_during_the_first_call() -> None:
    """A call on the slow path also releases the lock."""

    def count_up(x, n):
        for i in range(n):
            x[i % 3] += 1.0
        return x[0]

    kernel = mlirad.jit(count_up)
    kernel(np.ones(3), 10)
    assert turns_during(lambda: kernel(np.ones(3), 50_000_000)) == 20
