"""Operators on the bits of integers: Python's, which never lose a bit, and NumPy's, which do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad

NUMBERS = [0, 1, 5, 64, -1, -7, 2**62, -(2**63)]


def connectives(x, y):
    return x & y, x | y, x ^ y, ~x


def shifted(x, n):
    return x << n, x >> n


@pytest.mark.parametrize("x", NUMBERS)
@pytest.mark.parametrize("y", NUMBERS)
def test_python_ints(x: int, y: int) -> None:
    got = mlirad.jit(connectives)(x, y)
    assert got == connectives(x, y) and all(type(each) is int for each in got)


@pytest.mark.parametrize("n", [0, 1, 3, 62, 63, 64, 200])
@pytest.mark.parametrize("x", NUMBERS)
def test_shifts_of_python_ints(x: int, n: int) -> None:
    assert mlirad.jit(lambda x, n: x >> n)(x, n) == x >> n
    if -(2**63) <= x << n < 2**63:
        assert mlirad.jit(shifted)(x, n) == shifted(x, n)
    else:
        with pytest.raises(OverflowError, match="<<"):
            mlirad.jit(shifted)(x, n)


def test_negative_shift_counts() -> None:
    for operation in (lambda x, n: x << n, lambda x, n: x >> n):
        with pytest.raises(ValueError, match="negative shift count"):
            mlirad.jit(operation)(5, -1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_arrays(dtype: Any) -> None:
    x = np.array([0, 1, 5, 100, 127, 93], dtype)
    y = np.array([0, 7, 3, 8, 64, 1], dtype)
    for function in (connectives, shifted):
        for want, got in zip(function(x, y), mlirad.jit(function)(x, y), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_bools_mixed_with_ints() -> None:
    flags, numbers = np.array([True, False, True]), np.array([6, 5, 4])
    for want, got in zip(connectives(flags, numbers), mlirad.jit(connectives)(flags, numbers), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert mlirad.jit(lambda a, b: (a & b, a | 6, a ^ b))(True, False) == (False, 7, True)


def test_in_place() -> None:
    def function(x):
        x &= 12
        x[1:] <<= 1
        x[0] |= 3
        return x

    np.testing.assert_array_equal(mlirad.jit(function)(np.arange(7, 14)), function(np.arange(7, 14)))


@pytest.mark.parametrize("operation", [lambda x: x & 1, lambda x: ~x, lambda x: x << 1])
def test_floats_have_no_bits(operation: Any) -> None:
    for x in (1.5, np.ones(2)):
        with pytest.raises(TypeError):
            mlirad.jit(operation)(x)
