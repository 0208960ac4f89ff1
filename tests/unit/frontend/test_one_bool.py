"""`x[True]` and `x[m > 0]` for a number m: a single bool is a mask of a new axis, with one element or none."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import UnsupportedSyntaxError

X = np.arange(24.0).reshape(2, 3, 4)
BOOLS = (True, np.False_, np.array(True)) + (
    (False, np.True_, np.array(False)) if os.environ.get("MLIRAD_FULL") else ()
)
INDICES = [
    True,
    False,
    (True, 0),
    (0, False),
    (slice(None), True),
    (slice(None), True, 0),
    (True, slice(None), 0),
    (True, [0, 1]),
    (False, [0, 1]),
    (False, [0]),
    (True, True),
    (True, False),
    (..., True),
    (None, True),
    ([0, 1], slice(None), True),
    (0, 1, 2, 0, True),
]


def outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """The result and the arguments afterwards, or the error."""
    args = copy.deepcopy(args)
    try:
        result = function(*args)
    except (IndexError, ValueError) as error:
        return (type(error) if isinstance(error, IndexError) else ValueError,)
    return result, *args


def require_as_numpy(function: Callable[..., Any], *args: Any) -> None:
    expected, found = outcome(function, *args), outcome(mlirad.jit(function), *args)
    if isinstance(expected[0], type):
        assert isinstance(found[0], type) and issubclass(found[0], expected[0]), found
        return
    for x, y in zip(expected, found, strict=True):
        np.testing.assert_array_equal(x, y, strict=isinstance(x, np.ndarray))


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("x", [X, np.array(5.0)], ids=["3-d", "0-d"])
def test_known_bools(x: np.ndarray, index: Any) -> None:
    def read(x):
        return x[index]

    def written(x, v):
        x[index] = v
        x[index] += 2.0 * v
        np.add.at(x, index, 1.0)

    require_as_numpy(read, x)
    require_as_numpy(written, x, 3.0)
    require_as_numpy(written, x, np.arange(4.0))


def total(x, m):
    return x[m].sum() + 2.0 * x[..., m].sum()


def changed(x, m):
    x[m] = 3.0
    x[..., m] += x[..., m] * x[..., m]
    np.add.at(x, m, 2.0)
    return x.sum()


def other(x, m):
    y = np.zeros_like(x)
    y[m] = x[m] * 2.0
    return y


def inner(x, m):
    x[m, 0] = 5.0
    x[0, m] -= 2.0
    x[:, m, 0] = 9.0


def count(x, m):
    return x[m].size


def compared(x, m):
    """Writes by functions that take arrays and numbers."""
    y = np.asarray(x).copy()
    y[y > 4.0] = 0.5
    return y


@pytest.mark.parametrize("function", [total, changed, other, inner, count, compared])
@pytest.mark.parametrize("m", BOOLS, ids=repr)
def test_bools_of_the_run(function: Callable[..., Any], m: Any) -> None:
    for x in (X, np.array(5.0)):
        require_as_numpy(function, x, m)


@pytest.mark.parametrize("m", BOOLS, ids=repr)
def test_the_functions_that_take_elements(m: Any) -> None:
    require_as_numpy(lambda x, m: np.take(x, m), np.arange(3.0), m)
    require_as_numpy(lambda x, m: np.take(x, m, mode="wrap"), np.arange(3.0), m)
    require_as_numpy(lambda x, m: x.take(m, 0), X, m)
    require_as_numpy(lambda x: np.take(x, [True, False, True]), np.arange(3.0))
    require_as_numpy(lambda x, m: np.take(x, m), np.arange(3.0), np.array([True, False]))
    require_as_numpy(lambda x, m: np.take_along_axis(x, m, 0), np.arange(2.0), np.array([True, False]))


def test_derivatives() -> None:
    def zeroed(x):
        y = x * x
        y[x.sum() < 0.0] = 0.0
        y[x.sum() > 0.0] *= 3.0 * x
        return y.sum()

    def of_a_number(x):
        y = np.zeros(())
        y[...] = x * x
        y[y > 0.5] *= np.sin(x)
        return y * 1.0

    def central(function, x, step=1e-6):
        return (function(x + step) - function(x - step)) / (2.0 * step)

    for x in (1.5, -1.5):
        array = np.array([x, 2.0 * x])
        expected = [central(lambda e, k=k: zeroed(array + np.eye(2)[k] * e), 0.0) for k in range(2)]
        np.testing.assert_allclose(mlirad.grad(zeroed)(array), expected, atol=1e-7)
        np.testing.assert_allclose(mlirad.jvp(zeroed, (array,), (np.ones(2),))[1], sum(expected), atol=1e-7)
    for x in (2.0, -2.0, 0.2):
        assert mlirad.grad(of_a_number)(x) == pytest.approx(central(of_a_number, x), abs=1e-7)
        assert mlirad.jvp(of_a_number, (x,), (1.0,))[1] == pytest.approx(central(of_a_number, x), abs=1e-7)


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedSyntaxError, match="a bool known only at run time is not compiled next to"):
        mlirad.jit(lambda x, m: x[m, [0, 1]].sum())(X, True)
