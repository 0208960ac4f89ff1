"""Comprehensions with lengths known only at run time: loops that fill a list. Compared with Python and with
differences."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.testing.interpreted import Interpreted

X = np.array([0.3, 0.5, 0.7])
HALF = 0.5


def of_a_slice(x, n):
    return [np.sin(v) * HALF for v in x[:n]]


def with_a_condition(x, n):
    return [i * x[0] for i in range(n) if x[i % 3] > 0.4]


def nested_generators(x, n):
    return [(i, j * x[1]) for i in range(n) for j in range(i) if (i + j) % 2 if x[1] * j > 0.5]


def of_a_tuple(x, n):
    return [v for v in (x[0], x[1], 7.0 * x[2]) if v > 0.4]


def of_iterators(x, n):
    products = [a * b for a, b in zip(x, reversed(x), strict=True) if a * n < b * 3]
    return products, [i for i, v in enumerate(reversed(x)) if v > 0.4]


def in_comprehensions(x, n):
    def square(v):
        return v * v

    best = [i for i in range(3) if x[i] > 0.4]
    rows = [[x[0] * i * j for j in range(3)] for i in range(n)]
    return [square(u) for u in [square(v) for v in x if v > 0.4]], best, [x[i] for i in best], rows


def of_arrays(x, n):
    return [x * i for i in range(n)], [(v, x) for v in x if v > 0.4]


def consumed(x, n):
    total = sum([np.sin(x[0] * i) for i in range(n + 1)]) + sum(x[i % 3] ** 2 for i in range(n + 1))
    least, doubled = min([v for v in x if v > 0.4]), list(v * 2 for v in x if v < 0.6)  # noqa: C400  (as users write it)
    return total, max(v * v for v in x if v > 0.4), least, doubled


def of_truths(x, n):
    return any([v > 0.6 for v in x if v > 0.4]), all([x[i] > 0 for i in range(n % 3)])  # noqa: C419  (as users write it)


def short_circuits(x, n):
    numbers = (0.0, 1.0, 0.25)
    known = [1 / v for v in numbers if v != 0 if 1 / v > 2]
    positions = [i for i in range(n) if i < 3 if x[i] > 0.4]
    return known, positions, {k: 1 / k for k in (0, 2) if k if 1 / k < 1}


PROGRAMS = [
    of_a_slice,
    with_a_condition,
    nested_generators,
    of_a_tuple,
    of_iterators,
    in_comprehensions,
    of_arrays,
    consumed,
    of_truths,
    short_circuits,
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_what_python_makes(function: Callable[..., Any]) -> None:
    kernel = mlirad.jit(function)
    for n in (0, 1, 3, 7):
        # Equal to the last bit, and with the same types: `str` shows both.
        assert str(kernel(X, n)) == str(function(X, n))


def weighted(x, n):
    chosen = [v * v * i for i, v in enumerate(x) if v > 0.4]
    s = 0.0
    for k, each in enumerate([np.sin(x[k % 3] * k) for k in range(n)]):
        s = s + each * k + sum([v * 2 for v in chosen])
    return s + sum(np.cos(v) for v in x for _ in range(n) if v < 0.6) + np.sum(np.array([x * i for i in range(n + 1)]))


def test_derivatives() -> None:
    e = 1e-6
    wanted = [(weighted(X + step, 5) - weighted(X - step, 5)) / (2 * e) for step in e * np.eye(3)]
    slope = Interpreted(Grad(weighted, 0))
    np.testing.assert_allclose(slope(X, 5), wanted, rtol=1e-6)
    if os.environ.get("MLIRAD_FULL"):
        np.testing.assert_allclose(mlirad.value_and_grad(weighted)(X, 5)[1], wanted, rtol=1e-6)


def test_the_trips_do_not_specialise() -> None:
    def squares(x, n):
        return sum([x * i for i in range(n)])

    kernel = mlirad.jit(squares)
    text = kernel.lower(0.5, 3).as_text("tensor")
    assert text.count("scf.for") == 2
    assert kernel(0.5, 20_000) == squares(0.5, 20_000)


def test_long_lists_of_numbers_are_filled_by_a_loop() -> None:
    def long(x):
        return [x * i for i in range(5000)]

    def listed(x):
        return [x * i for i in range(5000) if i % 7 == 2]

    for function in (long, listed):
        assert mlirad.jit(function)(0.5) == function(0.5)
        assert mlirad.jit(function).lower(0.5).as_text("tensor").count("arith.") < 100


def test_long_lists_of_other_things_are_not() -> None:
    def long(x):
        names = [f"{i}" for i in range(250)]
        squares = [i * i for i in range(250)]
        mixed = [x if i % 2 else (x, i) for i in range(250)]
        return names, squares[7], mixed[:3], np.zeros(squares[3])

    found, wanted = mlirad.jit(long)(0.5), long(0.5)
    assert found[:3] == wanted[:3]
    np.testing.assert_array_equal(found[3], wanted[3])


def test_listed_rows_do_not_hold_the_array() -> None:
    def rows(a, n):
        listed = [a[i] for i in range(n)]
        a[0, 0] = 7.0
        return listed[0] * 1.0

    a = np.ones((210, 2))
    for n in (3, 205):
        np.testing.assert_array_equal(mlirad.jit(rows)(a.copy(), n), rows(a.copy(), n))


def test_indices_are_checked() -> None:
    def beyond(x, n):
        return [x[i] for i in range(n) if x[i] > 0]

    assert mlirad.jit(beyond)(X, 3) == beyond(X, 3)
    with pytest.raises(IndexError):
        mlirad.jit(beyond)(X, 4)

    def last(x):
        return [v for v in x if v > 10][-1]

    with pytest.raises(IndexError, match="list index out of range"):
        mlirad.jit(last)(X)
    assert mlirad.jit(last)(100 * X) == 70.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: {i: v for i, v in enumerate(x) if v > 0.4}, "which keys this dict has"),
        (lambda x: [(y := v) for v in x if v > 0.4], ":= inside a comprehension"),  # noqa: F841  (refused)
        (lambda x: any(map(np.isfinite, x)), "stop early"),
        (lambda x: [x[: i + 1] for i, v in enumerate(x) if v > 0.4], "differ in type or shape"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        mlirad.jit(function)(X)
    assert caught.value.location is not None


def test_a_sum_of_arrays_that_may_be_none() -> None:
    @mlirad.jit
    def f(x, n):
        return sum(x * k for k in range(n))

    np.testing.assert_array_equal(f(np.ones(2), 3), [3.0, 3.0])
    with pytest.raises(ValueError, match=r"sum\(\) of no arrays"):
        f(np.ones(2), 0)
