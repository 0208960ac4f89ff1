"""A division whose array would leave the caches is computed in each nest that reads it."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad


def of_softmax(x, w):
    e = np.exp(x - np.max(x))
    return np.sum(w * (e / np.sum(e)))


def centred(x, w, s):
    y = w / s
    return y - np.sum(y * x)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_gradient_of_softmax_stores_no_quotients(dtype: type, accuracy: float) -> None:
    count = 300_001
    rng = np.random.default_rng(7)
    x, w = rng.normal(size=(2, count)).astype(dtype)
    w[::1000] = 0.0
    gradient = mlirad.grad(of_softmax)
    found = gradient(x, w)
    e = np.exp(x.astype(float) - x.max())
    p = e / e.sum()
    expected = p * (w - np.sum(p * w))
    np.testing.assert_allclose(found, expected, rtol=accuracy, atol=accuracy * np.abs(expected).max())
    assert gradient.last_memory() < 1.1 * x.nbytes  # the exponentials only


def test_quotients_of_zeros_and_infinities() -> None:
    x = np.zeros(300_001)
    w = np.array([1.0, -0.0, 5e-324, 1e308, 3.0] * 60_001)[: len(x)]
    compiled = mlirad.jit(centred)
    with np.errstate(all="ignore"):
        for s in (3.0, -1e-300, np.inf, 0.0, np.nan):
            expected = centred(x, w, s)
            assert np.array_equal(compiled(x, w, s), expected, equal_nan=True)
