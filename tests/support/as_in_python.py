"""Compares a compiled function of an array with Python: its value, and its derivative in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def is_as_in_python(function: Callable[..., Any], x: np.ndarray = X) -> None:
    """The value, and the derivative along one direction, beside a difference quotient."""
    value = mlirad.jit(function)(x.copy())
    np.testing.assert_allclose(value, function(x.copy()), rtol=1e-13)
    direction, step = np.linspace(0.4, 1.1, len(x)), 1e-6
    slope = (function(x + step * direction) - function(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(mlirad.grad(function)(x.copy()) @ direction, slope, rtol=1e-6)
    np.testing.assert_allclose(mlirad.jvp(function, (x.copy(),), (direction,))[1], slope, rtol=1e-6)
