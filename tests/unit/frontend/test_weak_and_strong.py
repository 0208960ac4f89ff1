"""Numbers that are Python's on one path and NumPy's on another: the result of plain Python, or a refusal at the line.

A Python number takes the dtype of the other operand (NEP 50), so the value of `m - 10` depends on which of the two m
is.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import mlirad


def in_a_loop(x):
    m = 0
    for v in x:
        if v > 200:
            m = v
    return m


def in_a_while(x):
    m, i = 0, 0
    while i < len(x):
        if x[i] > 200:
            m = x[i]
        i += 1
    return m


def in_an_if(x):
    m = 0
    if x[0] > 200:
        m = x[0]
    return m


def in_an_expression(x):
    return x[0] if x[0] > 200 else 0


def by_or(x):
    return x[0] or 0


def larger(x):
    return max(0, x[0])


def smaller(x):
    return min(7, x[0])


def returned_early(x):
    def first():
        if x[0] > 200:
            return x[0]
        return 0

    return first()


def in_a_list(x):
    items = [0, 1]
    if x[0] > 200:
        items[0] = x[0]
    return items[0]


def in_a_dict(x):
    items = {"m": 0}
    for v in x:
        if v > 200:
            items["m"] = v
    return items["m"]


def in_a_tuple(x):
    pair = (0, 1)
    if x[0] > 200:
        pair = (x[0], 1)
    return pair[0]


JOINS = (in_a_loop, in_a_while, in_an_if, in_an_expression, by_or, larger, smaller)
JOINS += (returned_early, in_a_list, in_a_dict, in_a_tuple)
DTYPES = (np.uint8, np.int8, np.int32, np.int64, np.uint64, np.float32, np.float64)


def dtype_and_numbers(value: Any, loosely: bool) -> tuple[Any, str]:
    """The numbers and the dtype of a value. loosely: a number may be Python's, and then its dtype does not count."""
    array = np.asarray(value)
    is_number = not isinstance(value, np.ndarray) and loosely
    return array.astype(float).tolist(), "" if is_number else str(array.dtype)


def is_same_or_refused(function: Callable[..., Any], *args: Any) -> bool:
    """Whether the kernel gives the function's result; False: it is refused, at a line of this file."""
    try:
        with np.errstate(all="ignore"):
            wanted = function(*args)
    except (OverflowError, ZeroDivisionError, TypeError, ValueError) as error:
        with pytest.raises((type(error), mlirad.CompileError)):
            mlirad.jit(function)(*args)
        return False
    try:
        told = mlirad.jit(function)(*args)
    except mlirad.CompileError as error:
        assert "test_weak_and_strong.py" in str(error) and "help" in str(error), error
        return False
    except OverflowError as error:
        assert "float is equal" in str(error) or "exact float" in str(error) or "does not fit" in str(error), error
        return False
    np.testing.assert_array_equal(dtype_and_numbers(told, True)[0], dtype_and_numbers(wanted, True)[0], str(args))
    if isinstance(wanted, np.ndarray):
        assert told.dtype == wanted.dtype
    return True


# Uses of the joined number, and the dtypes in which they cannot be refused.
USES: tuple[tuple[Callable[[Any], Any], tuple[Any, ...]], ...] = (
    (lambda m: m, DTYPES),
    (lambda m: m > 3, DTYPES),
    (lambda m: m == 0, DTYPES),
    (lambda m: m - 10, (np.int64, np.float64)),
    (lambda m: m * 2, (np.int64, np.float64)),
    (lambda m: m / 4, (np.int64, np.float64)),
    (lambda m: m * 0.5, (np.float64,)),
    (lambda m: -m, (np.int64, np.float64)),
    (lambda m: abs(m), (np.int64, np.float64)),
    (lambda m: m + np.array([1, 2]), (np.int64,)),
    (lambda m: m + np.array([1.0, 2.0]), DTYPES),
    (lambda m: m + np.array([1, 200], np.uint8), ()),
    (lambda m: m * np.array([0.5], np.float32), (np.float32,)),
    (lambda m: np.array([m, m]), (np.int64,)),
    (lambda m: np.where(m > 1, m, np.array([3, 4])), (np.int64,)),
    (lambda m: float(m) / 4.0, DTYPES),
    (lambda m: m**2, (np.int64, np.float64)),
    (lambda m: m // 3, (np.int64, np.float64)),
)


def used_alike(join: Callable[[Any], Any], cases: Sequence[tuple[Any, Any]]) -> int:
    """How many programs were not refused."""
    accepted = 0
    for (use, never_refused), dtype in cases:

        def program(x, join=join, use=use):
            return use(join(x))

        for first in (0, 1):
            x = np.full(3, 100, dtype) * np.asarray(first, dtype)
            is_same = is_same_or_refused(program, x)
            accepted += is_same
            assert is_same or dtype not in never_refused, (join, USES.index((use, never_refused)), dtype)
    return accepted


@pytest.mark.parametrize("join", JOINS)
def test_joins(join) -> None:
    used_alike(join, random.Random(join.__name__).sample(list(product(USES, DTYPES)), 2))


@pytest.mark.full
@pytest.mark.parametrize("join", JOINS)
def test_all_joins(join) -> None:
    assert used_alike(join, list(product(USES, DTYPES))) > 100


def of_largest(join: Callable[[Any], Any], dtype: Any) -> int:
    """Uses of the largest and smallest numbers of a dtype, which other dtypes may not hold."""
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    accepted = 0
    for use, _ in (*USES, *OF_FLOATS):

        def program(x, use=use):
            return use(join(x))

        accepted += sum(is_same_or_refused(program, np.full(3, number, dtype)) for number in (info.max, info.min))
    return accepted


# Operations that Python computes in floats, even for integers.
OF_FLOATS: tuple[tuple[Callable[[Any], Any], tuple[Any, ...]], ...] = (
    (lambda m: m * 1.5, (np.float64,)),
    (lambda m: 0.5 - m, (np.float64,)),
    (lambda m: m // 2.5, (np.float64,)),
    (lambda m: m % 2.5, (np.float64,)),
    (lambda m: m**0.5, (np.float64,)),
    (lambda m: np.float64(m) * 2.0, DTYPES),
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_largest_numbers(dtype) -> None:
    """A uint64 beyond int64 once became a negative float."""
    assert of_largest(in_a_loop, dtype) >= 15


@pytest.mark.full
@pytest.mark.parametrize(("join", "dtype"), list(product(JOINS[1:], DTYPES)))
def test_all_largest_numbers(join, dtype) -> None:
    assert of_largest(join, dtype) >= 6


def test_the_example_of_the_issue() -> None:
    def above(u):
        m = 0
        for v in u:
            if v > 200:
                m = v
        return m - 10

    u = np.zeros(4, np.uint8)
    with pytest.raises(
        mlirad.CompileError, match=r"the int 0 (.|\n)*take different dtypes(.|\n)*start from np.uint8"
    ) as told:
        mlirad.jit(above)(u)
    assert told.value.location is not None and told.value.location.lineno == above.__code__.co_firstlineno + 5

    def typed(u):
        m = u.dtype.type(0)
        for v in u:
            if v > 200:
                m = v
        return m - 10

    with np.errstate(over="ignore"):
        assert mlirad.jit(typed)(u) == typed(u) == 246


def test_everyday_sums_are_accepted() -> None:
    def mean(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s / len(x)

    def smoothed(x, n):
        s = 0.0
        for i in range(n):
            s = 0.9 * s + 0.1 * x[i]
        return s

    def total(x, n):
        s = 0
        for i in range(n):
            s += x[i]
        return s * 2 + 1

    for dtype in (np.float64, np.float32):
        x = np.linspace(0.0, 1.0, 7).astype(dtype)
        for function, *rest in ((mean,), (smoothed, 5)):
            told, wanted = mlirad.jit(function)(x, *rest), function(x, *rest)
            assert told.dtype == wanted.dtype
            np.testing.assert_allclose(told, wanted, rtol=1e-6)
    assert mlirad.jit(total)(np.arange(5), 3) == total(np.arange(5), 3)
    assert mlirad.jit(total)(np.arange(5.0), 0) == 1


def test_items_are_what_the_body_leaves() -> None:
    def totals(x):
        pair, items, named = (0, 0.0), [0.0, -np.inf], {"s": 0.0}
        for i in range(len(x)):
            pair = (pair[0] + 1, pair[1] + x[i])
            items[0] += x[i]
            items[1] = max(items[1], x[i])
            named["s"] += x[i]
            if i == 5:
                break
        return pair[1] / pair[0], items[0] * 0.1, items[1] + 0.1, named["s"] - 0.3

    x = np.linspace(0.0, 1.0, 7).astype(np.float32)
    for told, wanted in zip(mlirad.jit(totals)(x), totals(x), strict=True):
        assert told.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(told, wanted, rtol=1e-6)


def test_zeros_meet_numbers_of_the_run() -> None:
    def means(x, w, n, by):
        s, t = 0.0, 0.0
        for i in range(n):
            s = by * s + x[i] * w[i]
            t += w[i]
        return s / n, s / t, s * by, n * s

    x = np.linspace(0.0, 1.0, 7).astype(np.float32)
    for n, by in ((5, 0.5), (0, 0.5), (0, float("inf")), (1, -0.0)):
        if n:
            with np.errstate(all="ignore"):
                wanted = means(x, x + 1, n, by)
            assert {each.dtype for each in wanted} == {np.dtype(np.float32)}
        else:
            wanted = (np.nan, np.nan, 0.0 * by, 0.0)  # floats that Python does not divide by zero
        told = mlirad.jit(means)(x, x + 1, n, by)
        assert {each.dtype for each in told} == {np.dtype(np.float32)}
        np.testing.assert_allclose(told, wanted, rtol=1e-6)
        assert [repr(float(each))[0] for each in told] == [repr(float(each))[0] for each in wanted]

    def shifted(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s + 1e-8

    with pytest.raises(mlirad.CompileError, match=r"start from np.float32\(0.0\), .*, and not from 0.0"):
        mlirad.jit(shifted)(x, 3)


RELATIONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
INTEGERS = (0, 3, -3, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1, -(2**63))
CONSTANTS = (*INTEGERS, 10**400, -(10**30))
FLOATS = (0.0, 3.5, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**62, 2.0**63, -(2.0**63), 1e300, float("inf"), float("nan"))


def test_pythons_ints_and_floats_are_compared_exactly() -> None:
    def both(n, x):
        return [(relation(n, x), relation(x, n)) for relation in RELATIONS]

    def with_integers(x):
        return [(relation(n, x), relation(x, n)) for relation in RELATIONS for n in CONSTANTS]

    def with_floats(n):
        return [(relation(x, n), relation(n, x)) for relation in RELATIONS for x in FLOATS]

    for n in INTEGERS:
        for x in FLOATS:
            assert mlirad.jit(both)(n, x) == both(n, x), (n, x)
        assert mlirad.jit(with_floats)(n) == with_floats(n), n
    for x in FLOATS:
        assert mlirad.jit(with_integers)(x) == with_integers(x), x


def test_an_int_that_no_float_is_does_not_become_one() -> None:
    def halved(n, x):
        k = n
        if x > 0.0:
            k = 0.5
        return k

    assert mlirad.jit(halved)(2**53, -1.0) == 2**53 and mlirad.jit(halved)(2**53 + 1, 1.0) == 0.5
    with pytest.raises(OverflowError, match="9007199254740993 joins a float here"):
        mlirad.jit(halved)(2**53 + 1, -1.0)
