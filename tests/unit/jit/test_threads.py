"""Kernels in several threads: one kernel called by many, many compiled at once, recursion on small stacks."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.jit.specialization_table import MAX_SPECIALIZATIONS

ROUNDS = 1000 if os.environ.get("MLIRAD_FULL") else 50


def decay(x, n):
    s = 0.0
    for _ in range(n):
        s = s * 0.999 + x
    return s


def deep(x, n):
    if n == 0:
        return x
    return np.sin(deep(x, n - 1)) + x


def copies(x):
    """Its code fills arrays, and copies them."""
    y = x.copy()
    y[0] = 0.0
    y[0] += x[0]
    total = np.zeros(())
    for i in range(2):
        total = total + np.sum(x) * 0.5
    return np.sum(x * x) + np.sum(y) * 0.0 + total


def weighted(weight: float) -> Callable[..., Any]:
    def function(x, n):
        s = weight
        for _ in range(n):
            s = s * 0.5 + x * weight
        return s

    return function


def _together(works: Sequence[Callable[[], None]]) -> None:
    """Run each in a separate thread; raise the exception of any of them."""
    raised: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # also what pytest raises
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_eight_threads_on_one_kernel() -> None:
    function, gradient = mlirad.jit(decay), mlirad.grad(decay)

    def work(n: int) -> None:
        for _ in range(ROUNDS):
            assert function(1.5, n) == pytest.approx(decay(1.5, n))
            assert gradient(1.5, n) == pytest.approx(decay(1.0, n))

    _together([lambda n=n: work(n) for n in range(8)])


def test_first_calls_that_come_at_once_compile_once() -> None:
    for weight in range(3):
        kernel = mlirad.jit(weighted(float(weight)), cache=False)
        function, ready = kernel.numpy, threading.Barrier(8)

        def work(x: float, kernel: Any = kernel, function: Any = function, ready: threading.Barrier = ready) -> None:
            ready.wait(10)
            assert kernel(x, 7) == pytest.approx(function(x, 7))

        _together([lambda k=k: work(0.5 * k) for k in range(8)])
        assert kernel.cache_info() == (7, 1, MAX_SPECIALIZATIONS, 1)


def test_after_a_refusal_the_threads_that_waited_are_refused_too() -> None:
    def unsupported(x):
        return np.roots(x)

    kernel, ready, refused = mlirad.jit(unsupported), threading.Barrier(4), []

    def work() -> None:
        ready.wait(10)
        with pytest.raises(mlirad.CompileError, match=r"np\.roots"):
            kernel(np.ones(2))
        refused.append(1)

    _together([work] * 4)
    assert len(refused) == 4


def test_eight_kernels_compiling_at_once() -> None:
    def work(weight: float) -> None:
        for _ in range(max(1, ROUNDS // 50)):
            function, array = weighted(weight), np.full(2, weight)
            assert mlirad.jit(function)(1.5, 7) == pytest.approx(function(1.5, 7))
            np.testing.assert_allclose(mlirad.grad(copies)(array), 2.0 * array + 1.0)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # the threads are at different passes then
    try:
        _together([lambda k=k: work(float(k)) for k in range(8)])
    finally:
        sys.setswitchinterval(before)


def test_operations_are_made_as_if_there_were_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """xDSL's implicit builders change how operations are made in all threads, for as long as they are in use."""

    def refuse() -> None:
        raise AssertionError("an implicit builder")

    monkeypatch.setattr("xdsl.builder._override_operation_post_init", refuse)
    np.testing.assert_allclose(mlirad.grad(copies)(np.ones(3)), 3.0 * np.ones(3))


@pytest.mark.parametrize("kibibytes", [96, 128, 256])
def test_recursion_on_a_small_stack(kibibytes: int) -> None:
    """RecursionError, never an overflow of the native stack; the next call works."""
    function, gradient = mlirad.jit(deep), mlirad.grad(deep)
    expected = function(0.1, 3), gradient(0.1, 3)

    def work() -> None:
        for compiled in (function, gradient):
            with pytest.raises(RecursionError):
                compiled(0.1, 10**6)
        assert (function(0.1, 3), gradient(0.1, 3)) == expected

    before = threading.stack_size(kibibytes << 10)
    try:
        _together([work])
    finally:
        threading.stack_size(before)
