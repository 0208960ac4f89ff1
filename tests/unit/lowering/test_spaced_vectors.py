"""Every second element of rows, and rows backwards, read as shuffled vectors: NumPy's values, also up to the ends."""

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
