"""Functions of whole arrays where they are given one element: derivatives are what differences give, never 0 / 0."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "var": np.var,
    "std": np.std,
    "root of var": lambda x, **options: np.sqrt(np.var(x, **options)),
    "power of var": lambda x, **options: np.var(x, **options) ** 0.5,
    "ptp": np.ptp,
}
PARTS: dict[str, Callable[..., Any]] = {
    "all": lambda f, x, n: f(x[:1]),
    "number": lambda f, x, n: f(x[0]),
    "rows": lambda f, x, n: np.sum(f(x.reshape(-1, 1), axis=1)),
    "columns": lambda f, x, n: np.sum(f(x.reshape(1, -1), axis=0)),
    "kept": lambda f, x, n: np.sum(f(x[2:], keepdims=True)),
    "slice of the run": lambda f, x, n: f(x[:n]),
    "mask": lambda f, x, n: f(x[x > 2.0]),
}
X = np.array([1.5, -0.5, 3.0])


def of_part(name: str, part: str) -> Callable[..., Any]:
    reduction, taken = REDUCTIONS[name], PARTS[part]
    return lambda x, n: np.sin(x[1]) + 2.0 * taken(reduction, x, n) * x[0]


def differences(function: Callable[..., Any], x: np.ndarray, n: int) -> np.ndarray:
    steps = np.eye(x.size) * 1e-6
    return np.array([(function(x + step, n) - function(x - step, n)) / 2e-6 for step in steps])


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_derivatives_of_one_element(name: str, part: str) -> None:
    function = of_part(name, part)
    expected = differences(function, X, 1)
    np.testing.assert_allclose(mlirad.grad(function)(X, 1), expected, atol=1e-7)
    if name == "std":
        np.testing.assert_allclose(mlirad.jvp(lambda x: function(x, 1), (X,), (X,))[1], expected @ X, atol=1e-6)


@pytest.mark.parametrize("name", ["std", "power of var"])
def test_more_elements_of_the_run(name: str) -> None:
    """The same kernel, with more than one element."""
    for part, (n, x) in itertools.product(("slice of the run", "mask"), ((2, X), (3, np.array([4.0, 2.5, 3.0])))):
        function = of_part(name, part)
        np.testing.assert_allclose(mlirad.grad(function)(x, n), differences(function, x, n), atol=1e-6)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty slice")
def test_second_derivatives_and_values() -> None:
    def spread(x, n):
        return np.std(x[:n]) * x[0] + np.var(x[:1])

    assert mlirad.grad(mlirad.grad(lambda x: spread(np.array([x, x * x]), 1)))(2.0) == 0.0
    for value in (np.inf, -np.inf, np.nan, 3.0):
        for n in (0, 1):
            x = np.array([value])
            with np.errstate(all="ignore"):
                expected = np.std(x[:n]), np.var(x, ddof=1), np.std(x)
            found = mlirad.jit(lambda x, n: (np.std(x[:n]), np.var(x, ddof=1), np.std(x)))(x, n)
            np.testing.assert_array_equal(found, expected)


def test_equal_elements_have_no_derivative() -> None:
    """The square root of a variance of 0 has none where elements may differ: what IEEE gives (docs/deviations.md)."""
    assert np.all(np.isnan(mlirad.grad(lambda x: np.std(x))(np.array([2.0, 2.0]))))
