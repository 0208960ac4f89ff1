"""Loops that are checkpointed: gradients equal the plain loop's, memory is less, and the schedule is the best one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import mlirad
from mlirad.autodiff.checkpoint import _next_state
from mlirad.dialect.core import types
from mlirad.testing.expr_functions import function
from mlirad.testing.interpreter import run

WAYS = ["sqrt", "binomial", 1, 2, 5, 100]
Function = Callable[[Any], Any]


def sweeps(how: Any, n: int = 23) -> Function:
    """An array that is overwritten in place, and a sum, over n trips."""

    def f(x: Any) -> Any:
        a = x.copy()
        s = 0.0
        for t in mlirad.checkpointed(range(n), how):
            for i in range(1, len(a) - 1):
                a[i] = np.sin(a[i - 1] * a[i] * a[i + 1] + 0.01 * t) * x[0]
            s += a[2] * x[1]
        return np.sum(a * a) + s

    return f


def until(how: Any) -> Function:
    """A while with a trip count that is known only afterwards, with a break."""

    def f(x: Any) -> Any:
        v, w, k = x[0], x[1] * 0.1, 0
        while mlirad.checkpointed(v * v + w * w < 50.0, how=how):
            v = v + 0.1 * w + 0.02 * x[2]
            w = w + 0.2 * np.sin(v) * x[3] + 0.1
            if w > 2.0:
                w = w * 0.7
            k += 1
            if k == 40:
                break
        return v * w + k

    return f


def nested(how: Any) -> Function:
    """In a branch of a loop, with buffers that are swapped, around a while that is checkpointed too."""

    def f(x: Any) -> Any:
        a, b = x.copy(), x * 0.5
        for t in range(3):
            if a[0] > 0.1:
                for i in mlirad.checkpointed(range(2, 9), how):
                    b[i % 4] = a[i % 3] * a[i % 5] + 0.1 * t
                    y = b[1]
                    while mlirad.checkpointed(y > 0.05, "sqrt"):
                        y = y * 0.5 * (1.0 + a[2] * 0.1)
                    b[2] = b[2] * 0.5 + y
                    a, b = b, a
            a[0] = np.sin(a[0]) + b[1]
        return np.sum(a * b)

    return f


def check(f: Function, x: Any, rtol: float = 1e-6) -> None:
    gradient = mlirad.grad(f)(x)
    for seed in range(2):
        v = np.random.default_rng(seed).standard_normal(x.shape)
        expected = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(np.sum(gradient * v), expected, rtol=rtol, atol=1e-7)


X = np.random.default_rng(1).random(9) + 0.4


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("program", [sweeps, until, nested])
def test_the_gradient_is_that_of_the_loop(program: Callable[[Any], Function], how: Any) -> None:
    check(program(how), X)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("how", ["sqrt", "binomial", 1])
def test_few_trips(how: Any, n: int) -> None:
    def f(x: Any, n: int) -> Any:
        for _ in mlirad.checkpointed(range(n), how):
            x = np.sin(x) * x
        return x

    expected = (f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6
    np.testing.assert_allclose(mlirad.grad(f)(0.7, n), expected, rtol=1e-6)


@pytest.mark.parametrize("how", ["sqrt", "binomial"])
def test_second_order(how: Any) -> None:
    f, v = sweeps(how, 6), np.random.default_rng(3).standard_normal(X.shape)
    gradient = mlirad.grad(f)
    expected = np.sum((gradient(X + 1e-6 * v) - gradient(X - 1e-6 * v)) / 2e-6 * np.cos(X))

    def along(x: Any) -> Any:
        return np.sum(mlirad.grad(f)(x) * np.cos(X))

    np.testing.assert_allclose(np.sum(mlirad.grad(along)(X) * v), expected, rtol=1e-5)
    tangent = mlirad.jvp(gradient, (X,), (v,))[1]
    np.testing.assert_allclose(np.sum(tangent * np.cos(X)), expected, rtol=1e-5)


def test_plain_numpy_sees_the_loop_alone() -> None:
    assert mlirad.checkpointed(range(3), "sqrt") == range(3)
    f = mlirad.jit(sweeps("binomial"))
    np.testing.assert_allclose(f(X), f.numpy(X))


def test_later_stages_know_nothing_of_it() -> None:
    low = mlirad.jit(sweeps("binomial")).lower(X)
    assert 'ad.checkpoint = "binomial"' in low.as_text("tensor")
    assert "ad.checkpoint" not in low.as_text("optimized")


@pytest.mark.parametrize("how", ["square", 0, True])
def test_an_unknown_way_is_refused(how: Any) -> None:
    with pytest.raises(ValueError, match="checkpointed by 'sqrt', 'binomial', or a positive number"):
        mlirad.checkpointed(range(3), how)
    with pytest.raises(ValueError, match="checkpointed by 'sqrt', 'binomial', or a positive number"):
        mlirad.jit(sweeps(how))(X)


def test_it_stands_at_the_head_of_a_loop() -> None:
    def f(x: Any) -> Any:
        trips = mlirad.checkpointed(range(3), "sqrt")
        for _ in trips:
            x = x * x
        return x

    with pytest.raises(mlirad.UnsupportedSyntaxError, match="belongs at the head of a for or while"):
        mlirad.grad(f)(1.0)


def test_a_while_over_values_of_different_types_is_unrolled() -> None:
    def f(x: Any) -> Any:
        parts, total, k = (x, 2.0, x[:2]), 0.0, 0
        while mlirad.checkpointed(k < len(parts), "sqrt"):
            total = total + np.sum(parts[k] * parts[k])
            k += 1
        return total

    x = np.array([1.0, 2.0, 3.0])
    value, gradient = mlirad.value_and_grad(f)(x)
    assert value == f(x) == 23.0
    np.testing.assert_allclose(gradient, [4.0, 8.0, 6.0])


# --- the schedule -----------------------------------------------------------------------------------------------


@cache
def fewest(n: int, slots: int) -> int:
    """The fewest trips run ahead to undo n, with so many states, the first at the beginning."""
    if n == 1:
        return 0
    if slots == 1:
        return n * (n - 1) // 2
    return min(d + fewest(d, slots) + fewest(n - d, slots - 1) for d in range(1, n))


def test_states_are_placed_so_that_the_fewest_trips_are_run() -> None:
    module = ModuleOp([])
    function(module, "next", [types.I64, types.I64], _next_state)

    @cache
    def runs(n: int, slots: int) -> int:
        if n == 1 or slots == 1:
            return n * (n - 1) // 2
        (d,) = (int(d) for d in run(module, "next", np.int64(n), np.int64(slots)))
        assert 0 < d < n
        return d + runs(d, slots) + runs(n - d, slots - 1)

    for slots in (1, 2, 3, 4, 7):
        for n in range(1, 45):
            assert runs(n, slots) == fewest(n, slots), (n, slots)


# --- memory -----------------------------------------------------------------------------------------------------


def kept_bytes(f: Function, x: Any, n: int) -> int:
    """The growable memory that a first call of the gradient leaves for the next one: its peak."""
    gradient = mlirad.grad(f)
    gradient(x, n)
    (made,) = gradient.specializations()
    entry = made.artifact.entry_point(made.built.name)
    return entry._contexts[-1].segment_bytes


@pytest.mark.parametrize(
    ("how", "most"),
    [("sqrt", lambda n: 4 * n**0.5 + 4), ("binomial", lambda n: 3 * np.log2(n) + 8), (5, lambda _: 16.0)],
)
def test_memory(how: Any, most: Callable[[int], float]) -> None:
    """States of 50 numbers, of three trip counts."""

    def f(x: Any, n: int) -> Any:
        for _ in mlirad.checkpointed(range(n), how):
            x = np.sin(x) * 1.01
        return np.sum(x)

    for n in (100, 400, 1600):
        assert kept_bytes(f, np.linspace(0.1, 1.0, 50), n) <= 8 * 50 * most(n)
