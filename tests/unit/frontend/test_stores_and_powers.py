"""Stores, casts and powers of numbers of any kind: NumPy's dtypes, NumPy's numbers, NumPy's errors."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import other_numpys
import pytest

import mlirad

DTYPES = (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.bool_)
NAN = float("nan")
NUMBERS = (
    *(300, -1, 300.7, -1.5, -(2.0**63), 1e19, NAN, True),
    *(np.int64(300), np.float64(300.7), np.float64(-1.0), np.float64(1e10), np.float64(NAN), np.float32(1e19)),
    *(np.uint64(2**63 + 5), np.array(NAN), np.array(300.7), np.bool_(True), np.int8(-3)),
)


def item(a, v):
    a[1] = v
    return a


def part(a, v):
    a[1:] = v
    return a


def masked(a, v):
    a[a == 0] = v
    return a


def fancy(a, v):
    a[np.array([0, 2])] = v
    return a


def listed(a, v):
    a[:] = [v, v, v]
    return a


def filled(a, v):
    a.fill(v)
    return a


def full(a, v):
    return np.full(3, v, a.dtype)


def array(a, v):
    return np.array([v, v], a.dtype)


def array_of_one(a, v):
    return np.array(v, a.dtype)


def copied(a, v):
    np.copyto(a, v, casting="unsafe")
    return a


def put(a, v):
    np.put(a, [1], v)
    return a


def added(a, v):
    a += v
    return a


def added_to_one(a, v):
    a[1] += v
    return a


def cast(a, v):
    return np.asarray(v).astype(a.dtype)


STORES = (item, part, masked, fancy, listed, filled, full, array, array_of_one, copied, put)
STORES += (added, added_to_one, cast)


def outcome(function: Callable[..., Any], *args: Any) -> str:
    """The result, its dtype and the final arguments; or the exception."""
    args = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(function(*args))
    except (ValueError, OverflowError, TypeError, ZeroDivisionError, IndexError) as error:
        kinds = (OverflowError, ZeroDivisionError, IndexError, TypeError, ValueError)
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return repr((result.tolist(), result.dtype, [np.asarray(x).tolist() for x in args]))


def same_stores(store: Callable[..., Any], pairs: Sequence[tuple[Any, Any]]) -> None:
    kernel = mlirad.jit(store)
    for dtype, number in pairs:
        args = np.zeros(3, dtype), number
        assert outcome(kernel, *args) == outcome(store, *args), (store.__name__, dtype, repr(number))


@pytest.mark.parametrize("store", STORES)
def test_stores(store) -> None:
    same_stores(store, random.Random(store.__name__).sample(list(product(DTYPES, NUMBERS)), 3))


@pytest.mark.full
@pytest.mark.parametrize("store", STORES)
def test_all_stores(store) -> None:
    same_stores(store, list(product(DTYPES, NUMBERS)))


def test_the_image_that_is_made_lighter() -> None:
    def lighter(image):
        return (image * 2.6).astype(np.uint8)

    image = np.arange(256, dtype=np.uint8).reshape(16, 16)
    np.testing.assert_array_equal(mlirad.jit(lighter)(image), lighter(image))


def test_unsigned_indices() -> None:
    def taken(x, u):
        return x[u]

    def cut(x, u):
        return x[:u].sum() + 10.0 * x[u:].sum()

    x = np.arange(5.0)
    for number in (np.uint64(3), np.uint64(2**63), np.uint64(2**64 - 1), np.array(2**64 - 1, np.uint64)):
        assert outcome(mlirad.jit(taken), x, number) == outcome(taken, x, number)
        assert outcome(mlirad.jit(cut), x, number[()]) == outcome(cut, x, number[()])
    with pytest.raises(OverflowError, match=r"test_stores_and_powers.py:\d+"):
        mlirad.jit(taken)(x, np.uint64(2**64 - 1))


class Two(enum.IntEnum):
    TWO = 2


class Metres(float):
    pass


class Count(int):
    pass


BASES = (
    *(np.array([100, 200], np.uint8), np.array([-3, 2], np.int8), np.array([3, 2]), np.array([True, False])),
    *(np.array([1.5, -2.0]), np.array([1.5, -2.0], np.float32), np.array(7), np.array(True)),
    *(np.uint8(7), np.int64(7), np.float32(1.1), np.float64(-1.1), np.bool_(True), np.uint64(3)),
    *(7, -7, 2.5, True, Two.TWO, Count(3)),
)
EXPONENTS = (
    *(2, -1, 0, 3, 9, 2.0, -2.0, True, 200, Two.TWO, Count(3), Metres(2.0)),
    *(np.int64(2), np.int64(-1), np.uint8(2), np.int8(2), np.int8(-1), np.uint64(2), np.float64(2.0), np.float32(2.0)),
    np.bool_(True),
)


def power(x, y):
    return x**y


def numpys_power(x, y):
    return np.power(x, y)


def raised(x, y):
    x **= y
    return x


def pythons_power(x, y):
    return pow(x, y)


POWERS = (power, numpys_power, raised, pythons_power)


def same_powers(function: Callable[..., Any], pairs: Sequence[tuple[Any, Any]]) -> None:
    kernel = mlirad.jit(function)
    for base, exponent in pairs:
        if isinstance(base, np.ndarray) and function is not numpys_power and not other_numpys.POWERS_PROMOTE:
            continue  # a deviation
        wanted = outcome(function, base, exponent)
        told = outcome(kernel, base, exponent)
        if "dtype('O')" in wanted and told != wanted:
            wanted = "OverflowError"  # Python's ints grow, even while compiling
        if function is raised and wanted == "TypeError" and told == "ValueError":
            continue  # two errors in one line: either may be raised first
        assert told == wanted, (function.__name__, repr(base), repr(exponent))


@pytest.mark.parametrize("function", POWERS)
def test_powers(function) -> None:
    same_powers(function, random.Random(function.__name__).sample(list(product(BASES, EXPONENTS)), 8))


@pytest.mark.full
@pytest.mark.parametrize("function", POWERS)
def test_all_powers(function) -> None:
    same_powers(function, list(product(BASES, EXPONENTS)))


def test_an_exponent_keeps_its_dtype() -> None:
    kernel, base = mlirad.jit(power), np.array([100, 200], np.uint8)
    np.testing.assert_array_equal(kernel(base, np.int64(2)), [10000, 40000])
    np.testing.assert_array_equal(kernel(base, 2), [16, 64])
    with pytest.raises(ValueError, match="negative integer powers"):
        kernel(7, np.int64(-1))
    assert kernel(7, -1) == 1 / 7


CAPTURED: Any = None


@pytest.mark.skipif(not other_numpys.POWERS_PROMOTE, reason="a deviation, on this NumPy")
def test_captured_and_written_exponents() -> None:
    global CAPTURED

    def captured(x):
        return x**CAPTURED, x + CAPTURED

    for CAPTURED in (Two.TWO, Metres(2.5), Count(3), np.int64(2), np.uint8(2), 2, np.float32(2.0)):
        for x in (np.array([100, 200], np.uint8), np.float32(1.5), 7, np.array([1.5], np.float32)):
            told, wanted = mlirad.jit(captured)(x), captured(x)
            for one, other in zip(told, wanted, strict=True):
                assert np.asarray(one).dtype == np.asarray(other).dtype
                np.testing.assert_allclose(one, other, rtol=1e-6)

    def written(x):
        return x ** np.int64(2), x ** np.uint8(2), x**2, x**Two.TWO

    x = np.array([100, 200], np.uint8)
    for one, other in zip(mlirad.jit(written)(x), written(x), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_an_unsigned_index_that_is_known_and_underflows_raises_as_numpys():
    @mlirad.jit
    def f(x):
        return x[np.uint64(0) - np.uint64(1)]

    with pytest.raises(OverflowError, match="Python int too large to convert to C long"), np.errstate(over="ignore"):
        f.numpy(np.ones(3))
    with pytest.raises(OverflowError, match="Python int too large to convert to C long"):
        f(np.ones(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [-2, -3, -6, -8])
def test_slopes_of_small_negative_powers(count: int, dtype: type) -> None:
    """Right where powers of x overflow and the slope does not; forward is reverse."""
    x = np.array([np.inf, -np.inf, np.nan, 1e25, 5000.0, 1.5, -2.0, 1e-3, 1e-25, 0.0], dtype)
    with np.errstate(all="ignore"):
        expected = (count * x.astype(float) ** (count - 1)).astype(dtype)
    tolerance = 1e-5 if dtype is np.float32 else 1e-13
    for function in (lambda x: x**count, lambda x: np.power(x, count)):
        (cotangent,) = mlirad.vjp(function, x)[1](np.ones_like(x))
        tangent = mlirad.jvp(function, (x,), (np.ones_like(x),))[1]
        np.testing.assert_allclose(cotangent, expected, rtol=tolerance, atol=1e-44)
        np.testing.assert_array_equal(tangent, cotangent)
    assert mlirad.grad(lambda r: r**count)(np.inf) == 0.0
