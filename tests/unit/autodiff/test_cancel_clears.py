"""An update that clears an element or slice and adds it back needs no clear; gradients stay right if indices
coincide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad


def subtract(x: Any, i: int, j: int, k: int) -> Any:
    y = x.copy()
    y[i] -= y[j] * y[k]
    return np.sum(y * y * y)


def subtract_row(x: Any, i: int, j: int, k: int) -> Any:
    y = x.copy()
    y[i, :] -= y[j, :] * y[k, 0]
    return np.sum(y * y * y)


def subtract_all(x: Any, i: int, j: int, k: int) -> Any:
    y = x.copy()
    for m in range(4):
        for n in range(4):
            y[m] -= 0.25 * y[n]
    return y[i] * y[j] + y[k]


def copied_over(x: Any, i: int, j: int, k: int) -> Any:
    """Here the new y[i] does not contain the old one, so the clear has to stay."""
    y = x.copy()
    y[i] = y[j] * y[k]
    return np.sum(y * y * y)


def difference(f: Callable[..., Any], x: Any, *places: int) -> Any:
    """The gradient of f at x, by central differences."""
    slopes, step = np.zeros_like(x), 1e-5
    for place in np.ndindex(*x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        slopes[place] = (f(x + moved, *places) - f(x - moved, *places)) / (2 * step)
    return slopes


PLACES = [(1, 2, 3), (1, 1, 3), (1, 2, 1), (1, 1, 1), (0, 3, 3)]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize(
    ("f", "shape"), [(subtract, (4,)), (subtract_row, (4, 3)), (subtract_all, (4,)), (copied_over, (4,))]
)
def test_gradients_where_places_meet(
    f: Callable[..., Any], shape: tuple[int, ...], places: tuple[int, int, int]
) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_allclose(mlirad.grad(f)(x, *places), difference(f, x, *places), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize(("f", "shape"), [(subtract, (4,)), (subtract_row, (4, 3)), (subtract_all, (4,))])
def test_second_derivatives_where_places_meet(
    f: Callable[..., Any], shape: tuple[int, ...], places: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=shape), rng.normal(size=shape)

    def along(x: Any, v: Any, i: int, j: int, k: int) -> Any:
        return np.sum(mlirad.grad(f)(x, i, j, k) * v)

    first = mlirad.grad(f)
    expected = (first(x + 1e-5 * v, *places) - first(x - 1e-5 * v, *places)) / 2e-5
    np.testing.assert_allclose(mlirad.grad(along)(x, v, *places), expected, rtol=1e-6, atol=1e-8)


def clears(f: Callable[..., Any], x: Any) -> int:
    """The element writes in the gradient that are not additions."""
    text = mlirad.grad(f).lower(x, 1, 2, 3).as_text("autodiff")
    return text.count("nd.insert %") + text.count("nd.insert_slice %")


def test_only_what_is_added_back_is_not_cleared() -> None:
    forward = 1  # the update itself
    assert clears(subtract, np.ones(4)) == forward
    assert clears(subtract_row, np.ones((4, 3))) == forward
    assert clears(copied_over, np.ones(4)) == forward + 1


def test_elements_that_are_exchanged_are_not_added_back() -> None:
    """Both index arrays are from 0 to 1, but in another order: each element is added where the other one was."""

    def exchanged(y: Any) -> Any:
        z = y.copy()
        z[[0, 1]] = z[[1, 0]]
        return np.sum(z * z * np.arange(3.0))

    np.testing.assert_array_equal(mlirad.grad(exchanged)(np.array([1.0, 2.0, 3.0])), [2.0, 0.0, 12.0])
