"""Loops that become ops on whole arrays, and loops that stay: values bit for bit, and derivatives.

Each loop says what becomes of it. A raised loop computes its functions in vectors. So the plain loop is run with these
functions, on one number at a time, and must give the same bits, in sums too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.analysis.decision_report import Kind
from mlirad.lowering.clean_up.raise_loops import RaiseLoops

Function = Callable[[Any], Any]

# --- loops that are raised: (sin, exp, x, y) with x and y of 40 numbers ---------------------------------------------


def elementwise(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """y[i] = f(x[i]): one op after the other, on the whole array"""
    out = np.zeros(40)
    for i in range(40):
        out[i] = sin(x[i]) * x[i]
    return out


def chain_and_sum(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """a write that the same trip reads again, and a sum: the sum is in order"""
    out = np.empty(40)
    s = 0.25
    for i in range(40):
        out[i] = sin(x[i]) * y[i]
        s += out[i]
    return s


def two_sums(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """two sums with a function in common: one nest, without an array"""
    s, t = 0.0, 0.0
    for i in range(40):
        e = exp(x[i])
        s += e
        t += e * y[i]
    return t / s


def difference(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """s -= e: the sum of -e"""
    s = 1.0
    for i in range(40):
        s -= exp(x[i])
    return s


def shifted(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """x[i - 1], x[i + 2]: slices"""
    out = np.zeros(40)
    for i in range(1, 38):
        out[i] = sin(x[i - 1]) * exp(x[i + 2])
    return out


def strided(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """2 * i: a slice with a stride"""
    out = np.zeros(40)
    for i in range(20):
        out[i + 10] = sin(x[2 * i])
    return out


def backwards(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """a negative step: slices with negative strides; the sum begins at the end"""
    s = 0.0
    out = np.zeros(40)
    for i in range(39, -1, -1):
        out[39 - i] = sin(x[i])
        s += out[39 - i]
    return out * s


def rows(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """a nest: its inner loop, row by row; its sum goes on from row to row"""
    a, s = np.reshape(x, (2, 20)), 0.0
    out = np.zeros((2, 20))
    for i in range(2):
        for j in range(20):
            out[i, j] = sin(a[i, j]) + y[j]
            s += exp(a[i, j])
    return out * s


def reversed_writes(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """a negative step, and no sum: as if the step were positive"""
    out = np.zeros(40)
    for i in range(38, 0, -1):
        out[i] = sin(x[i - 1]) * i
    return out


def columns(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """the counter along the last axis: slices of rows; a read along the first"""
    a = np.reshape(x, (20, 2))
    out = np.zeros((2, 20))
    for i in range(20):
        out[0, i] = sin(a[i, 1])
        out[1, i] = exp(a[i, 0])
    return out


def choice(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """a branch on the data: both sides, and a select"""
    out = np.zeros(40)
    for i in range(40):
        out[i] = sin(x[i]) if x[i] > 0.1 else exp(y[i]) * 2.0
    return out


def gathered(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """an index that is no multiple of the counter: a gather"""
    s = 0.0
    for i in range(40):
        s += sin(x[(i * 7) % 40]) * y[i]
    return s


def diagonal(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """two indices that move: a gather"""
    a, s = np.outer(x, y), 0.0
    for i in range(40):
        s += sin(a[i, i])
    return s


def counter(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """the counter as a number: 0, 1, 2, ..."""
    s = 0.0
    for i in range(40):
        s += sin(x[i] * (0.1 * i)) / (i + 1)
    return s


def ahead(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """reads of elements that a later trip writes: the values from before the loop"""
    a = x * 1.0
    for i in range(39):
        a[i] = sin(a[i + 1]) + a[i]
    return a


def in_place(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """reads and writes of the same place"""
    a = x * 1.0
    for i in range(40):
        a[i] = a[i] + 0.5
        a[i] *= exp(a[i])
    return a


def of_one_element(sin: Function, exp: Function, x: Any, y: Any) -> Any:
    """reads that are the same in all trips: once"""
    out = np.zeros(40)
    for i in range(40):
        out[i] = sin(x[i] * y[3]) + y[3]
    return out


RAISED = [
    elementwise, chain_and_sum, two_sums, difference, shifted, strided, backwards, reversed_writes, rows, columns,
    choice, gathered, diagonal, counter, ahead, in_place, of_one_element,
]  # fmt: skip


# --- loops that stay --------------------------------------------------------------------------------------------


def recurrence(x: Any, y: Any) -> Any:
    """a trip reads what an earlier one wrote"""
    a = x * 1.0
    for i in range(1, 40):
        a[i] = np.sin(a[i - 1])
    return a


def running(x: Any, y: Any) -> Any:
    """the partial sum is a result"""
    out, s = np.zeros(40), 0.0
    for i in range(40):
        s += np.sin(x[i])
        out[i] = s
    return out


def decayed(x: Any, y: Any) -> Any:
    """no sum: the carried number is multiplied"""
    s = 0.0
    for i in range(40):
        s = 0.5 * s + np.sin(x[i])
    return s


def overwritten(x: Any, y: Any) -> Any:
    """two trips write to one element: the later one wins"""
    a = x * 1.0
    for i in range(39):
        a[i] = np.sin(y[i])
        a[i + 1] = y[i]
    return a


def ahead_of_a_write(x: Any, y: Any) -> Any:
    """a trip reads a later trip's element after a write of its own: one array cannot hold both"""
    a, s = x * 1.0, 0.0
    for i in range(39):
        a[i] = np.sin(y[i])
        s += a[i + 1]
    return a * s


def histogram(x: Any, y: Any) -> Any:
    """indices that depend on data may coincide"""
    a = np.zeros(40)
    for i in range(40):
        a[int(abs(x[i]) * 3) % 40] += np.sin(y[i])
    return a


def apart(x: Any, y: Any) -> Any:
    """elements that are not adjacent: vectors cannot be stored there"""
    a, b = np.zeros(40), np.zeros((20, 2))
    for i in range(20):
        a[2 * i] = np.sin(x[i])
        b[i, 1] = np.exp(x[i])
    return a * np.sum(b)


def one_place(x: Any, y: Any) -> Any:
    """all trips write to one place"""
    a = np.zeros(2)
    for i in range(40):
        a[1] += np.sin(y[i])
    return a


def short(x: Any, y: Any) -> Any:
    """few trips"""
    a = np.zeros(40)
    for i in range(7):
        a[i] = np.sin(x[i])
    return a


def without_function(x: Any, y: Any) -> Any:
    """no function: LLVM vectorises it"""
    a = np.zeros(40)
    for i in range(40):
        a[i] = x[i] * y[i] + 1.0
    return a


def stencil(x: Any, y: Any) -> Any:
    """many elements of one array, for one function: the passes over them cost more than it saves"""
    a = np.zeros(40)
    for i in range(2, 38):
        a[i] = np.exp(x[i - 2] + x[i - 1] + x[i] + x[i + 1] + x[i + 2])
    return a


def may_fail(x: Any, y: Any) -> Any:
    """a trip may raise: earlier writes stay"""
    a = np.zeros(40)
    for i in range(40):
        a[i] = np.sin(x[int(y[i] * 0.0) + i])
    return a


def stops(x: Any, y: Any) -> Any:
    """a break"""
    s = 0.0
    for i in range(40):
        if x[i] > 1e9:
            break
        s += np.sin(x[i])
    return s


def guarded(x: Any, y: Any) -> Any:
    """a branch reads where the other trips may not"""
    s = 0.0
    for i in range(40):
        if i < 39:
            s += np.sin(x[i + 1])
    return s


STAY = [
    recurrence, running, decayed, overwritten, ahead_of_a_write, histogram, apart, one_place, short, without_function,
    stencil, may_fail, stops, guarded,
]  # fmt: skip

X, Y = np.random.default_rng(0).normal(size=(2, 40))


@pytest.fixture
def unraised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RaiseLoops, "apply", lambda *_: None)


def _loops(function: Callable[..., Any], *arguments: Any) -> int:
    return mlirad.jit(function).lower(*arguments).as_text("optimized").count("scf.for")


@pytest.mark.parametrize("loop", RAISED, ids=lambda loop: loop.__name__)
def test_is_raised(loop: Callable[..., Any]) -> None:
    assert _loops(lambda x, y: loop(np.sin, np.exp, x, y), X, Y) == (1 if loop is rows else 0)


@pytest.mark.parametrize("loop", STAY, ids=lambda loop: loop.__name__)
def test_stays(loop: Callable[..., Any]) -> None:
    assert "scf." in mlirad.jit(loop).lower(X, Y).as_text("optimized")


def _packed(x: Any, y: Any) -> Any:
    return tuple(loop(np.sin, np.exp, x, y) for loop in RAISED)


def _total(x: Any, y: Any) -> Any:
    total = 0.0
    for k, result in enumerate(_packed(x, y)):
        total = total + np.sum(np.sqrt(1.5 + result * result)) * (1 + k)
    return total


def test_values_are_those_of_the_plain_loop_to_the_bit() -> None:
    vectors = mlirad.jit(lambda v: (np.sin(v), np.exp(v)))

    def one(number: int) -> Function:
        return lambda v: vectors(np.full(16, v))[number][3]

    for loop, found in zip(RAISED, mlirad.jit(_packed)(X, Y), strict=True):
        expected = loop(one(0), one(1), X.copy(), Y.copy())
        assert np.array_equal(np.asarray(found), np.asarray(expected)), loop.__name__


def test_derivatives_are_those_of_the_loops(request: pytest.FixtureRequest) -> None:
    point, direction = (X, Y), (np.cos(X), np.sin(Y))
    gradient = mlirad.grad(_total, argnums=(0, 1))(*point)
    _, tangent = mlirad.jvp(_total, point, direction)
    request.getfixturevalue("unraised")
    expected = mlirad.grad(lambda x, y: _total(x, y), argnums=(0, 1), cache=False)(*point)
    for found, wanted in zip(gradient, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        tangent, sum(np.sum(g * d) for g, d in zip(expected, direction, strict=True)), rtol=1e-12
    )


def test_gradients_of_nests_are_linear() -> None:
    """The cotangent of an array that all rows share is accumulated in one array, even if each row reads a view of
    it."""

    def f(x: Any) -> Any:
        a, s = np.reshape(x, (-1, 20)), 0.0
        for i in range(a.shape[0]):
            for j in range(20):
                s += np.exp(a[i, j])
        return s

    text = mlirad.jit(mlirad.grad(f)).lower(X).as_text("optimized")
    assert "nd.add_slice" in text[text.rindex("scf.for") :]


def test_a_loop_of_unknown_length() -> None:
    def f(x: Any, n: int) -> Any:
        s = 0.0
        for i in range(n):
            s += np.sin(x[i]) * i
        return s

    for compiled in (mlirad.jit(f, boundscheck=False), mlirad.jit(f)):
        assert "scf.for" not in compiled.lower(X, 3).as_text("optimized")
        for n in (-2, 0, 1, 17, 40):
            assert compiled(X, n) == pytest.approx(f(X, n), rel=1e-14)
    gradient = mlirad.grad(f)
    assert "scf.for" not in gradient.lower(X, 3).as_text("optimized")
    np.testing.assert_allclose(
        gradient(X, 17), np.where(np.arange(40) < 17, np.cos(X) * np.arange(40), 0.0), rtol=1e-14
    )
    with pytest.raises(IndexError, match="index 40 is out of bounds for axis 0 with size 40"):
        gradient(X, 41)


def test_repeated_loops_of_unbounded_length_stay() -> None:
    """The tape could not hold an array of their trips in each trip of the loop around them."""

    def drawn(w: Any, rng: Any) -> Any:
        for _ in range(5):
            for z in rng.normal(w, 0.2, rng.integers(20, 30)):
                w = w + 1e-4 * np.exp(0.1 * z * z)
        return w

    def gradient(w: Any) -> Any:
        return mlirad.grad(drawn)(w, np.random.default_rng(7))

    def value(w: Any) -> Any:
        return drawn(w, np.random.default_rng(7))

    assert gradient(0.6) == pytest.approx((value(0.6 + 1e-6) - value(0.6 - 1e-6)) / 2e-6, rel=1e-7)
    second = mlirad.grad(mlirad.grad(drawn))(0.6, np.random.default_rng(7))
    assert second == pytest.approx((gradient(0.6 + 1e-6) - gradient(0.6 - 1e-6)) / 2e-6, rel=1e-6)


def test_repeated_loops_of_bounded_length_are_raised() -> None:
    def f(w: Any, x: Any) -> Any:
        for _ in range(5):
            s = 0.0
            for z in x[x > 0.1 * w]:
                s = s + np.exp(-z * z * w)
            w = 0.1 * s
        return w

    report = mlirad.grad(f).lower(0.6, X).report()
    assert len(report.of(Kind.RAISED)) == 1
