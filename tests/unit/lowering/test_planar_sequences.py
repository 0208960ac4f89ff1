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
