"""Loops that find the largest or smallest number become ops on arrays, which find the number that Python's loop finds.

The plain loops run on numbers that know their place, so the chosen place is known too: it gets the whole cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.analysis.decision_report import Kind


class Placed(float):
    """A number that knows its place in an array."""

    place: int

    @staticmethod
    def all_of(x: np.ndarray) -> list[Placed]:
        found = [Placed(v) for v in x]
        for place, each in enumerate(found):
            each.place = place
        return found


def largest(x: Any) -> Any:
    m = x[0]
    for i in range(1, len(x)):
        m = max(m, x[i])
    return m


def largest_swapped(x: Any) -> Any:
    m = x[0]
    for i in range(1, len(x)):
        m = max(x[i], m)
    return m


def smallest(x: Any) -> Any:
    m = x[0]
    for i in range(1, len(x)):
        m = min(m, x[i])
    return m


def smallest_swapped(x: Any) -> Any:
    m = x[0]
    for i in range(1, len(x)):
        m = min(x[i], m)
    return m


def greater(x: Any) -> Any:
    m = x[0]
    for i in range(1, len(x)):
        if x[i] > m:
            m = x[i]
    return m


def last_of_the_largest(x: Any) -> Any:
    m = x[0]
    for i in range(1, len(x)):
        if x[i] >= m:
            m = x[i]
    return m


def not_less(x: Any) -> Any:
    m = x[0]
    for v in x:
        if not m > v:
            m = v
    return m


def last_of_the_smallest(x: Any) -> Any:
    m = x[3]
    for v in x:
        m = v if m >= v else m
    return m


LOOPS = (
    *(largest, largest_swapped, smallest, smallest_swapped),
    *(greater, last_of_the_largest, not_less, last_of_the_smallest),
)
RANDOM = np.random.default_rng(3)
ARRAYS = {
    "distinct": RANDOM.normal(size=41),
    "ties": RANDOM.integers(-2, 3, 41).astype(float),
    "zeros": np.where(RANDOM.integers(0, 2, 41) > 0, 0.0, -0.0),
    "nan inside": np.where(np.arange(41) % 9 == 4, np.nan, RANDOM.integers(-2, 3, 41)),
    "nan first": np.append([np.nan], RANDOM.normal(size=40)),
    "nan last": np.append(RANDOM.normal(size=40), [np.nan]),
    "nan only": np.full(41, np.nan),
    "infinities": np.where(np.arange(41) % 2, np.inf, -np.inf),
}


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    return {loop.__name__: mlirad.value_and_grad(lambda x, loop=loop: 3.0 * loop(x)) for loop in LOOPS}


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_the_number_is_the_one_that_python_chooses(loop: Callable[..., Any], compiled: dict[str, Any]) -> None:
    for name, x in ARRAYS.items():
        chosen = loop(Placed.all_of(x))
        value, gradient = compiled[loop.__name__](x)
        assert np.float64(3.0 * chosen).tobytes() == np.float64(value).tobytes(), name
        np.testing.assert_array_equal(gradient, 3.0 * (np.arange(41) == chosen.place), name)
    assert "scf.for" not in compiled[loop.__name__].lower(ARRAYS["ties"]).as_text("optimized")


def test_loops_of_any_length() -> None:
    """No trip, one trip, fewer than a vector; float32, and strides."""

    def f(x: Any, n: int) -> Any:
        m, k = -1.0, -5
        for i in range(n):
            if x[i] < m:
                m, k = x[i], i
        return m * m, k

    gradient = mlirad.grad(lambda x, n: f(x, n)[0])
    assert "scf.for" not in gradient.lower(ARRAYS["distinct"], 3).as_text("optimized")
    for x in (ARRAYS["distinct"], ARRAYS["distinct"][::-1], ARRAYS["distinct"].astype(np.float32)):
        for n in (-1, 0, 1, 2, 15, 41):
            assert mlirad.jit(f)(x, n) == f(x, n)
            place = f(x, n)[1]
            np.testing.assert_array_equal(gradient(x, n), np.where(np.arange(41) == place, 2 * x, 0.0))


def test_a_value_is_carried_along_with_the_extreme() -> None:
    """A value of the same trip, which may be computed or the same in all trips."""

    def f(x: Any, y: Any) -> Any:
        m, a, b, c = 0.25, 0.0, 1.0, 7.0
        for i in range(40):
            v, first = np.exp(-x[i] * y[i]), x[0]
            w = x[i] * v
            if v > m:
                m, a, b, c = v, y[i], w, first
        return m + 2.0 * a + 3.0 * b + 4.0 * c

    x, y = RANDOM.normal(size=(2, 40))
    for y in (y, 50.0 + 0.0 * y + np.abs(y), 0.0 * y + 1.0):
        x = np.abs(x) if y[0] > 50 else x
        np.testing.assert_allclose(mlirad.jit(f)(x, y), f(x, y), rtol=1e-14)
        value_and_grad = mlirad.value_and_grad(f, argnums=(0, 1))
        assert "scf.for" not in value_and_grad.lower(x, y).as_text("optimized")
        _, (gx, gy) = value_and_grad(x, y)
        step = 1e-6 * RANDOM.normal(size=(2, 40))
        difference = f(x + step[0], y + step[1]) - f(x - step[0], y - step[1])
        assert 2 * np.sum(gx * step[0] + gy * step[1]) == pytest.approx(difference, rel=1e-4, abs=1e-12)


def test_rows_lanes_and_second_derivatives() -> None:
    def f(a: Any) -> Any:
        s = 0.0
        for i in range(a.shape[0]):
            m = a[i, 0]
            for j in range(1, a.shape[1]):
                m = max(m, a[i, j])
            s += m * m * m
        return s

    a = RANDOM.normal(size=(3, 20))
    peaks = np.max(a, axis=1, keepdims=True)
    np.testing.assert_allclose(mlirad.grad(f)(a), np.where(a == peaks, 3 * a * a, 0.0), rtol=1e-14)
    np.testing.assert_allclose(mlirad.vmap(mlirad.jit(f))(np.stack([a, -a])), [f(a), f(-a)], rtol=1e-14)
    v = RANDOM.normal(size=(3, 20))
    np.testing.assert_allclose(mlirad.hvp(f, (a,), (v,))[0], np.where(a == peaks, 6 * a * v, 0.0), rtol=1e-14)
    np.testing.assert_allclose(mlirad.jvp(f, (a,), (v,))[1], np.sum(np.where(a == peaks, 3 * a * a * v, 0.0)))


def test_an_extreme_that_cancels_is_not_searched_for() -> None:
    """The log-sum-exp of a program with loops: no search for the place of the largest number."""

    def f(x: Any) -> Any:
        m = x[0]
        for v in x:
            if v > m:
                m = v
        s = 0.0
        for v in x:
            s += np.exp(v - m)
        return m + np.log(s)

    gradient = mlirad.grad(f)
    x = ARRAYS["ties"]
    np.testing.assert_allclose(gradient(x), np.exp(x) / np.sum(np.exp(x)), rtol=1e-13)
    text = gradient.lower(x).as_text("optimized")
    assert "nd.running_extreme" in text and "nd.equal" not in text and "scf.for" not in text


def test_loops_that_do_more_stay() -> None:
    def second(x: Any) -> Any:
        m, second = -9.0, -9.0
        for v in x:
            if v > m:
                second = m
                m = v
        return m - second

    def counted(x: Any) -> Any:
        m, changes = -9.0, 0.0
        for v in x:
            if v > m:
                m = v
                changes += 1.0
        return m * changes

    for f in (second, counted):
        kernel = mlirad.jit(f)
        assert not kernel.lower(ARRAYS["ties"]).report().of(Kind.RAISED)
        for x in ARRAYS.values():
            np.testing.assert_array_equal(kernel(x), f(x))


def test_short_rows() -> None:
    """Rows of ten scores: their functions are vectors. Comparisons alone stay, where no derivative needs them."""

    def cross_entropy(a: Any) -> Any:
        total = 0.0
        for i in range(a.shape[0]):
            m = a[i, 0]
            for j in range(1, 10):
                m = max(m, a[i, j])
            s = 0.0
            for j in range(10):
                s += np.exp(a[i, j] - m)
            total += m + np.log(s) - a[i, 3]
        return total

    def largest_of_rows(a: Any) -> Any:
        total = 0.0
        for i in range(a.shape[0]):
            m = a[i, 0]
            for j in range(1, 10):
                m = max(m, a[i, j])
            total += m
        return total

    a = RANDOM.normal(size=(7, 10))
    gradient = mlirad.grad(cross_entropy)
    text = gradient.lower(a).as_text("optimized")
    assert "nd.running_extreme" in text and "nd.equal" not in text
    exponentials = np.exp(a) / np.sum(np.exp(a), axis=1, keepdims=True)
    np.testing.assert_allclose(gradient(a), exponentials - (np.arange(10) == 3), rtol=1e-12, atol=1e-15)
    assert "nd.running_extreme" not in mlirad.jit(largest_of_rows).lower(a).as_text("optimized")
