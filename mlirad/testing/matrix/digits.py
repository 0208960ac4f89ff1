"""Numbers with many digits. NumPy's functions compute with them in arrays of objects.

Differences of six orders keep 30 of 120 digits, so they can judge float64 results to the last bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

CONTEXT = mpmath.mp.clone()
CONTEXT.dps = 120


def _operator(compute: Callable[[Any, Any], Any], gives: Callable[[Any], Any]) -> Callable[[Digits, Any], Any]:
    """A method of Digits; arrays apply it to their elements themselves."""

    def method(self: Digits, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        return gives(compute(self.value, other.value if isinstance(other, Digits) else CONTEXT.mpf(float(other))))

    return method


class Digits:
    """A number of 120 digits. It is not a float: an array of floats, which would lose digits, refuses it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __neg__(self) -> Digits:
        return Digits(-self.value)

    __add__ = __radd__ = _operator(operator.add, lambda value: Digits(value))
    __mul__ = __rmul__ = _operator(operator.mul, lambda value: Digits(value))
    __sub__ = _operator(operator.sub, lambda value: Digits(value))
    __rsub__ = _operator(lambda x, y: y - x, lambda value: Digits(value))
    __truediv__ = _operator(operator.truediv, lambda value: Digits(value))
    __lt__ = _operator(operator.lt, bool)
    __gt__ = _operator(operator.gt, bool)

    def sin(self) -> Digits:
        return Digits(CONTEXT.sin(self.value))

    def cos(self) -> Digits:
        return Digits(CONTEXT.cos(self.value))

    def exp(self) -> Digits:
        return Digits(CONTEXT.exp(self.value))


def digits(x: np.ndarray) -> np.ndarray:
    """The same numbers as an array of objects."""
    return np.array([Digits(CONTEXT.mpf(float(each))) for each in x], dtype=object)


STEP = Digits(CONTEXT.mpf(10) ** -15)


def along(f: Callable[[Any], Any], order: int) -> Any:
    """The derivative at 0 of the given order, 1 to 3, of a function of a number, by central differences."""
    stencil = {1: ((1, 0.5), (-1, -0.5)), 2: ((1, 1), (0, -2), (-1, 1)), 3: ((2, 0.5), (1, -1), (-1, 1), (-2, -0.5))}
    total: Any = 0.0
    for place, weight in stencil[order]:
        total = f(STEP * place) * weight + total
    for _ in range(order):
        total = total / STEP
    return total
