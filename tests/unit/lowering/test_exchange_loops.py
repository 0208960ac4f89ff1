"""Loops over planes that become loops over points: the same bits, and those that rows must not share stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.testing.interpreted import Interpreted

ROWS, COLUMNS, LEVELS = 20, 24, 10
RANDOM = np.random.default_rng(0)
A, B, C = (RANDOM.normal(size=(ROWS, COLUMNS, LEVELS)) for _ in range(3))
LONGER = RANDOM.normal(size=(ROWS + 1, COLUMNS, LEVELS))


def recurrence(a, b, c):
    out = np.empty(a.shape)
    out[:, :, 0] = a[:, :, 0]
    for k in range(1, LEVELS):
        out[:, :, k] = (a[:, :, k] - out[:, :, k - 1] * b[:, :, k]) / (2.0 + c[:, :, k] * c[:, :, k])
    return out


def backward(a, b, c):
    """a plane that trips hand on, counted down"""
    out, plane = np.zeros(a.shape), np.ones((ROWS, COLUMNS))
    for k in range(LEVELS - 2, -1, -1):
        plane = b[:, :, k] - c[:, :, k + 1] * plane
        out[:, :, k] = 0.5 * (plane - a[:, :, k])
    return out + plane[:, :, None]


def until(a, b, c, n=9):
    for k in range(n):
        a[:, :, k] = b[:, :, k] * c[:, :, k] + a[:, :, k]
    return a


def shifted_reads(a, b, c):
    out = np.zeros((ROWS - 1, COLUMNS, LEVELS))
    for k in range(LEVELS):
        out[:, :, k] = a[1:, :, k] * b[:-1, :, k] - c[1:, :, k]
    return out


def parts(a, b, c):
    """the first rows only; the others stay"""
    for k in range(1, LEVELS):
        a[:16, :, k] = a[:16, :, k - 1] * b[4:, :, k] + c[:16, :, k]
        a[:16, :, k] *= b[:16, :, k]
    return a


def in_time(a, b, c):
    for _ in range(3):
        for k in range(1, LEVELS):
            a[:, :, k] = a[:, :, k] * a[:, :, k - 1] * 0.1 + b[:, :, k] - c[:, :, k]
    return a


def vectors(a, b, c):
    x, y, z = (np.reshape(each, (-1, LEVELS)) for each in (a, b, c))
    out = np.empty(x.shape)
    out[:, 0] = 1.0
    for k in range(1, LEVELS):
        out[:, k] = x[:, k] + y[:, k] * out[:, k - 1] - z[:, k]
    return out


EXCHANGED = [recurrence, backward, until, shifted_reads, parts, in_time, vectors]


def rows_move(a, b, c):
    for k in range(1, LEVELS):
        a[1:, :, k] = a[:-1, :, k - 1] * b[1:, :, k] + c[1:, :, k]
    return a


def turned(a, b, c):
    for k in range(1, LEVELS):
        a[::-1, :, k] = a[:, :, k - 1] * b[:, :, k] + c[:, :, k]
    return a


def moved_within_a_trip(a, b, c):
    for k in range(LEVELS):
        longer = np.zeros((ROWS + 1, COLUMNS))
        longer[1:] = b[:, :, k] * c[:, :, k]
        a[:, :, k] = a[:, :, k] + longer[:-1]
    return a


ALONG_COLUMNS = [rows_move, turned]


def functions(a, b, c):
    for k in range(1, LEVELS):
        a[:, :, k] = np.exp(a[:, :, k - 1]) + b[:, :, k] * c[:, :, k]
    return a


def sums(a, b, c):
    for k in range(1, LEVELS):
        a[:, :, k] = b[:, :, k] * np.sum(a[:, :, k - 1]) + c[:, :, k]
    return a


def transposed(a, b, c):
    for k in range(1, LEVELS):
        a[:20, :20, k] = a[:20, :20, k - 1].T * b[:, :20, k] + c[:, :20, k]
    return a


def small(a, b, c):
    x, y, z = a[:3, :3], b[:3, :3], c[:3, :3]
    for k in range(1, LEVELS):
        x[:, :, k] = x[:, :, k - 1] * y[:, :, k] + z[:, :, k]
    return a


STAY = [functions, sums, transposed, small, moved_within_a_trip]


def copies(dtype: type = np.float64) -> list[np.ndarray]:
    return [each.astype(dtype) for each in (A, B, C)]


def loops_around_trips(kernel: Any) -> int:
    """The most loops in one another at stage linalg."""
    text = kernel.lower(*copies()).as_text("linalg")
    indents = [len(line) - len(line.lstrip()) for line in text.splitlines() if "scf.for" in line]
    return len(set(indents))


@pytest.mark.parametrize(
    ("program", "loops"),
    [
        *((each, 3 + (each is in_time) - (each is vectors)) for each in EXCHANGED),
        *((each, 2) for each in ALONG_COLUMNS),
        *((each, 1) for each in STAY),
    ],
)
def test_which_loops_are_exchanged(program: Callable[..., Any], loops: int) -> None:
    assert loops_around_trips(mlirad.jit(program)) == loops


def _all(a, b, c):
    return tuple(
        [each(a.copy(), b.copy(), c.copy()) for each in (recurrence, backward, shifted_reads, parts, in_time, vectors)]
        + [each(a.copy(), b.copy(), c.copy()) for each in (rows_move, turned, moved_within_a_trip, until)]
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_numpys_to_the_bit(dtype: type) -> None:
    for found, expected in zip(mlirad.jit(_all)(*copies(dtype)), _all(*copies(dtype)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_other_layouts() -> None:
    given = [np.asfortranarray(A), B[::-1], np.concatenate([C, C])[::2]]
    given[1].setflags(write=False)
    for program in (recurrence, backward):
        np.testing.assert_array_equal(mlirad.jit(program)(*given), program(*given))


def test_gradients_have_the_bits_of_the_plain_loops() -> None:
    """The interpreter computes the same derivatives, plane by plane."""

    def loss(a, b, c):
        return sum([np.sum(each * each) for each in _all(a, b, c)])

    gradient = mlirad.grad(loss, argnums=(0, 1, 2))
    for found, expected in zip(gradient(*copies()), Interpreted(gradient)(*copies()), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def up(a, b, c):
    """reads rows and their neighbours, at two levels; the reverse loop adds to both, and runs down"""
    out = np.zeros((ROWS - 1, COLUMNS, LEVELS))
    for k in range(1, LEVELS - 1):
        w = a[1:, :, k] + a[:-1, :, k] - a[1:, :, k + 1] * b[:-1, :, k]
        out[:, :, k] = w * c[1:, :, k] - out[:, :, k - 1] * w
    return out


def down(a, b, c):
    out = np.zeros((ROWS - 1, COLUMNS, LEVELS))
    for k in range(LEVELS - 2, 0, -1):
        w = a[1:, :, k] + a[:-1, :, k + 1] * 0.3 - a[:-1, :, k - 1] * b[:-1, :, k]
        out[:, :, k] = w * c[1:, :, k] - out[:, :, k + 1] * w
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_additions_to_neighbouring_rows_keep_their_order(dtype: type) -> None:
    """Gradients whose loops are exchanged along both axes have the bits of those computed plane by plane."""

    def loss(a, b, c):
        x, y = up(a, b, c), down(b, a, c)
        return np.sum(x * x) + np.sum(y * y)

    gradient = mlirad.grad(loss, argnums=(0, 1, 2))
    assert loops_around_trips(gradient) == 3
    for found, expected in zip(gradient(*copies(dtype)), Interpreted(gradient)(*copies(dtype)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [-1, 0, 1, LEVELS])
def test_trips_that_are_counted_at_run_time(n: int) -> None:
    def counted(a, b, c, n):
        for k in range(n):
            a[:, :, k] = b[:, :, k] * c[:, :, k] + a[:, :, k]
        return a

    a, b, c = copies()
    found = mlirad.jit(counted, boundscheck=False)(a, b, c, n)
    np.testing.assert_array_equal(found, counted(A.copy(), B, C, n))
