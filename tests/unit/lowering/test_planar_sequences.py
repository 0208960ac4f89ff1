"""Sweeps over planes that are computed together, strip by strip: the bits of programs computed plane by plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.testing.interpreted import Interpreted

ROWS, LEVELS = 18, 10


def sweeps(a, b, c):
    """up and down; the reverse sweep adds to neighbouring rows of `c`, and `a` is changed in place"""
    rows, columns, levels = a.shape
    d = np.empty((rows, columns, levels))
    d[:, :, 0] = a[:, :, 0] * b[:, :, 0]
    for k in range(1, levels):
        w = 0.25 * (c[1:, :, k] + c[:-1, :, k])
        d[:, :, k] = (a[:, :, k] - d[:, :, k - 1] * w) / (2.0 + b[:, :, k] * b[:, :, k])
    x = d[:, :, levels - 1] * 2.0
    for k in range(levels - 2, -1, -1):
        x = d[:, :, k] - b[:, :, k] * x
        a[:, :, k] = 0.5 * (x - a[:, :, k])
    return a + d


def between(a, b, c):
    """all rows of a result are needed between the sweeps, one number of `a` in each trip, and rows in another order"""
    d, e = 0.5 * a, np.ceil(np.max(c)) * b
    for k in range(1, LEVELS):
        d[:, :, k] = d[:, :, k - 1] * b[:, :, k] + a[:, :, k]
    total, turned = np.ceil(np.max(d)), d[::-1, ::-1] * 0.5
    for k in range(1, LEVELS):
        e[:, :, k] = e[:, :, k - 1] * d[:, :, k] + e[:, :, k] * np.floor(3 * a[0, 0, k])
    return e * total + turned


def kept_rows(a, b, c):
    """each sweep changes some rows of an array, and the other rows stay"""
    longer = c.copy()
    for k in range(1, LEVELS):
        a[:, :, k] = a[:, :, k - 1] * b[:, :, k] + c[1:, :, k]
    for k in range(1, LEVELS):
        longer[1:, :, k] = longer[1:, :, k] + a[:, :, k] * b[:, :, k]
    return longer[1:] - longer[:-1]


PROGRAMS = [sweeps, between, kept_rows]


def arguments(columns: int, dtype: Any = np.float64) -> list[np.ndarray]:
    random = np.random.default_rng(columns)
    shapes = [(ROWS, columns, LEVELS)] * 2 + [(ROWS + 1, columns, LEVELS)]
    return [random.uniform(-1, 1, shape).astype(dtype) for shape in shapes]


def all_of(a, b, c):
    return tuple([program(a.copy(), b, c) for program in PROGRAMS])


def loss(a, b, c):
    return sum([np.sum(each * each) for each in all_of(a, b, c)])


@pytest.mark.parametrize(("columns", "strips"), [(16, 2), (21, 3)])
def test_sweeps_are_computed_in_strips(columns: int, strips: int) -> None:
    text = mlirad.jit(sweeps).lower(*arguments(columns)).as_text("linalg")
    (loop,) = (line for line in text.splitlines() if "scf.for %strip" in line)
    assert f"to %c{strips} " in loop


@pytest.mark.parametrize("columns", [16, 21])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_numpys_to_the_bit(columns: int, dtype: type) -> None:
    given = arguments(columns, dtype)
    for found, expected in zip(mlirad.jit(all_of)(*given), all_of(*given), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("columns", [13, 21])
def test_gradients_have_the_bits_of_the_plain_loops(columns: int) -> None:
    """The interpreter computes the same derivatives, plane by plane."""
    gradient = mlirad.grad(loss, argnums=(0, 1, 2))
    given = arguments(columns)
    for found, expected in zip(gradient(*given), Interpreted(gradient)(*given), strict=True):
        np.testing.assert_array_equal(found, expected)


def reduced(a, b, c):
    """reductions of arrays that are otherwise used within rows: over all axes, and over two of three"""
    d = 0.5 * a
    for k in range(1, LEVELS):
        d[:, :, k] = d[:, :, k - 1] * b[:, :, k] + a[:, :, k]
    high, mean = np.max(d), np.sum(d * d, axis=(0, 2))
    x = d[:, :, LEVELS - 1] * 2.0
    for k in range(LEVELS - 2, -1, -1):
        x = d[:, :, k] - b[:, :, k] * x
    return x, high, mean, np.sum(d * b)


@pytest.mark.parametrize("columns", [40, 45])
@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_reductions_over_rows_are_numpys(columns: int, dtype: Any, rounding: float) -> None:
    """With 45 columns, the last strip computes some columns again, which must not be added twice."""
    given = arguments(columns, dtype)
    for found, expected in zip(mlirad.jit(reduced)(*given), reduced(*given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=10 * rounding, atol=rounding * columns)


def test_an_array_is_not_stored_for_its_sum() -> None:
    """The plane, the sums of rows, and what a strip needs: less than half of the bytes of `d`."""
    given = arguments(40)
    kernel = mlirad.jit(reduced)
    kernel(*given)
    memory = kernel.last_memory()
    assert memory is not None and 0 < memory < given[0].nbytes // 2


def test_the_derivative_of_a_reduction_over_rows_is_that_of_finite_differences() -> None:
    given, step = arguments(40), 1e-6
    random = np.random.default_rng(0)
    way = [random.uniform(-1, 1, each.shape) for each in given]

    def weighted(a, b, c):
        x, _, mean, total = reduced(a, b, c)
        return np.sum(x * x) + np.sum(mean * mean) + total

    value, gradients = mlirad.value_and_grad(weighted, argnums=(0, 1, 2))(*given)
    np.testing.assert_allclose(value, weighted(*given), rtol=1e-13)
    found = sum([np.sum(g * d) for g, d in zip(gradients, way, strict=True)])
    ahead, behind = ([x + sign * step * d for x, d in zip(given, way, strict=True)] for sign in (1, -1))
    np.testing.assert_allclose(found, (weighted(*ahead) - weighted(*behind)) / (2 * step), rtol=1e-7)
