"""Sums of float32 are as accurate as NumPy's along every axis, on one thread and on several.

The worst case of a long chain of additions is equal terms: every addition to a large sum is rounded the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

SUMS: tuple[Callable[[Any], Any], ...] = (
    lambda x: np.sum(x),
    lambda x: np.mean(x),
    lambda x: np.sum(x * x),
    lambda x: np.sum(x, axis=0),
    lambda x: np.mean(x, axis=-1),
)


def terms(kind: str, size: int) -> np.ndarray:
    if kind == "equal":
        return np.full(size, np.float32(0.1))
    return np.random.default_rng(0).random(size).astype(np.float32)


def check(function: Callable[[Any], Any], x: np.ndarray, error: float, parallel: bool = False) -> None:
    exact = function(x.astype(np.float64))
    found = mlirad.jit(function, parallel=parallel)(x)
    assert found.dtype == np.float32
    assert np.max(np.abs(found - exact) / np.abs(exact)) < error


@pytest.mark.parametrize("kind", ["equal", "random"])
@pytest.mark.parametrize("shape", [(4_000_000,), (500_000, 8), (8, 500_000), (100_000, 5, 8)])
@pytest.mark.parametrize("number", range(5))
def test_long_sums_are_accurate(kind, shape, number) -> None:
    check(SUMS[number], terms(kind, 4_000_000).reshape(shape), 1e-6)


@pytest.mark.parametrize("number", [0, 2, 3])
def test_sums_that_threads_share_are_accurate(number) -> None:
    check(SUMS[number], terms("equal", 4_000_000).reshape(500_000, 8), 1e-6, parallel=True)


def squares_of_distances(x):
    """The sum is computed by blocks of rows, beside the maxima of rows."""
    apart = x - np.max(x, axis=1)[:, None]
    return np.sum(apart * apart)


@pytest.mark.parametrize("parallel", [False, True])
def test_sums_of_many_blocks_of_rows_are_accurate(parallel) -> None:
    x = np.full((400_000, 32), np.float32(0.3))
    x[:, 0] = 1.0
    check(squares_of_distances, x, 1e-6, parallel=parallel)


def test_products_of_vectors_and_variances_are_accurate() -> None:
    x = terms("equal", 4_000_000)
    check(lambda x: x @ x, x, 1e-6)
    check(lambda x: np.var(x * (np.arange(x.shape[0], dtype=x.dtype) % 2)), x, 1e-6)


def test_many_columns_are_as_accurate_as_by_numpy() -> None:
    x = terms("equal", 4_000_000).reshape(-1, 200)
    exact = np.sum(x.astype(np.float64), axis=0)
    error = np.max(np.abs(np.sum(x, axis=0) - exact) / exact)
    check(SUMS[3], x, error)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["equal", "random"])
@pytest.mark.parametrize("shape", [(40_000_000,), (5_000_000, 8), (8, 5_000_000)])
def test_longer_sums_are_accurate(kind, shape) -> None:
    for function in SUMS:
        check(function, terms(kind, 40_000_000).reshape(shape), 1e-6)
