"""Functions whose results go to every other element, backwards or to a column are computed in vectors, and put where
they belong, whatever the number of elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mlirad


def backwards(x: np.ndarray) -> np.ndarray:
    out = np.zeros(x.shape[0], x.dtype)
    out[::-1] = np.cos(x)
    return out


def column(x: np.ndarray) -> np.ndarray:
    out = np.full((x.shape[0], 3), 7.0, x.dtype)
    out[:, 1] = np.exp(x)
    return out


def every_other(x: np.ndarray) -> np.ndarray:
    out = np.full(2 * x.shape[0] + 1, 3.0, x.dtype)
    out[1::2] *= np.tanh(x)
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [backwards, column, every_other])
def test_functions_at_strided_places(function: Callable[[np.ndarray], np.ndarray], dtype: type) -> None:
    """All other elements stay as they were."""
    kernel = mlirad.jit(function)
    for size in (1, 7, 16, 33):
        x = np.random.default_rng(size).normal(size=size).astype(dtype)
        np.testing.assert_allclose(kernel(x), function(x), rtol=4 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("function", [backwards, column, every_other])
def test_they_are_vectors(function: Callable[[np.ndarray], np.ndarray]) -> None:
    text = mlirad.jit(function).lower(np.ones(33)).as_text("loops")
    assert "vector.fma" in text
