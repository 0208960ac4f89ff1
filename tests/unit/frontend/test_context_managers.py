"""with statements: classes with `__enter__` and `__exit__`, np.errstate and warnings; and super() in methods."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_pairs import require_same

import mlirad
from mlirad.errors import CompileError


class Scaled:
    def __init__(self, x, by):
        self.x = x
        self.by = by
        self.times = 0

    def __enter__(self):
        self.x *= self.by
        return self

    def __exit__(self, kind, error, trace):
        self.x /= self.by
        self.times += 1


class Doubled(Scaled):
    def __init__(self, x):
        super().__init__(x, 2.0)

    def __enter__(self):
        entered = super().__enter__()
        self.x += 1.0
        return entered


def in_a_loop(x, limit):
    total = 0.0
    scaled = Doubled(x)
    for i in range(3):
        with scaled as entered, np.errstate(divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            total += entered.x.sum()
            if total > limit:
                warnings.warn(f"{total} is large", stacklevel=2)
                break
            x[i] += 1.0
    return total, scaled.times


def with_returns(x, c):
    with Scaled(x, 3.0):
        if c > 0:
            return x.sum()
        elif c < -1:
            return x.prod()
        x[0] = 1.0
    return x.max()


X = np.array([1.5, 1.25, 1.75])


def test_the_block_is_left_in_whichever_way_it_ends() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function, values in ((in_a_loop, (1.0, 30.0, 1e9)), (with_returns, (1.0, -0.5, -2.0))):
            kernel = mlirad.jit(function)
            for value in values:
                numpys, own = X.copy(), X.copy()
                require_same((function(numpys, value), numpys), (kernel(own, value), own))

        def loss(x):
            y = x.copy()
            return in_a_loop(y, 30.0)[0] * y[1] + with_returns(y, -2.0)

        v = np.array([0.3, -0.7, 0.2])
        difference = (loss(X + 1e-6 * v) - loss(X - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(mlirad.grad(loss)(X) @ v, difference, rtol=1e-7)


def test_super_in_a_class_of_the_function() -> None:
    def f(x):
        class Tripled(Scaled):
            def __init__(self, x):
                super().__init__(x, 3.0)

            @property
            def half(self):
                return super().__enter__().x * 0.5

        return Tripled(x.copy()).half

    np.testing.assert_array_equal(mlirad.jit(f)(X), f(X))


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, *why):
        return True


def swallows(x):
    with Swallowing():
        return x.sum()


def records(x):
    with warnings.catch_warnings(record=True):
        return x.sum()


def raises(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return x.sum()


def opens(x):
    with open("file"):
        return x.sum()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (swallows, "an __exit__ that may return True is not compiled"),
        (records, "compiled code gives no warnings to record"),
        (raises, "compiled code gives no warnings, and raises none"),
        (opens, "open is not compiled"),
        (lambda x: super().__init__(), "super(): no arguments"),
    ],
)
def test_refusals(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=re.escape(text)):
        mlirad.jit(function)(X)
