"""Functions computed before sequential loops: the values of NumPy, gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad


def recurrence(x):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = 0.9 * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


def downwards(x):
    s = x[0]
    for i in range(x.shape[0] - 1, 0, -1):
        s = s * np.cos(x[i]) + np.exp(s * 0.1) / (1.0 + np.log(1.0 + x[i - 1] * x[i - 1]))
    return s


def chosen(x):
    """The operand of a function is chosen by a branch."""
    s, half = x[0], 0.5 * x[0]
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            a = x[i] * half
        else:
            a = half - x[i]
        s = s * np.sin(a) + a
    return s


def functions_of_functions(x):
    s = x[0]
    for i in range(x.shape[0] // 2):
        s = s * np.sin(np.exp(-x[2 * i])) + np.tanh(0.01 * i)
    return s


def both_ways(x):
    """Places that move in both directions, and an array that the loop overwrites."""
    s, z = x[0], x.copy()
    for i in range(1, x.shape[0] - 1):
        s = s * np.exp(-(x[i + 1] ** 2)) + np.sin(x[x.shape[0] - 1 - i]) * np.tanh(z[i])
        z[i + 1] = z[i] * np.cos(x[i]) + s * 0.01
    return s + np.sum(z)


@pytest.mark.parametrize("function", [recurrence, downwards, chosen, functions_of_functions, both_ways])
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    gradient, tangent = mlirad.grad(function), np.random.default_rng(1).normal(size=70)
    for x in (np.random.default_rng(0).normal(size=70), np.random.default_rng(2).normal(size=140)[::-2]):
        assert mlirad.jit(function)(x) == pytest.approx(function(x), rel=1e-12)
        step = 1e-6 * tangent
        slope = (function(x + step) - function(x - step)) / 2e-6
        assert np.dot(gradient(x), tangent) == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_a_function_that_a_check_guards_stays() -> None:
    """The trip that raises comes before those whose reads would be out of range."""

    def reads(x, places):
        s = x[0]
        for i in range(places.shape[0]):
            s = s * np.exp(-x[places[i]]) + 0.5
        return s

    x, places = np.linspace(0.0, 1.0, 70), np.arange(70)
    assert mlirad.jit(reads)(x, places) == pytest.approx(reads(x, places), rel=1e-12)
    places[40] = 70
    with pytest.raises(IndexError):
        mlirad.jit(reads)(x, places)
