"""`x.shape = s`: like NumPy if one name holds the array, and refused if another may hold it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

X = np.arange(6.0)


def test_a_name_has_another_view() -> None:
    def reshaped(x, n):
        y = x * 2.0
        below = y[3:]
        y.shape = 2, n // 2
        product = y.T @ y
        y.shape = -1
        y[5] = 7.0  # still the elements shown by `below`
        return product, y, below

    for one, other in zip(mlirad.jit(reshaped)(X, 6), reshaped(X, 6), strict=True):
        np.testing.assert_array_equal(one, other)
    slope = mlirad.grad(lambda x: reshaped(x, 6)[0].sum())(X)
    np.testing.assert_allclose(slope, mlirad.grad(lambda x: np.sum(np.sum((2 * x).reshape(2, 3), 1) ** 2))(X))


def of_an_argument(x):
    x.shape = 2, 3
    return x


def of_two_names(x):
    y = x * 2.0
    z = y
    y.shape = 2, 3
    return z


def of_an_item(x):
    y = x * 2.0
    both = [y]
    y.shape = 2, 3
    return both


def of_a_callee(x):
    y = x * 2.0
    of_an_argument(y)
    return y


@pytest.mark.parametrize("function", [of_an_argument, of_two_names, of_an_item, of_a_callee])
def test_arrays_that_others_hold(function: Callable[..., Any]) -> None:
    with pytest.raises(mlirad.UnsupportedSyntaxError, match="if the caller or another name may hold it") as caught:
        mlirad.jit(function)(X.copy())
    assert caught.value.filename == __file__


def test_shapes_that_no_view_has() -> None:
    def of_a_transpose(x):
        y = (x * 2.0).reshape(2, 3).T
        y.shape = 6
        return y

    with pytest.raises(AttributeError, match="Incompatible shape for in-place modification"):
        of_a_transpose(X)
    with pytest.raises(AttributeError, match="Incompatible shape for in-place modification"):
        mlirad.jit(of_a_transpose)(X)


@pytest.mark.parametrize("shapes", [((2, 3),), ((2, 1), (3,)), ((1, 3), (2, 1)), ((2, 2), (2, 2)), ((2, 3), ())])
def test_what_index_arrays_read_lies_in_order(shapes: tuple[tuple[int, ...], ...]) -> None:
    """The elements read are C-contiguous if the index arrays are, and index all axes: whatever the array's layout."""
    random = np.random.default_rng(0)
    places = [random.integers(0, 3, shape) for shape in shapes]
    array = random.normal(size=(3,) * len(shapes))

    def flat(x, *places):
        read = x[places]
        read.shape = -1
        return read

    for x in (array, np.asfortranarray(array), array[::-1]):
        np.testing.assert_array_equal(mlirad.jit(flat)(x, *places), flat(x, *places))
    if len(shapes[0]) == 2 and places[0].shape == (2, 3):
        turned = [np.asfortranarray(places[0]), *places[1:]]
        with pytest.raises(mlirad.UnsupportedSyntaxError, match="depends on the memory layout of the array"):
            mlirad.jit(flat)(array, *turned)
