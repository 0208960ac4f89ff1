"""Every second element of rows, and rows backwards, read and written as shuffled vectors: NumPy's values, also up to
the ends."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad


def spaced(x):
    return x[:, ::2] * 1, x[:, 1::2] * 1, x[::-1, ::-1] * 1, x[:, ::-2] * 1


@pytest.mark.parametrize("columns", [1, 2, 28, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_values_are_those_of_numpy(dtype, columns):
    x = np.arange(3 * columns).reshape(3, columns).astype(dtype)
    for own, expected in zip(mlirad.jit(spaced)(x), spaced(x), strict=True):
        np.testing.assert_array_equal(own, expected)


def written(x, y):
    even, both, back = y.copy(), y.copy(), y.copy()
    even[:, ::2] += x
    both[:, 1::2] = x * 2
    both[:, ::2] = x - 1
    back[:, ::-2] = x + 1
    back[:, ::-1] = back * 2 + 1
    return even, both, back


@pytest.mark.parametrize("columns", [0, 1, 63, 64, 65, 131])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16])
def test_what_lies_between_written_elements_stays(dtype, columns):
    x = np.arange(3 * columns).reshape(3, columns).astype(dtype)
    y = 100 - np.arange(6 * columns).reshape(3, 2 * columns).astype(dtype)
    for own, expected in zip(mlirad.jit(written)(x, y), written(x, y), strict=True):
        np.testing.assert_array_equal(own, expected)


def growing(x, n):
    """Slices of lengths that only the run knows, with a stride of two."""
    x, total = x.copy(), 0.0
    for k in range(n):
        held = x[1 : 2 * k + 2 : 2] * 0.5 + x[: k + 1]
        x[: 2 * k + 1 : 2] += np.sin(held)
        total += np.sum(held * x[k : 3 * k + 1 : 2]) + (2 * k + 3) // 2 + (4 * k + 1) % 2
    return total + np.sum(x**2)


@pytest.mark.parametrize("n", [0, 1, 2, 9, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slices_of_any_length(dtype, n):
    x, way = np.sin(np.arange(125.0)).astype(dtype), np.cos(np.arange(125.0) * 3)
    np.testing.assert_allclose(mlirad.jit(growing)(x, n), growing(x, n), rtol=1e-4 if dtype == np.float32 else 1e-12)
    if dtype == np.float64:
        step = 1e-6
        difference = (growing(x + step * way, n) - growing(x - step * way, n)) / (2 * step)
        np.testing.assert_allclose(mlirad.grad(growing)(x, n) @ way, difference, rtol=1e-6)
