"""try: where only the run decides whether a statement raises, values and derivatives are as in Python."""

# pyright: reportPossiblyUnboundVariable=false
# (The programs are what is tested.)

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.linalg import LinAlgError, cholesky

import mlirad
from mlirad.errors import CompileError

GOOD = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])
BAD = GOOD - 1.8 * np.eye(3)
X = np.array([1.0, -2.0, 3.0])


def jitter(k):
    jitter = 1e-3
    while True:
        try:
            factor = cholesky(k + jitter * np.eye(len(k)))
            break
        except LinAlgError:
            jitter *= 10
    return np.log(np.diag(factor)).sum() + jitter


def tried_in_turn(k):
    for added in (0.0, 0.5, 3.0):
        try:
            factor = cholesky(k + added * np.eye(3))
            return factor[2] @ factor[2] * np.sum(factor)
        except np.linalg.LinAlgError:
            continue
    raise LinAlgError("not positive definite")


def fallback(k):
    try:
        half = np.log(np.diag(cholesky(k))).sum()
        total = 2 * half
    except LinAlgError as error:
        assert error is not None
        total = np.log(np.abs(np.linalg.eigvalsh(k))).sum()
    else:
        total += 1
    return total + np.sum(k)


def each_of_many(k):
    out, bad = np.zeros(4), 0
    for i in range(4):
        try:
            out[i] = np.sum(cholesky(k - i * 0.4 * np.eye(3)))
        except LinAlgError:
            out[i] = k[0, i % 3] * k[1, 1]
            bad += 1
    return np.sum(out * out) * (1 + bad)


def factorized_twice(k):
    try:
        return np.sum(cholesky(k)) * np.sum(cholesky(k + np.eye(3)))
    except LinAlgError:
        return np.sum(k * k)


def written_before(k):
    y, tries = k[0] * 1.0, 0
    while tries < 6:
        try:
            y[0] += 1
            tries += 1
            y += cholesky(k + (tries - 3) * np.eye(3))[:, 0]
            break
        except LinAlgError:
            y[1] *= 2
    return np.sum(y * y)


def raised_by_a_helper(x):
    def root(value):
        if value < 0:
            raise ValueError("negative")
        return np.sqrt(value)

    total = 0.0
    for value in x:
        try:
            total += root(value)
        except ValueError:
            total -= value * value
    return total


def raised_in_the_try(x):
    try:
        if x[1] > 0:
            raise ValueError("positive")
        y = x * 2
    except (ValueError, KeyError):
        return np.sum(x * x)
    return np.sum(y)


def out_of_range(x, i):
    try:
        return x[i] * x[-i]
    except IndexError:
        return x[0] * x[1]


def divided_by_zero(x, n):
    try:
        times = 7 // n
    except ZeroDivisionError:
        times = 100
    return times * np.sum(x)


def pythons_own(x):
    try:
        return math.sqrt(x[1]) + math.log(x[2]) * x[0]
    except ValueError:
        return x[0] * 2.0


def of_floats(x, i):
    """Python's floats raise where a handler catches it; NumPy's never do."""
    a, b = float(x[0]) * i, float(x[1])
    try:
        b = b / a + math.log1p(a)
    except ZeroDivisionError:
        b = b * 3
    try:
        c = math.exp(b * 400 * i)
    except (OverflowError, ValueError):
        c = -1.0
    try:
        d = x[2] / (x[0] - 1)
    except ZeroDivisionError:
        d = 7.0
    return b + c * a + (d > 1e9)


def asserted(x, i):
    def same(y):
        assert y[0] > i
        return y

    try:
        return np.sum(same(x))
    except AssertionError:
        return np.sum(x * x)


def raised_on_both_sides(x, i):
    try:
        y = x[i]
        return y + {}["a"]
    except LookupError:
        return np.sum(x * 3)


PROGRAMS = [
    *((f, GOOD) for f in (jitter, tried_in_turn, fallback, each_of_many, factorized_twice, written_before)),
    *((f, BAD) for f in (jitter, tried_in_turn, fallback)),
    *((f, x) for f in (raised_by_a_helper, raised_in_the_try, pythons_own) for x in (X, X * X)),
    *((f, X, i) for f in (out_of_range, divided_by_zero, of_floats, asserted, raised_on_both_sides) for i in (0, 7)),
]


@pytest.mark.parametrize(("function", "x", "rest"), [(f, x, rest) for f, x, *rest in PROGRAMS])
def test_as_python(function, x, rest):
    assert mlirad.jit(function)(x, *rest) == pytest.approx(function(x, *rest), rel=1e-12)
    direction = np.random.default_rng(0).standard_normal(x.shape)
    direction = direction + direction.T
    h = 1e-6
    slope = (function(x + h * direction, *rest) - function(x - h * direction, *rest)) / (2 * h)
    assert np.sum(mlirad.grad(function)(x, *rest) * direction) == pytest.approx(slope, rel=1e-6)


def test_other_transforms():
    """A factorization that failed gives no nan, in any mode or lane, or in second derivatives."""
    matrices = np.stack([GOOD, BAD])
    assert mlirad.vmap(fallback)(matrices) == pytest.approx([fallback(GOOD), fallback(BAD)], rel=1e-12)
    slopes = mlirad.vmap(mlirad.grad(fallback))(matrices)
    for function in (fallback, each_of_many):
        for matrix in matrices:
            slope = mlirad.grad(function)(matrix)
            _, tangent = mlirad.jvp(function, (matrix,), (np.eye(3),))
            assert tangent == pytest.approx(np.trace(slope), rel=1e-12)
            h = 1e-6
            ends = [mlirad.grad(function)(matrix + sign * h * np.eye(3)) for sign in (1, -1)]
            (curvature,) = mlirad.hvp(function, (matrix,), (np.eye(3),))
            assert np.allclose(curvature, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-6)
    assert np.allclose(slopes[1], mlirad.grad(fallback)(BAD), rtol=1e-13)


def test_raised_again():
    def other(k):
        try:
            return cholesky(k)
        except LinAlgError as error:
            raise ValueError("not positive") from error

    def same(k):
        try:
            return cholesky(k)
        except LinAlgError:
            raise

    def not_caught(k):
        try:
            return cholesky(k)
        except ValueError if False else ZeroDivisionError:
            return k

    assert np.allclose(mlirad.jit(other)(GOOD), cholesky(GOOD))
    for function, kind in ((other, ValueError), (same, LinAlgError), (not_caught, LinAlgError)):
        with pytest.raises(kind):
            mlirad.jit(function)(BAD)


def in_a_loop(x, i):
    try:
        for k in range(3):
            x = x + x[i + k]
    except IndexError:
        return x * 0.0
    return x


def written_by_the_call(x, i):
    def change(y):
        y[0] = 5.0
        return y[i]

    y = x.copy()
    try:
        y[1] = change(y)
    except IndexError:
        return y
    return y * 2


def assigned_to(x, i):
    y = x.copy()
    try:
        y[i] = 3.0
    except IndexError:
        y[0] = 1.0
    return y


@pytest.mark.parametrize("function", [in_a_loop, written_by_the_call, assigned_to])
def test_what_is_refused(function):
    with pytest.raises(CompileError, match="would catch an exception that may occur at run time here") as refusal:
        mlirad.jit(function)(X, 1)
    assert refusal.value.filename == __file__
