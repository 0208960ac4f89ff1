"""Programs with slices of traced lengths, compiled: NumPy's values and side effects, and derivatives in all modes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_lengths import ALGORITHMS, CORNERS, SPD, X, cholesky, durbin, leaves_early, nussinov, swaps

import mlirad

DIFFERENTIABLE = [f for f in ALGORITHMS if f is not nussinov]
# Two corners: one jumps when its argument moves, and one rounds to float32.
SMOOTH = [f for f, array in CORNERS.items() if array.dtype == float and f.__name__ not in ("leaves_early", "made_like")]


def is_close(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(is_close, a, b))
    return a is b or np.allclose(a, b, rtol=1e-6, atol=1e-12, equal_nan=True)


def total(result):
    """A smooth number of all that a program returns."""
    if result is None:
        return 0.0
    if isinstance(result, tuple):
        s = 0.0
        for part in result:
            s = s + total(part)
        return s
    return np.sum(np.sin(result * 1.0))


def loss_of(f: Callable[..., Any], numbers: np.ndarray) -> Callable[..., Any]:
    """A number of what a program of an array and a number (which is data) returns, and leaves in the array."""

    def loss(x):
        x = x * 1.0
        s = total(f(x, int(numbers[0])))
        return s + np.sum(np.sin(x))

    return loss


def three_losses(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same for an algorithm of up to three arrays; it may write the first."""

    def of_one(a):
        a = a * 1.0
        s = total(f(a))
        return s + np.sum(np.sin(a))

    def of_two(a, b):
        a = a * 1.0
        s = total(f(a, b))
        return s + np.sum(np.sin(a))

    def of_three(a, b, c):
        b, c = b * 1.0, c * 1.0
        s = total(f(a, b, c))
        return s + np.sum(np.sin(b)) + np.sum(np.sin(c))

    def of_five(a, b, c, d, e):
        c = c * 1.0
        s = total(f(a, b, c, d, e))
        return s + np.sum(np.sin(c))

    def of_four(a, b, c, d):
        c = c * 1.0
        s = total(f(a, b, c, d))
        return s + np.sum(np.sin(c))

    return {1: of_one, 2: of_two, 3: of_three, 4: of_four, 5: of_five}[len(ALGORITHMS[f])]


def check_gradient(loss: Callable[..., Any], args: tuple[Any, ...], chosen: tuple[int, ...]) -> None:
    """Central differences along a random direction, and forward mode along it."""
    generator = np.random.default_rng(len(args))
    directions = [generator.standard_normal(np.shape(args[k])) for k in chosen]

    def moved(step: float) -> Any:
        values = list(args)
        for k, direction in zip(chosen, directions, strict=True):
            values[k] = values[k] + step * direction
        return loss(*values)

    numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6
    gradients = mlirad.grad(loss, argnums=chosen)(*args)
    reverse = sum(float(np.sum(g * d)) for g, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(reverse, numeric, rtol=1e-6, atol=1e-6)

    tangents = tuple(directions[chosen.index(k)] if k in chosen else 0 * arg for k, arg in enumerate(args))
    _, forward = mlirad.jvp(loss, args, tangents)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("function", ALGORITHMS, ids=lambda f: f.__name__)
def test_algorithms_run_natively(function):
    mine, theirs = (copy.deepcopy(ALGORITHMS[function]) for _ in range(2))
    expected = function(*theirs)
    assert is_close(mlirad.jit(function)(*mine), expected) and is_close(mine, theirs)


@pytest.mark.parametrize("function", CORNERS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:Mean of empty", "ignore:Degrees of freedom")
def test_corners_run_natively(function):
    kernel, array = mlirad.jit(function), CORNERS[function]
    for n in (0, 1, 2, 4, len(array), len(array) + 2):
        mine, theirs = array.copy(), array.copy()
        expected = function(theirs, n)
        assert is_close(kernel(mine, n), expected) and is_close(mine, theirs), n


@pytest.mark.parametrize("function", DIFFERENTIABLE, ids=lambda f: f.__name__)
def test_derivatives_of_algorithms(function):
    args = ALGORITHMS[function]
    chosen = tuple(k for k, arg in enumerate(args) if isinstance(arg, np.ndarray))
    check_gradient(three_losses(function), args, chosen)


@pytest.mark.parametrize("function", SMOOTH, ids=lambda f: f.__name__)
def test_derivatives_of_corners(function):
    numbers = np.array([0])
    loss = loss_of(function, numbers)
    for n in (2, 3, len(CORNERS[function]) + 1):
        numbers[0] = n  # compiled once, for every number
        check_gradient(loss, (CORNERS[function],), (0,))


@pytest.mark.parametrize(("function", "array"), [(cholesky, SPD), (durbin, ALGORITHMS[durbin][0]), (swaps, X)])
def test_second_derivatives(function, array):
    """Forward over reverse, and reverse over reverse, against differences of the gradient."""
    loss = three_losses(function) if function is not swaps else lambda x: total(swaps(x * x, 3))
    gradient = mlirad.grad(loss)
    direction = np.random.default_rng(3).standard_normal(array.shape) * 0.1
    numeric = (gradient(array + 1e-5 * direction) - gradient(array - 1e-5 * direction)) / 2e-5
    _, product = mlirad.jvp(gradient, (array,), (direction,))
    np.testing.assert_allclose(product, numeric, rtol=1e-5, atol=1e-6)

    def along(x):
        return np.sum(mlirad.grad(loss)(x) * direction)

    np.testing.assert_allclose(mlirad.grad(along)(array), numeric, rtol=1e-5, atol=1e-6)


def test_a_jump_has_the_derivative_of_its_side():
    moved = X.copy()
    place = leaves_early(moved, 3)
    assert place == 2 and not moved[place:].any()
    gradient = mlirad.grad(loss_of(leaves_early, np.array([3])))(X)
    np.testing.assert_allclose(gradient, np.where(np.arange(len(X)) < place, np.cos(moved), 0.0))
