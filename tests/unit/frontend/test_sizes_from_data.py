"""Arrays with sizes computed from the contents of others: they may be used, written and reduced, not returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted


def filled_in_a_loop(x):
    z = np.zeros(int(x[2]))
    for i in range(z.shape[0]):
        z[i] = x[i] * i
    return np.sum(z * z) + z.shape[0]


def rows(x):
    z = np.ones((int(x[1]), 3), np.float32)
    z[:, 1] = 2
    z[0] *= np.float32(x[0])
    return np.sum(z, dtype=np.float64)


def counted_first(x):
    n = 0
    for v in x:
        if v > 2.0:
            n += 1
    out, j = np.empty(n), 0
    for v in x:
        if v > 2.0:
            out[j] = v * v
            j += 1
    return np.mean(out) + np.max(out)


def two_of_one_size(x):
    n = int(x[2])
    z, w = np.full(n, x[0]), np.full(n, x[1])
    return np.sum(z * w) + np.sum(z[1:] - w[:-1])


def matrix(x):
    a = np.zeros((int(x[2]), int(x[2])))
    for i in range(a.shape[0]):
        a[i, i] = x[i]
    return np.sum(a @ np.ones(int(x[2])))


def carried(x):
    z = np.zeros(int(x[2]))
    while z.sum() < 10:
        z = z + x[0]
    return z.sum()


def numbered(x):
    k = np.arange(int(x[3]))
    return np.sum(k * x[1]) + np.sum(np.arange(int(x[0]) - 5)) + len(k)


def like_another(x):
    z = np.ones(int(x[2])) * x[1]
    w = np.zeros_like(z) + np.full_like(z, 3.0)
    return np.sum(w * z)


def in_a_helper(x):
    def padded(n, value):
        made = np.full(n + 1, value)
        made[-1] = 0.0
        return made

    return np.sum(padded(int(x[1]), x[2]) ** 2) + padded(int(x[2]), x[0])[0]


X = np.array([1.25, 2.5, 3.75, 4.5, 5.25])
PROGRAMS = [
    *(filled_in_a_loop, rows, counted_first, two_of_one_size, matrix, carried, numbered, like_another, in_a_helper),
]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values(function: Callable[..., Any]) -> None:
    native, interpreted = mlirad.jit(function), Interpreted(function)
    for x in (X, X[::-1].copy()):
        expected = function(x)
        assert native(x) == pytest.approx(expected, rel=1e-14) and interpreted(x) == pytest.approx(expected, rel=1e-14)
    assert native.cache_info().currsize == 1


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(function: Callable[..., Any]) -> None:
    if function is rows:
        return  # float32 in between: differences are too inaccurate
    steps = [(function(X + h) - function(X - h)) / 2e-6 for h in np.eye(5) * 1e-6]
    found = mlirad.grad(function)(X)
    assert np.allclose(found, steps, rtol=1e-6, atol=1e-6)
    t = np.array([1.0, -0.5, 0.25, 2.0, -1.0])
    assert mlirad.jvp(function, (X,), (t,))[1] == pytest.approx(found @ t, rel=1e-12)


def test_errors_of_the_run() -> None:
    def negative(x):
        return np.zeros(-int(x[0])).sum()

    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        mlirad.jit(negative)(X)

    def unequal(x):
        return np.sum(np.zeros(int(x[2])) + np.zeros(int(x[3])))

    def out_of_range(x):
        return np.zeros(int(x[0]))[int(x[1])]

    for function, error in ((unequal, ValueError), (out_of_range, IndexError)):
        with pytest.raises(error):
            function(X)
        with pytest.raises(error, match=r"test_sizes_from_data\.py"):
            mlirad.jit(function)(X)


def test_memory_is_that_of_one_trip() -> None:
    @mlirad.jit
    def trips(x, n):
        total = 0.0
        for i in range(n):
            z = np.zeros(int(x[i % 3]))
            for k in range(1, z.shape[0]):
                z[k] = z[k - 1] * 0.5 + k
            total += np.sum(z[::2])
        return total

    x, needed = np.array([1000.0, 10.0, 500.0]), []
    for n in (10, 1000):
        assert trips(x, n) == pytest.approx(trips.numpy(x, min(n, 10)), rel=1e-12) or n > 10
        needed.append(trips.last_memory())
    assert needed[1] <= needed[0] + 1000


def test_refused_at_the_line() -> None:
    def returned(x):
        y = np.zeros(int(x[0]))
        return y + 1.0

    def needed_in_reverse(x):
        total = 0.0
        for k in range(4):
            z = np.full(int(x[k]), x[k + 1])
            z[0] = k
            total += np.sum(z * z) * x[0]
        return total

    def float_size(x):
        return np.zeros(x[0]).sum()

    first = returned.__code__.co_firstlineno
    np.testing.assert_array_equal(mlirad.jit(returned)(X), returned(X))
    for kernel, message, lines in (
        (mlirad.grad(needed_in_reverse), "its size has no bound that is known", (first + 7, first + 8)),
        (mlirad.jit(float_size), "'float' object cannot be interpreted as an integer", (first + 13,)),
    ):
        with pytest.raises(CompileError, match=message) as caught:
            kernel(X)
        assert caught.value.lineno in lines and "nd." not in str(caught.value)
    assert mlirad.jit(needed_in_reverse)(X) == pytest.approx(needed_in_reverse(X), rel=1e-14)


def test_a_long_loop_of_sizes_says_what_to_write() -> None:
    def sizes(x):
        total = 0.0
        for i in range(300):
            total += np.sum(np.full(i + 1, x[0]))
        return total

    with pytest.raises(
        CompileError, match=r"unrolled 300 times because the shape of .*(.|\n)*use slices of it: work\[:i\]"
    ):
        mlirad.jit(sizes)(X)

    def slices(x):
        total, work = 0.0, np.full(300, x[0])
        for i in range(300):
            total += np.sum(work[: i + 1])
        return total

    assert mlirad.jit(slices)(X) == pytest.approx(sizes(X), rel=1e-13)


def test_what_cannot_be_an_operand_is_named() -> None:
    def filled(x):
        return np.frompyfunc(lambda i: i, 1, 1)

    with pytest.raises(CompileError, match=r"a function cannot be an operand here|np\.frompyfunc is not"):
        mlirad.jit(filled)(X)


def solved_where_free(x):
    """As finite elements are written: the free unknowns are found, and the identity has a known size."""
    free = np.setdiff1d(np.arange(3), [0])
    a = np.outer(x, x) + np.eye(3)
    u = np.zeros(3)
    u[free] = np.linalg.solve(a[np.ix_(free, free)] + np.eye(2), x[free])
    u[0] = np.linalg.solve(a[np.ix_(free, free)], np.ones(2))[1] + np.linalg.solve(np.eye(2) * 2, x[free])[0]
    return u @ x


def test_sizes_known_in_one_operand_of_a_solution() -> None:
    x = np.array([2.0, 3.0, 4.0])
    np.testing.assert_allclose(mlirad.jit(solved_where_free)(x), solved_where_free(x), rtol=1e-13)
    steps = 1e-6 * np.eye(3)
    slopes = [(solved_where_free(x + each) - solved_where_free(x - each)) / 2e-6 for each in steps]
    np.testing.assert_allclose(mlirad.grad(solved_where_free)(x), slopes, rtol=1e-7)
    for size in (1, 2, 4):
        with pytest.raises(ValueError, match=r"mismatch in its core dimension|must have the size"):
            mlirad.jit(lambda y, n=size: np.linalg.solve(np.eye(n), y[y > 1.0]))(x)
