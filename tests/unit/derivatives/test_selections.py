"""Derivatives of what masks select: as arrays, which have a length that only the run knows, and under the mask.

Reverse mode against central differences, forward mode against reverse mode (<v, vjp u> = <jvp v, u>), and the second
derivative three ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.testing.interpreted import Interpreted

X = np.array([0.4, -0.7, 1.3, -1.1, 0.9, 0.2])


def reversed_product(x):
    y = x[x > 0]
    return y[::-1] @ np.exp(y) + y[0] * y[-1] ** 2


def two_masks(x):
    a = np.outer(x, x * x) + 1.0
    b = a[x > 0, x > 0]
    return (b[1:] * b[:-1]).sum() + a[:, x < 0][0, 1] ** 2 + a[x > 0][:, x < 0].max() * a[x < 0, [1, 2]][1]


def rows(x):
    a = np.outer(x, x + 2.0)
    r, c = a[x > 0], a[:, x < 0]
    return np.sum((r.T @ r)[0, 1:]) + c[0] @ c[-1] + np.max(r[1:]) * r[0].mean()


def flat(x):
    a = np.outer(x, x)
    v = a[a > 0.1]
    return np.sum(np.sqrt(v) * np.arange(len(v))) + v.std() * v[2]


def written(x):
    y = x[x > 0] * 2.0
    y[0] *= y[1]
    y[1:] += np.sin(y[:-1])
    z = x * x
    z[z > 0.5] = z[z > 0.5][::-1] * y[0]
    return y @ y + z @ x


def in_loops(x):
    total = 0.0
    for i in range(4):
        m = x > 0.25 * i - 0.5
        for j, v in enumerate(x[m]):
            total += v * v * (i + j)
        if total > 1.0:
            total += x[m][-1] ** 3
    return total


def fewer_each_time(x):
    y = x[x > -10.0]
    for _ in range(4):
        y = y[y > np.min(y)] * x[0] if len(y) > 3 else y * 1.5
    return y[0] * y[1]


def until_few_are_left(x):
    y = x[x > -10.0] ** 2
    while len(y) > 2:
        y = y[y > np.min(y)] + 0.1 * y[0]
    return y[0] * y[1]


def helper(v, w):
    v[1] = w[0] * w[-1]
    return v @ w


def passed_on(x):
    return helper(x[x > 0], x[x > 0] ** 2) + helper(x[x != 5.0][1:], x[x != 5.0][:-1])


def under_the_mask(x):
    """nan, infinite and singular where the mask is false."""
    y = np.log(x - 0.1)
    z = 1.0 / (x - x[1])
    return np.sum(y[x > 0.1] * z[x > 0.1]) + np.sqrt(x[x > 0]).max() + x[x > 100].sum()


def in_a_branch(x):
    """The second order needs the size of an array of the first order's reverse sweep."""
    y = x * 0.5
    if np.sum(x * y) > -9.0:
        y = y + np.sum(x[:3][x[:3] > 0.3]) * 0.5
        w = (y[2:1:-2] + x[1])[x[::-1][5::2] < 2.3]
        w = w[::-1] * 0.5
        y = y + np.cos(w @ w)
    return np.sum(x * x + y) + np.sum(y * y)


PROGRAMS = [
    reversed_product,
    two_masks,
    rows,
    flat,
    written,
    in_loops,
    until_few_are_left,
    passed_on,
    under_the_mask,
    in_a_branch,
]


def central(f: Callable[[Any], Any], x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def check(program: Callable[..., Any], compiled: Callable[..., Any]) -> None:
    direction = np.linspace(-1.0, 2.0, len(X))
    gradient = mlirad.grad(program)
    slopes = compiled(lambda x: gradient(x))(X)
    np.testing.assert_allclose(compiled(program)(X), program(X))
    np.testing.assert_allclose(slopes, central(program, X), rtol=1e-6, atol=1e-7)
    value, tangent = compiled(lambda x, v: mlirad.jvp(program, (x,), (v,)))(X, direction)
    np.testing.assert_allclose((value, tangent), (program(X), slopes @ direction), rtol=1e-11)
    second = compiled(lambda x, v: mlirad.jvp(gradient, (x,), (v,))[1])(X, direction)
    np.testing.assert_allclose(second, central(compiled(gradient), X).T @ direction, rtol=1e-5, atol=1e-5)
    reverse = compiled(mlirad.grad(lambda x, v: gradient(x) @ v))(X, direction)
    np.testing.assert_allclose(reverse, second, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_all_modes_and_orders(program: Callable[..., Any]) -> None:
    check(program, Interpreted)


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_all_modes_and_orders_natively(program: Callable[..., Any]) -> None:
    check(program, mlirad.jit)


@pytest.mark.parametrize("program", [written, fewer_each_time])
def test_natively(program: Callable[..., Any]) -> None:
    value, gradient = mlirad.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X))
    np.testing.assert_allclose(gradient, central(program, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("count", [0, 1, 6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_none_one_and_all(count: int, dtype: type) -> None:
    def program(x, m):
        y = x[m] * x[m][::-1]
        y *= 2.0
        for v in x[m]:
            y += v
        return y.sum() + (x[m] ** 2).sum()

    x, m = X.astype(dtype), np.arange(6) < count
    expected = central(lambda v: program(v, m), X)
    found = Interpreted(mlirad.grad(program))(x, m)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
