"""Derivatives through index arrays and masks: central differences, duality, second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

I = np.array([3, 1, 1, -2, 1])
J = np.array([[0, 2], [2, 0]])
X = np.array([0.7, -1.3, 2.1, 0.4, -0.6])
A = np.sin(np.arange(12.0) + 1).reshape(3, 4)


def gathered(x, i):
    y = x[i]
    return (y * y * np.arange(1.0, 6.0)).sum()


def overwritten(x, i):
    x = x * 1.5
    x[i] = x[::-1] * x
    return (x * x * np.arange(1.0, 6.0)).sum()


def augmented(x, i):
    x = x * 1.5
    x[i] *= x[i[::-1]]
    x[i] += 2.0 * x
    return (x * x * x).sum()


def rows_and_columns(a, i):
    a = a * 1.0
    a[i] *= a[[2, 0]]
    a[:, i[0]] = a[:, [1, 3]] ** 2
    a[i, i.T] += a[0, i]
    b = a[..., None, [0, 0, 2]]
    return (b * np.arange(1.0, 4.0)).sum() + (a * a * np.arange(12.0).reshape(3, 4)).sum()


def accumulated(x, i):
    x = x * 1.5
    np.add.at(x, i, x**2)
    np.subtract.at(x, i[:2], 0.5 * x[:2])
    np.multiply.at(x, i, x[i] + 2.0)
    np.maximum.at(x, i, x[::-1])
    return (x * x).sum()


def in_loops(x, i):
    x = x * 1.0
    s = 0.0
    for k in range(4):
        if x[k] > 0.3:
            x[i] = np.sin(x[i[::-1]]) * (k + 1)
        else:
            x[(i + k) % 5] += 0.3 * x
        s += (x[i[:2]] * x[k]).sum()
    return s + (x * x).sum()


def while_loop(x, i):
    x = x * 1.0
    n = 0
    while np.abs(x).sum() > 0.5 and n < 6:
        x[i] *= 0.5
        x[[0, 2, 4]] = x[[2, 4, 0]] * 0.6
        n += 1
    return (x * x * np.arange(1.0, 6.0)).sum()


def taken(a, i):
    k = np.argmax(a, axis=1)
    along = np.take_along_axis(a, k[:, None], 1)
    return (np.take(a, i, axis=1) ** 2).sum() + (along**3).sum() + (a[np.ix_([0, 2], [1, 1, 3])] ** 2).sum()


def masked_reductions(x, i):
    m = x > 0
    y = x * x + 0.5
    total = (x[m] * 2 + y[m] * x[m]).sum() * x[m].mean() + (y[~m] ** 2).max() - x[m].min() + x[m] @ y[m]
    return total + x[m].std() + y[m].var()


def masked_writes(x, i):
    x = x * 1.5
    m = x > 0
    x[m] = np.sqrt(x[m]) * np.log(x[m])
    x[~m] *= -x[~m] / (x[~m] - 1.0)
    x[m & (x < 0)] = 3.0
    x[x > 0.1] -= np.sin(x[x > 0.1])
    return (x * x * np.arange(1.0, 6.0)).sum()


def masked_rows(a, i):
    a = a * 1.0
    m = a[:, 0] > 0
    a[m] *= a[1]
    a[~m, 1] = a[0, 0] * 2
    a[:, a[0] > 0] **= 2
    return (a[m].sum(axis=0) * np.arange(1.0, 5.0)).sum() + a[m].mean(axis=0).max() + (a**3).sum()


def masked_loop(x, i):
    x = x * 1.0
    for k in range(4):
        m = x > 0.2 * k
        x[m] = np.sqrt(x[m]) + x[k] * x[m]
        x[~m] += 0.3 * x[i[k]]
    return (x * x).sum()


PROGRAMS: list[tuple[Callable[..., Any], np.ndarray, np.ndarray]] = [
    (gathered, X, I),
    (overwritten, X, I),
    (augmented, X, I),
    (rows_and_columns, A, J),
    (accumulated, X, I),
    (in_loops, X, I),
    (while_loop, X, I),
    (taken, A, I),
    (masked_reductions, X, I),
    (masked_writes, X, I),
    (masked_rows, A, I),
    (masked_loop, X, I),
]
IDS = [function.__name__ for function, _, _ in PROGRAMS]


def difference(function: Callable[[np.ndarray], Any], x: np.ndarray, v: np.ndarray, step: float = 1e-6) -> Any:
    return (function(x + step * v) - function(x - step * v)) / (2 * step)


@pytest.mark.parametrize(("function", "x", "i"), PROGRAMS, ids=IDS)
def test_first_and_second_order(function: Callable[..., Any], x: np.ndarray, i: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    v, w = rng.normal(size=x.shape), rng.normal(size=x.shape)
    value, gradient = mlirad.value_and_grad(function)(x, i)
    assert value == pytest.approx(function(x.copy(), i), rel=1e-12)
    assert gradient.shape == x.shape
    along = difference(lambda y: function(y, i), x, v)
    assert np.vdot(gradient, v) == pytest.approx(along, rel=1e-6, abs=1e-7)
    forward = mlirad.jvp(lambda y: function(y, i), (x,), (v,))[1]
    assert forward == pytest.approx(float(np.vdot(gradient, v)), rel=1e-10)
    slope = mlirad.grad(lambda y: function(y, i))
    curved = mlirad.jvp(slope, (x,), (v,))[1]
    assert np.vdot(w, curved) == pytest.approx(np.vdot(w, difference(slope, x, v)), rel=1e-5, abs=1e-6)
    twice = mlirad.grad(lambda y: (mlirad.grad(lambda z: function(z, i))(y) * w).sum())(x)
    assert np.vdot(v, twice) == pytest.approx(np.vdot(w, curved), rel=1e-9, abs=1e-10)


def test_the_last_writer_gets_the_cotangent() -> None:
    def last(x, v, i):
        x = x * 1.0
        x[i] = v
        return (x * np.array([1.0, 10.0, 100.0])).sum()

    i = np.array([1, 1, 2, 1])
    to_x, to_v = mlirad.grad(last, argnums=(0, 1))(np.ones(3), np.ones(4), i)
    np.testing.assert_array_equal(to_x, [1, 0, 0])
    np.testing.assert_array_equal(to_v, [0, 0, 100, 10])


def test_what_is_not_selected_makes_no_gradient_nan() -> None:
    def roots(x, y):
        m = x > 0
        z = np.log(x[m]) / np.sqrt(x[m]) * y[m]
        x = x * 1.0
        x[m] = z
        return x.sum() + (np.log(y[m]) * x[m]).sum()

    x, y = np.array([0.0, -1.0, 2.0]), np.array([-1.0, 0.0, 3.0])
    for gradient in mlirad.grad(roots, argnums=(0, 1))(x, y):
        assert np.isfinite(gradient).all()
    assert mlirad.grad(roots)(x, y)[:2].tolist() == [1.0, 1.0]


def test_float32() -> None:
    gradient = mlirad.grad(lambda x, i: gathered(x, i) + masked_writes(x, i))(X.astype(np.float32), I)
    assert gradient.dtype == np.float32
    exact = mlirad.grad(lambda x, i: gathered(x, i) + masked_writes(x, i))(X, I)
    np.testing.assert_allclose(gradient, exact, rtol=2e-4)


def test_nothing_indexed() -> None:
    empty = np.zeros(0, np.int64)

    def nothing(x, i):
        x = x * 2.0
        x[i] = 1.0
        np.add.at(x, i, x[i])
        return (x * x).sum() + x[i].sum() + x[x > 100].sum()

    np.testing.assert_allclose(mlirad.grad(nothing)(X, empty), 8 * X)
