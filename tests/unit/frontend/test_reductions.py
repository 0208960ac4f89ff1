"""Reductions that are ops, with all of NumPy's arguments; the derivative of a product with zero elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(0)
ARRAYS = [
    RNG.normal(size=(2, 3)),
    RNG.normal(size=5).astype(np.float32),
    RNG.normal(size=(4, 2))[::-2],
    np.arange(6).reshape(2, 3).astype(np.int8),
    np.array([True, False, True]),
    np.array([3, 250], np.uint8),
    np.array([1.0, np.nan, -0.0]),
    np.zeros((0, 2)),
    np.array(2.5),
    np.float64(3.0),
]
MASK = object()
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"axis": 0},
    {"axis": -1, "keepdims": True, "initial": 0},
    {"initial": 2.5},
    {"where": MASK},
    {"where": MASK, "initial": 1},
    {"dtype": np.float32},
    {"dtype": bool, "where": MASK},
]
FUNCTIONS = [np.sum, np.prod, np.max, np.min, np.any, np.all]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (TypeError, ValueError, mlirad.CompileError) as error:
        return error


@pytest.mark.parametrize("options", ARGUMENTS)
@pytest.mark.parametrize("reduce", FUNCTIONS)
def test_arguments_are_numpys(reduce: Callable[..., Any], options: dict[str, Any]) -> None:
    fixed = {name: value for name, value in options.items() if value is not MASK}

    def function(x, m):
        return reduce(x, **fixed)

    def masked(x, m):
        return reduce(x, where=m, **fixed)

    function = masked if "where" in options else function
    for x in ARRAYS:
        mask = np.asarray(x) > 0
        expected, actual = outcome(function, x, mask), outcome(mlirad.jit(function), x, mask)
        if isinstance(expected, Exception) or isinstance(actual, Exception):
            assert isinstance(expected, Exception), (x, actual)
            assert isinstance(actual, Exception), (x, expected)
            continue
        assert np.asarray(actual).dtype == np.asarray(expected).dtype, x
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_a_mask_without_an_initial_value_is_refused_in_numpys_words() -> None:
    with pytest.raises(ValueError, match=r"'maximum' does not have an identity, so to use a where mask") as caught:
        mlirad.jit(lambda x: np.max(x, where=x > 0))(np.ones(3))
    assert "test_reductions.py" in str(caught.value)


def product(x):
    return np.prod(x)


def weighted(x):
    return np.sum(mlirad.grad(product)(x) * np.arange(1.0, 1.0 + x.shape[0]))


def products_of_others(x: np.ndarray) -> np.ndarray:
    return np.array([np.prod(np.delete(x, i)) for i in range(len(x))])


@pytest.mark.parametrize(
    "x",
    [
        *([2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0], [5.0], [], [-1.5, 2.0, 0.0, 3.0, 7.0]),
        *([np.inf, 0.5], [np.inf, 3.0, 2.0]),
    ],
)
def test_the_derivative_of_a_product_divides_by_nothing(x: list[float]) -> None:
    array = np.array(x)
    np.testing.assert_allclose(mlirad.grad(product)(array), products_of_others(array))
    # The second derivative by x[i] and x[j] is the product of all others.
    expected = np.zeros(len(x))
    for i, j in itertools.permutations(range(len(x)), 2):
        expected[j] += (i + 1) * np.prod(np.delete(array, [i, j]))
    np.testing.assert_allclose(mlirad.grad(weighted)(array), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (0, 1, 2), None])
def test_products_over_axes(axis: Any, dtype: Any) -> None:
    def function(x):
        return np.sum(np.sin(np.prod(x, axis=axis)))

    x = RNG.normal(size=(2, 3, 2)).astype(dtype)
    x[1, 2, 0] = 0.0
    numbers = x.astype(np.float64)
    differences = np.zeros_like(numbers)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(numbers)
        step[place] = 1e-6
        differences[place] = (function(numbers + step) - function(numbers - step)) / 2e-6
    gradient = mlirad.grad(function)(x)
    assert gradient.dtype == dtype
    tolerance = 1e-8 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(gradient, differences, atol=tolerance)
    tangent = RNG.normal(size=x.shape).astype(dtype)
    _, moved = mlirad.jvp(function, (x,), (tangent,))
    np.testing.assert_allclose(moved, np.sum(differences * tangent), atol=10 * tolerance)


def test_products_of_lengths_that_only_the_run_knows() -> None:
    def function(x, n):
        return np.prod(x[:n])

    x = np.array([2.0, 3.0, 4.0, 5.0])
    for n in range(5):
        np.testing.assert_allclose(mlirad.grad(function)(x, n), [*products_of_others(x[:n]), *np.zeros(4 - n)])


def test_the_method_and_the_ufuncs_reduce() -> None:
    function = mlirad.jit(lambda x: (x.prod(axis=1), np.multiply.reduce(x), np.multiply.reduce(x, axis=None)))
    x = RNG.normal(size=(2, 3))
    for actual, expected in zip(function(x), function.numpy(x), strict=True):
        np.testing.assert_allclose(actual, expected)
