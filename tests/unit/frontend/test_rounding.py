"""Rounding by NumPy, by the module math and by Python: values, dtypes, classes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.testing.interpreted import Interpreted

NUMBERS = [0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 2.4999999999999996, 1e18, -3.7, -0.0, 2.0**52 + 1, 7, True]


@pytest.mark.parametrize("function", [math.floor, math.ceil, math.trunc, round])
def test_python_gets_ints(function: Callable[[Any], int]) -> None:
    compiled = mlirad.jit(lambda x: function(x))
    of_numpy = () if function is math.trunc else (np.float32(2.5), np.int8(-3))
    for number in (*NUMBERS, *of_numpy):
        found = compiled(number)
        assert (type(found), found) == (int, function(number)), number
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        compiled(np.nan)
    for infinity in (np.inf, -np.inf):
        with pytest.raises(OverflowError):
            compiled(infinity)


def test_numpys_numbers_have_no_trunc_but_a_float64() -> None:
    assert mlirad.jit(lambda x: math.trunc(x))(np.float64(-2.5)) == -2
    for number in (np.float32(2.5), np.int8(-3)):
        with pytest.raises(TypeError, match=rf"type numpy.{number.dtype} doesn't define __trunc__ method"):
            mlirad.jit(lambda x: math.trunc(x))(number)


def test_rounded_numbers_are_indices_and_trip_counts() -> None:
    def f(x):
        total = 0.0
        for k in range(math.ceil(x[0])):
            total += x[math.floor(x[1])] * k
        return total

    x = np.array([3.2, 1.9, 0.5])
    assert mlirad.jit(f)(x) == f(x)
    np.testing.assert_allclose(mlirad.grad(f)(x), [0.0, 6.0, 0.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numpys_numbers_are_rounded_to_places(dtype: Any) -> None:
    for number in (2.675, -1234.5678, 0.05):
        for places in (2, 0, -2):
            found = mlirad.jit(lambda x, places=places: round(x[0], places))(np.array([number], dtype))
            wanted = round(dtype(number), places)
            assert (type(found), found) == (type(wanted), wanted)
    with pytest.raises(mlirad.CompileError, match=r"round\(x, n\) of a Python number"):
        mlirad.jit(lambda x: round(x, 2))(2.675)


@pytest.mark.parametrize("ufunc", [np.floor, np.ceil, np.trunc, np.rint])
def test_integers_stay_integers_where_they_do_in_numpy(ufunc: np.ufunc) -> None:
    for x in (np.array([-3, 4]), np.array([200], np.uint8), np.array([True]), np.int64(3), 2.5):
        found, wanted = Interpreted(lambda x: ufunc(x), "tensor")(x), ufunc(x)
        assert found.dtype == wanted.dtype and type(found) is type(wanted)
        np.testing.assert_array_equal(found, wanted)


def test_results_are_written_where_out_says() -> None:
    def f(x, out):
        np.floor(x, out=out[0])
        np.round(x, 1, out[1])
        return np.fix(x, out[2])

    x, out, wanted = np.linspace(-3, 3, 13), np.zeros((3, 13)), np.zeros((3, 13))
    np.testing.assert_array_equal(mlirad.jit(f)(x, out), f(x, wanted))
    np.testing.assert_array_equal(out, wanted)


def test_a_fraction_has_the_derivative_of_the_number() -> None:
    x = np.array([0.3, -1.7, 2.5])
    gradient = mlirad.grad(lambda x: np.sum((x - np.floor(x)) ** 2 + np.rint(x) * x))
    np.testing.assert_allclose(gradient(x), 2 * (x - np.floor(x)) + np.rint(x))
