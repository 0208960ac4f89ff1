"""np.add.outer, np.minimum.reduce and their like, against NumPy: values, dtypes, gradients, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from as_numpy import Known, agrees

import mlirad
from mlirad.errors import UnsupportedSyntaxError

rng = np.random.default_rng(0)
X, M, T = rng.normal(size=5), rng.normal(size=(3, 4)), rng.normal(size=(2, 3, 4))
F, Z = M.astype("f4"), np.array([[3, 1, 2], [3, -5, 0]])
B = np.array([[True, False, True], [True, True, True]])
EMPTY, S = np.zeros((0, 3)), np.array(3.0)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide, np.minimum, np.less, np.power])
def test_outer(ufunc: np.ufunc) -> None:
    pairs = ((X, M), (M, X), (F, F), (F, X), (B, X), (2.5, M), (2, F), (np.float64(2.0), X), (EMPTY, X), (S, 2.0))
    for first, second in pairs:
        with np.errstate(all="ignore"):
            agrees(ufunc.outer, first, second, rtol=1e-6 if first is F else 1e-13)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.minimum, np.logical_and, np.logical_or])
def test_reduce(ufunc: np.ufunc) -> None:
    for x in (X, M, T, Z, B):
        agrees(ufunc.reduce, x, rtol=1e-13)
        for axis in (0, -1, None):
            for keepdims in (False, True):
                agrees(lambda a, axis=axis, keep=keepdims: ufunc.reduce(a, axis=axis, keepdims=keep), x, rtol=1e-13)
    agrees(ufunc.reduce, np.array(2.5))
    agrees(ufunc.reduce, 2.5)
    agrees(ufunc.reduce, EMPTY.T, Known(0))
    with np.errstate(all="ignore"):
        agrees(ufunc.reduce, EMPTY)


def sums_of_each_two(a: Any) -> Any:
    n = a.shape[0]
    for k in range(n):
        a[:] = np.minimum(a, np.add.outer(a[:, k], a[k, :]))
    return np.multiply.outer(a[0, :2], a)


def test_in_a_loop_on_strided_arrays() -> None:
    a = np.abs(rng.normal(size=(8, 8)))[::2, ::-2]
    expected, given = a.copy(), a.copy()
    np.testing.assert_allclose(mlirad.jit(sums_of_each_two)(given), sums_of_each_two(expected), rtol=1e-14)
    np.testing.assert_array_equal(given, expected)
    for view in (a, a.T):
        held = view.copy(order="K")
        np.testing.assert_allclose(mlirad.jit(np.add.outer)(held, X), np.add.outer(view, X), rtol=1e-14)


def loss(a: Any, b: Any) -> Any:
    products = np.multiply.outer(np.sin(a), b)
    return np.sum(np.maximum.reduce(products, axis=1) ** 2) + np.add.reduce(products[0]).sum()


def test_gradients() -> None:
    gradients = mlirad.grad(loss, argnums=(0, 1))(X, M)
    for _ in range(2):
        directions = rng.normal(size=X.shape), rng.normal(size=M.shape)
        high = loss(*(x + np.longdouble(1e-6) * d for x, d in zip((X, M), directions)))
        low = loss(*(x - np.longdouble(1e-6) * d for x, d in zip((X, M), directions)))
        found = sum(np.sum(g * d) for g, d in zip(gradients, directions))
        assert found == pytest.approx(float((high - low) / 2e-6), rel=1e-9)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.divide.reduce(x), "np.divide.reduce is not supported"),
        (lambda x: np.add.reduceat(x, [0, 1]), "np.add.reduceat is not supported"),
        (lambda x: np.add.outer(x, x, dtype=np.float32), r"np.add.outer\(dtype=\) is not supported"),
    ],
)
def test_what_is_refused(function: Any, message: str) -> None:
    with pytest.raises(UnsupportedSyntaxError, match=message):
        mlirad.jit(function)(X)
