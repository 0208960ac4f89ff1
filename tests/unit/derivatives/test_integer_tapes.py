"""Tapes of indices and counts: gradients of loops that must remember an integer or a bool of every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad

DTYPES = (
    *(np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64, np.bool_),
)


def known(x, z):
    """A tape of known length, for the number that an inner loop computes."""
    for i in range(len(z)):
        last = z[0]
        for v in z:
            last = v
        x[int(last)] = x[int(last)] * x[i] + 3.0
        x[i] *= x[int(last)] * int(z[i])
    return np.sum(x * x)


def unknown(x, z):
    """A tape that grows."""
    k = 0
    while x[0] < 50.0:
        v = z[k % 4]
        x[int(v)] = x[int(v)] * 1.5 + x[0] * v
        x[0] = x[0] * 1.25 + v
        k += 1
    return np.sum(x * x)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("f", [known, unknown])
def test_an_integer_of_each_trip_is_remembered(f: Any, dtype: Any) -> None:
    x, z = np.array([1.0, 0.5, -0.25, 0.75]), np.array([1, 2, 0, 1]).astype(dtype)
    steps = [np.eye(4)[k] * 1e-6 for k in range(4)]
    differences = [(f(x + step, z) - f(x - step, z)) / 2e-6 for step in steps]
    np.testing.assert_allclose(mlirad.grad(f)(x.copy(), z), differences, rtol=1e-5, atol=1e-6)
