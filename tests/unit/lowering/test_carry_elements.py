"""Loops that carry an element as a number, and loops that test a cotangent once: the bits of NumPy, and no nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad


def substituted(lower, b):
    for i in range(b.shape[0]):
        for k in range(i):
            b[i] -= lower[i, k] * b[k]
    return b


def factorised(lower, b):
    for i in range(b.shape[0]):
        for j in range(i):
            for k in range(j):
                lower[i, j] -= lower[i, k] * lower[j, k]
        for k in range(i):
            lower[i, i] += lower[i, k] * b[k]
    return lower


def meeting(lower, b):
    """b[k] is the element itself in the last trip, and one that an earlier trip wrote in others"""
    for i in range(b.shape[0]):
        for k in range(i + 1):
            b[i] = lower[i, k] - 0.5 * b[k]
    return b


def twice(lower, b):
    """each trip writes the element twice, and reads it in between"""
    for i in range(b.shape[0]):
        for k in range(i):
            b[i] *= 0.5
            b[i] = b[i] + 0.0 * lower[i, k]
            b[0] = b[i] + lower[i, k]
            b[i] += lower[k, i]
    return b


def earlier(lower, b):
    """each trip reads the element as it was before it writes it, from a copy"""
    for i in range(b.shape[0]):
        for k in range(i):
            before = b.copy()
            b[i] = lower[i, k]
            lower[k, i] += before[i]
    return b


def arguments(n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """A matrix and a vector that are stored backwards."""
    rng = np.random.default_rng(n)
    return (rng.normal(size=(n, n)) / (n + 1)).astype(dtype)[:, ::-1], rng.normal(size=2 * n).astype(dtype)[::-2]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("program", [substituted, factorised, meeting, twice, earlier])
def test_results_and_writes_have_the_bits_of_numpy(program: Callable[..., Any], dtype: Any, n: int) -> None:
    expected, given = arguments(n, dtype), arguments(n, dtype)
    result = program(*expected)
    assert np.array_equal(mlirad.jit(program)(*given), result)
    assert all(map(np.array_equal, given, expected))


def entry(lower, b):
    """what the rows after the fourth hold does not matter"""
    x = b.copy()
    for i in range(b.shape[0]):
        for k in range(i):
            x[i] -= lower[i, k] * x[k]
    return x[4]


@pytest.mark.parametrize("fastmath", [False, True])
def test_a_cotangent_of_zero_annihilates_infinite_factors(fastmath: bool) -> None:
    rng = np.random.default_rng(0)
    lower, b = np.tril(rng.normal(size=(40, 40)), -1), rng.normal(size=40)
    gradient = mlirad.grad(entry, (0, 1), fastmath=fastmath)
    expected = gradient(lower[:5, :5].copy(), b[:5].copy())
    lower[5:] = np.inf
    found = gradient(lower, b)
    for whole, part in zip(found, expected, strict=True):
        corner = tuple(slice(size) for size in part.shape)
        np.testing.assert_allclose(whole[corner], part, rtol=1e-12)
        assert np.count_nonzero(whole) == np.count_nonzero(part)
