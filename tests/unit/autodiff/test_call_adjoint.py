"""Derivatives of recursive functions: both modes, both orders, against central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from recursive_programs import quicksort

import mlirad
from mlirad.errors import DifferentiationError
from mlirad.testing.interpreted import Interpreted

Function = Callable[[np.ndarray], float]


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * x if n % 2 == 1 else half * half


def halves(x, first, last):
    """Arguments that are only read, with two calls in one body; one call's result is in the other's factor."""
    if last - first == 1:
        return x[first] ** 2 * np.sin(x[first])
    middle = (first + last) // 2
    return halves(x, first, middle) + halves(x, middle, last) * halves(x, first, middle)


def weighted_sort(x):
    a = x * 1.5
    quicksort(a, 0, len(a) - 1)
    s = 0.0
    for i in range(len(a)):
        s += (i + 1.0) * a[i] ** 2
    return s


def simpson(f, a, b, tolerance):
    def refined(a, b, fa, fm, fb, whole, tolerance, depth):
        m = (a + b) / 2
        left, right = f((a + m) / 2), f((m + b) / 2)
        first, second = (m - a) / 6 * (fa + 4 * left + fm), (b - m) / 6 * (fm + 4 * right + fb)
        error = first + second - whole
        if depth >= 20 or abs(error) <= 15 * tolerance:
            return first + second + error / 15
        return refined(a, m, fa, left, fm, first, tolerance / 2, depth + 1) + refined(
            m, b, fm, right, fb, second, tolerance / 2, depth + 1
        )

    fa, fm, fb = f(a), f((a + b) / 2), f(b)
    return refined(a, b, fa, fm, fb, (b - a) / 6 * (fa + 4 * fm + fb), tolerance, 0)


def quadrature(p):
    return simpson(lambda x: np.exp(-p[0] * x) * np.sin(p[1] * x), 0.0, 2.0, 1e-4)


def overwritten(x, i):
    """Each level overwrites one element; the array is used after the recursion, or not."""
    if i >= len(x):
        return 0.0
    v = x[i]
    if v > 0.5:
        x[i] = v * v * 0.5
    return np.sin(v) + x[i] * overwritten(x, i + 1)


def array_is_used(x):
    y = x * 1.0
    return overwritten(y, 0) + (y * y).sum()


def array_is_scratch(x):
    y = x * 1.0
    return overwritten(y, 0)


def in_loops_and_branches(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            s += power(x[i], i + 2) * x[0]
        else:
            j = 0
            while j < i:
                s = s * 0.5 + power(x[j] + s, 3)
                j += 1
    return s


def vectors(x, n):
    """New arrays in each frame, and a loop."""
    if n == 0:
        return x * x
    y = np.sin(x)
    for k in range(n):
        y[k % 3] *= x[0]
    return vectors(y * 0.9, n - 1) * x + y


def many_vectors(x):
    s = 0.0
    for n in range(4):
        s += vectors(x, n).sum()
    return s


def tree(x, n):
    """Calls in a loop with a trip count that depends on the call."""
    t = 0.0
    for i in range(n):
        t = t + tree(x, i) * x[i] + t * t * 0.1
    return np.cos(t) + x[n]


def even(x, n):
    return x * 1.0 if n == 0 else np.sin(odd(x * 1.1, n - 1))


def odd(x, n):
    return x * x if n == 0 else even(x, n - 1) * x


def mutual(x):
    return even(x[0], 5) * odd(x[1], 4) + odd(x[0], 1)


def loops_around_calls(x, n):
    t = x[0]
    for i in range(n):
        t = np.sin(t * x[i % 3])
    if n > 0:
        for _ in range(n + 1):
            t = t * loops_around_calls(x, n - 1) + np.cos(t)
        for i in range(n):
            for k in range(3):
                t = np.sin(t * x[k]) if t > 0.1 * i else t * t
    return t


def minor(x, row, free, after):
    """Signs that alternate, an array that is written and restored, and calls in a loop that all end, or all go on."""
    if row == len(free) - 1:
        return x[3 * row + after[0]]
    total, sign = 0.0, 1.0
    for k in range(len(free)):
        if free[k] == 0:
            free[k] = 1
            last = after[0]
            after[0] = sum_of_unused(free)
            total += sign * x[3 * row + k] * minor(x, row + 1, free, after)
            after[0] = last
            free[k] = 0
            sign = -sign
    return total


def sum_of_unused(free):
    """The last column that no row above has taken."""
    column = 0
    for k in range(len(free)):
        if free[k] == 0:
            column = k
    return column


def determinant(x):
    return minor(x, 0, np.zeros(3, dtype=np.int64), np.zeros(1, dtype=np.int64))


def taken_in_all_trips(x, n):
    """The branch of each trip follows from n, or from the trip. The sign of the sum depends on the number of trips."""
    t, sign, turn = x[0], x[1], n > 2
    for i in range(n):
        t = np.exp(-t) * x[2] if n % 2 == 1 else np.sin(t * sign)
        if turn:
            t = t * np.exp(t - i)
        sign = -sign
        turn = not turn
    return t * sign + (x[0] if turn else x[1] * x[2])


PROGRAMS: list[tuple[Function, np.ndarray]] = [
    (lambda x: power(x[0], 11), np.array([1.1])),
    (lambda x: halves(x, 0, len(x)), np.linspace(0.3, 1.2, 7)),
    (weighted_sort, np.array([0.3, -1.2, 0.9, 2.0, -0.4, 1.3])),
    (quadrature, np.array([1.3, 2.1])),
    (array_is_used, np.linspace(0.3, 1.2, 5)),
    (array_is_scratch, np.linspace(0.3, 1.2, 5)),
    (in_loops_and_branches, np.array([0.4, 0.7, 0.2, 0.9])),
    (many_vectors, np.array([0.4, 0.7, 0.2])),
    (lambda x: tree(x, len(x) - 1), np.linspace(0.1, 0.6, 5)),
    (mutual, np.array([0.4, 0.7])),
    (lambda x: loops_around_calls(x, 2), np.array([0.7, 0.9, 1.1])),
    (determinant, np.array([0.7, 0.9, 1.1, -0.4, 0.2, 0.8, 1.5, 0.3, -0.6])),
]
NAMES = "power halves sort simpson used scratch loops vectors tree mutual around minors".split()
programs = pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=NAMES)


def differences(f: Function, x: np.ndarray) -> np.ndarray:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + step) - f(x - step)) / 2e-6 for step in steps])


@programs
def test_first_order(f: Function, x: np.ndarray) -> None:
    expected, before = differences(f, x), x.copy()
    np.testing.assert_allclose(mlirad.grad(f)(x), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(Interpreted(mlirad.grad(f))(x), expected, rtol=1e-6, atol=1e-8)
    out, pullback = mlirad.vjp(f, x)
    u = np.linspace(1.0, -0.5, len(x))
    value, tangent = mlirad.jvp(f, (x,), (u,))
    assert out == pytest.approx(f(x), rel=1e-12)
    assert value == pytest.approx(f(x), rel=1e-12)
    gradient = pullback(2.0)
    gradient = gradient[0] if isinstance(gradient, tuple) else gradient
    np.testing.assert_allclose(gradient, 2 * expected, rtol=1e-6, atol=1e-8)
    assert tangent == pytest.approx(gradient @ u / 2, rel=1e-10)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(("f", "x"), [PROGRAMS[k] for k in (1, 4, 7)], ids=["halves", "used", "vectors"])
def test_single_precision(f: Function, x: np.ndarray) -> None:
    gradient = mlirad.grad(f)(x.astype(np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, differences(f, x), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("f", "x"), [PROGRAMS[k] for k in (2, 4, 6, 8, 11)], ids=["sort", "used", "loops", "tree", "minors"]
)
def test_second_order(f: Function, x: np.ndarray) -> None:
    u = np.linspace(1.0, -0.5, len(x))
    gradient = mlirad.grad(f)
    expected = differences(lambda x: gradient(x) @ u, x)
    np.testing.assert_allclose(mlirad.grad(lambda x: (mlirad.grad(f)(x) * u).sum())(x), expected, rtol=1e-6, atol=1e-7)
    forward = mlirad.jit(lambda x: mlirad.jvp(mlirad.grad(f), (x,), (u,))[1])
    np.testing.assert_allclose(forward(x), expected, rtol=1e-6, atol=1e-7)
    backward = mlirad.grad(lambda x: mlirad.jvp(f, (x,), (u,))[1])
    np.testing.assert_allclose(backward(x), expected, rtol=1e-6, atol=1e-7)


def test_branches_and_signs_of_trips() -> None:
    x = np.array([0.4, -0.7, 0.9])
    f, gradient = mlirad.jit(taken_in_all_trips), mlirad.grad(taken_in_all_trips)
    for n in (-1, 0, 1, 2, 3, 6):
        assert f(x, n) == pytest.approx(taken_in_all_trips(x, n), rel=1e-14)
        expected = differences(lambda x, n=n: taken_in_all_trips(x, n), x)
        np.testing.assert_allclose(gradient(x, n), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("f", [array_is_scratch, weighted_sort])
def test_work_is_linear(f: Function) -> None:
    """No call creates, copies, fills or adds an array: the tapes of its loops are on its record."""
    text = mlirad.grad(f).lower(np.linspace(0.0, 1.0, 40)[::-1].copy()).as_text("bufferized")
    called = text[text.index("func.func private") :]
    assert "pullback" in called
    assert not any(each in called for each in ("memref.copy", "memref.alloc", "linalg."))


def asks_for_itself(x, n):
    return x if n == 0 else mlirad.grad(lambda y: asks_for_itself(y, n - 1))(x) * x


def gradient_inside(x, n):
    """A recursive function that differentiates another recursive function."""
    return x * 1.0 if n == 0 else mlirad.grad(lambda y: power(y, 3))(x) + gradient_inside(x * 0.9, n - 1)


def test_derivatives_inside_recursion() -> None:
    expected = sum(3 * (1.2 * 0.9**k) ** 2 for k in range(4)) + 1.2 * 0.9**4
    assert mlirad.jit(gradient_inside)(1.2, 4) == pytest.approx(expected)
    derivative = sum(6 * 1.2 * 0.9 ** (2 * k) for k in range(4)) + 0.9**4
    assert mlirad.grad(lambda x: gradient_inside(x, 4))(1.2) == pytest.approx(derivative)

    def traced(x, n):
        return asks_for_itself(x, n)

    with pytest.raises(DifferentiationError, match="derivative of itself"):
        mlirad.jit(traced)(1.2, 3)
