"""Returned arrays of run-time length: new ones, views of them and of the caller's, in every transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

X = np.array([0.5, -1.0, 2.0, -3.0, 4.0])
A = np.arange(12.0).reshape(3, 4) - 5.0


def selected(x):
    return x[x > 0]


def of_both_axes(a):
    b = a[a[:, 0] > -2]
    return b, a[:, a[0] > -4], a[a > 0] * 2, {"n": len(b), "rows": [b + 1.0]}


def views_of_one(x):
    y = x[x > 0]
    y[0] = 7.0
    return y, y[::-1], y[1:], y[:, None], y


def view_of_the_argument(x):
    k = np.sum(x > 0)
    return x[:k], x[k:]


def filled(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v * v)
    return np.array(kept)


def one_of_two(x):
    y = x[x > 0] if x[0] > 0 else x[x < 0]
    return y * 2.0, y


PROGRAMS: list[tuple[Callable[..., Any], np.ndarray]] = [
    (selected, X),
    (selected, X > 0),
    (selected, X.astype(np.float32)),
    (selected, X.astype(np.int16)),
    (selected, -np.abs(X)),
    (selected, X[:0]),
    (selected, X[::-2]),
    (of_both_axes, A),
    (views_of_one, X),
    (view_of_the_argument, X),
    (filled, X),
    (one_of_two, X),
    (one_of_two, -X),
]


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize(("function", "x"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_returned_as_numpy_returns_them(function: Callable[..., Any], x: np.ndarray) -> None:
    compiled, mine, its = mlirad.jit(function), x.copy(), x.copy()
    for _ in range(3):
        found, wanted = leaves(compiled(mine)), leaves(function(its))
        for a, b in zip(found, wanted, strict=True):
            assert type(a) is type(b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)
        arrays = [[a for a in values if isinstance(a, np.ndarray)] for values in (found, wanted)]
        shared = [[np.shares_memory(a, b) for a in group for b in group] for group in arrays]
        assert shared[0] == shared[1]
        for own, whole in zip(arrays, (mine, its), strict=True):
            assert all(array.flags.writeable for array in own)
            own.append(whole)
        for a, b in zip(*arrays, strict=True):
            assert np.shares_memory(a, mine) == np.shares_memory(b, its)


def test_results_are_the_callers() -> None:
    """A later call leaves them alone, though it uses the memory of the earlier one."""
    compiled = mlirad.jit(selected)
    first = compiled(X)
    first[0] = 99.0
    second = compiled(-X)
    np.testing.assert_array_equal(first, [99.0, 2.0, 4.0])
    np.testing.assert_array_equal(second, [1.0, 3.0])
    assert first.flags.owndata and second.flags.owndata


def with_aux(x):
    y = x[x > 0]
    return np.sum(y**3), (y * 2.0, x[x < 0])


def test_beside_a_gradient_and_a_tangent() -> None:
    (value, aux), gradient = mlirad.value_and_grad(with_aux, has_aux=True)(X)
    assert value == with_aux(X)[0]
    for found, wanted in zip(aux, with_aux(X)[1], strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(gradient, np.where(X > 0, 3 * X * X, 0.0))
    out, tangent = mlirad.jvp(lambda x: x[x > 0] ** 2, (X,), (X + 1.0,))
    np.testing.assert_allclose(out, X[X > 0] ** 2)
    np.testing.assert_allclose(tangent, (2 * X * (X + 1.0))[X > 0])

    def squared_norm_of_tangent(x):
        found = mlirad.jvp(lambda v: v[v > 0] ** 2, (x,), (x,))[1]
        return found @ found

    np.testing.assert_allclose(mlirad.grad(squared_norm_of_tangent)(X), np.where(X > 0, 16 * X**3, 0.0))


def pair(x):
    y = x[x > 0]
    return y * y, np.sum(x[x < 0] ** 3), x[x != 2.0][::-1]


def test_pullbacks_of_selections() -> None:
    """<g, jvp v> = <vjp g, v>, of a pullback that is called from Python, and of one inside compiled code."""
    v = np.linspace(-1.0, 1.0, 5)
    out, tangent = mlirad.jvp(pair, (X,), (v,))
    value, pullback = mlirad.vjp(pair, X)
    g = (np.array([1.0, -2.0, 0.5]), 3.0, np.arange(4.0))
    for found, wanted in zip(value, out, strict=True):
        np.testing.assert_array_equal(found, wanted)
    expected = sum(np.sum(a * b) for a, b in zip(g, tangent, strict=True))
    for _ in range(2):
        np.testing.assert_allclose(pullback(g)[0] @ v, expected)
    wrong = (np.ones(2), 3.0, np.arange(4.0))
    with pytest.raises(ValueError, match=r"a cotangent has the shape \(2,\), and the value \(3,\)"):
        pullback(wrong)
    with pytest.raises(ValueError, match=r"a cotangent has the shape \(1,\), and the value \(3,\)"):
        pullback((np.ones(1), 3.0, np.arange(4.0)))
    assert len(mlirad.vjp(pair, -X)[1]((np.ones(2), 1.0, np.ones(5)))[0]) == 5

    def inside(x, a, b, c):
        return mlirad.vjp(pair, x)[1]((a, b, c))[0]

    np.testing.assert_allclose(mlirad.jit(inside)(X, *g) @ v, expected)
    with pytest.raises(ValueError, match=r"a tangent or cotangent of shape \(2,\) for a value of shape \(3,\)"):
        mlirad.jit(inside)(X, *wrong)

    def of_the_value(x):
        value, pullback = mlirad.vjp(lambda v: v[v > 0] ** 2, x)
        return pullback(value)[0]

    np.testing.assert_allclose(mlirad.jit(of_the_value)(X), np.where(X > 0, 2 * X**3, 0.0))
    second = mlirad.grad(lambda x: of_the_value(x) @ np.arange(5.0))(X)
    np.testing.assert_allclose(second, np.where(X > 0, 6 * X**2, 0.0) * np.arange(5.0))
