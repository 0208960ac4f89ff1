"""Arrays that a mask selects on one path only: after the join their length is known only at run time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted

X = np.array([0.9, 0.2, 0.7, 0.4, 0.8])
M = X > 0.5


def chosen(x, m, c):
    y = x[m] if c > 0 else x
    y = y[y > 0.3] if c > 1 else y
    total = (y * y).sum() + y.mean() * len(y) + np.sort(y)[0] + y[-1]
    z = x
    if c > 0:
        z = x[m]
    elif c < -1:
        z = x[:2]
    for i in range(3):
        part = x[m] if x[i] > c * 0.3 else x
        total += part.sum() * i
    w = np.sqrt(x)
    if c < 0:
        w = w[m]
    w += z[0]  # w is a new array on both paths, so it may be written
    return total, z - z.max(), w, len(w)


def rows(x, m, c):
    y = x[m] if c > 0 else x
    return y.sum(axis=0), y.T @ y, len(y), y[:, 0] * 2


def test_values_and_derivatives() -> None:
    for function, x in ((chosen, X), (rows, np.outer(X, X))):
        for c in (2.0, 1.0, -1.0, -2.0):
            for found, wanted in zip(Interpreted(function)(x, M, c), function(x, M, c), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-14)

    def loss(x, c):
        total, z, w, count = chosen(x, M, c)
        return total * count + np.sin(z).sum() + w.prod()

    v = np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    gradient = mlirad.grad(loss)
    for c in (2.0, -2.0):
        difference = (loss(X + 1e-6 * v, c) - loss(X - 1e-6 * v, c)) / 2e-6
        np.testing.assert_allclose(gradient(X, c) @ v, difference, rtol=1e-7)


def fills(y):
    y[0] = 3.0


def writes_it(x, m, c):
    y = x[m] if c > 0 else x
    y[0] = 3.0
    return x.sum()


def writes_the_other(x, m, c):
    y = x[m] if c > 0 else x
    x[0] = 5.0
    return y.sum()


def writes_in_a_helper(x, m, c):
    y = x[m] if c > 0 else x
    fills(y)
    fills(y)
    return x.sum()


def writes_one_of_two_names(x, m, c):
    y = np.exp(x)
    z = y
    if c > 0:
        y = y[m]
    y += 1.0
    return z.sum()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            writes_it,
            "may be either of two arrays here, whose sizes are known only at run time, and one of them is written",
        ),
        (writes_the_other, "make it a copy on both paths: y = x.copy()"),
        (writes_in_a_helper, "and one of them is written"),
        (writes_one_of_two_names, "and one of them is written"),
        (lambda x, m, c: x[m] if c > 0 else x, "the result may be either of two arrays, whose sizes are"),
    ],
)
def test_what_may_be_the_array_itself_is_neither_written_nor_returned(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=re.escape(text)):
        mlirad.jit(function)(X.copy(), M, 1)
