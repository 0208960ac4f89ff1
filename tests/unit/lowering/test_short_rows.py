"""Functions of short rows, which have nests of their own that go along several rows: NumPy's values, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad


def programs(x, w):
    """Broadcast operands before a function and behind it, sums of rows, columns and everything, one after the other."""
    shifted = x - x.max(axis=1, keepdims=True)
    e = np.exp(shifted)
    shares = e / e.sum(axis=1, keepdims=True)
    low = np.tanh(x * w) + shifted[:, :1]
    return shares, low, np.sum(shares * np.log(shares + 1), axis=1), np.sum(np.sin(low)), np.sum(np.cos(x), axis=0)


@pytest.mark.parametrize(
    ("dtype", "rows", "columns"),
    [(np.float64, 351, 5), (np.float64, 103, 11), (np.float32, 700, 3), (np.float32, 1025, 1)],
)
def test_values_are_those_of_numpy(dtype, rows, columns):
    random = np.random.default_rng(rows)
    x, w = random.normal(size=(rows, columns)).astype(dtype), random.normal(size=columns).astype(dtype)
    tolerance = 200 * np.finfo(dtype).eps
    for given in (x, x[::-1]):
        expected = programs(given.astype(np.float64), w.astype(np.float64))
        for own, other in zip(mlirad.jit(programs)(given, w), expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance * np.max(np.abs(other)))


def test_infinite_and_missing_numbers_stay_in_their_rows():
    def f(x):
        return np.exp(x - x.max(axis=1, keepdims=True))

    x = np.random.default_rng(0).normal(size=(400, 3))
    x[5, 1], x[6, 2], x[7] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = f(x)
    np.testing.assert_allclose(mlirad.jit(f)(x), expected, rtol=1e-14)


def test_derivatives():
    random = np.random.default_rng(3)
    x, w = random.normal(size=(206, 5)), random.normal(size=5)
    mlirad.check_grads(lambda x, w: sum(np.sum(y * y) for y in programs(x, w)), (x, w), order=1)
