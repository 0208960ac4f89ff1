"""np.add.outer, np.minimum.reduce and similar methods, against NumPy: values, dtypes, gradients, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from library_outcomes import outcome_of, require_same

import mlirad
from mlirad.errors import UnsupportedSyntaxError
from mlirad.testing.interpreted import Interpreted

rng = np.random.default_rng(0)
X, M, T = rng.normal(size=5), rng.normal(size=(3, 4)), rng.normal(size=(2, 3, 4))
F, Z = M.astype("f4"), np.array([[3, 1, 2], [3, -5, 0]])
B = np.array([[True, False, True], [True, True, True]])
EMPTY, S = np.zeros((0, 3)), np.array(3.0)


def same(function: Any, *arguments: Any) -> None:
    require_same(outcome_of(Interpreted(function, "tensor"), *arguments), outcome_of(function, *arguments))


def test_outer() -> None:
    pairs = ((X, M), (M, X), (F, F), (F, X), (B, X), (2.5, M), (2, F), (np.float64(2.0), X), (EMPTY, X), (S, 2.0))
    for ufunc in (np.add, np.subtract, np.multiply, np.divide, np.minimum, np.less, np.power):
        for first, second in pairs:
            same(lambda a, b, ufunc=ufunc: ufunc.outer(a, b), first, second)
    same(lambda a: np.add.outer(a, a, dtype=np.float32), X)


def test_reduce() -> None:
    for ufunc in (np.add, np.maximum, np.minimum, np.logical_and, np.logical_or):
        for x in (X, M, Z, B, np.array(2.5), 2.5, EMPTY):
            same(lambda a, ufunc=ufunc: ufunc.reduce(a), x)
        for axis in (0, -1, None):
            same(lambda a, ufunc=ufunc, axis=axis: ufunc.reduce(a, axis=axis, keepdims=True), T)


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
    of_each: Any = np.add.outer
    compiled: Any = mlirad.jit(of_each)
    for view in (a, a.T):
        held = view.copy(order="K")
        np.testing.assert_allclose(compiled(held, X), of_each(view, X), rtol=1e-14)


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


def test_what_is_refused() -> None:
    def of_bools(x: Any) -> Any:
        return np.greater.reduce(x)

    with pytest.raises(UnsupportedSyntaxError, match="gives bools is not compiled"):
        mlirad.jit(of_bools)(X)
