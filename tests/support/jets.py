"""Truncated Taylor series in one variable: derivatives of a Python function, exact to rounding, without mlirad.

Jet(c)[k] is the k-th coefficient of f(x + t) in t, so that the k-th derivative is k! times as much. The recurrences are
from Griewank and Walther, Evaluating Derivatives (2008), section 13.2.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

ORDER = 4


class Jet:
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any) -> Any:
        """A function of a jet is the method of its name; an array times a jet asks the jet."""
        if len(inputs) == 1:
            return getattr(self, ufunc.__name__)()
        left, right = inputs
        return _FROM_THE_RIGHT[ufunc](right, left)

    def __init__(self, coefficients: Any) -> None:
        self.c = np.zeros(ORDER + 1)
        self.c[: len(coefficients)] = coefficients

    @staticmethod
    def of(x: Any) -> Jet:
        return x if isinstance(x, Jet) else Jet([float(x)])

    def __add__(self, other: Any) -> Any:
        return each(lambda x: x + self, other) if isinstance(other, np.ndarray) else Jet(self.c + Jet.of(other).c)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return each(lambda x: x * self, other)
        return Jet(np.convolve(self.c, Jet.of(other).c)[: ORDER + 1])

    def __truediv__(self, other: Any) -> Jet:
        other, out = Jet.of(other), np.zeros(ORDER + 1)
        for k in range(ORDER + 1):
            out[k] = (self.c[k] - out[:k] @ other.c[k:0:-1]) / other.c[0]
        return Jet(out)

    def sin(self) -> Jet:
        sine, cosine = np.zeros(ORDER + 1), np.zeros(ORDER + 1)
        sine[0], cosine[0] = np.sin(self.c[0]), np.cos(self.c[0])
        for k in range(1, ORDER + 1):
            slopes = np.arange(1, k + 1) * self.c[1 : k + 1] / k
            sine[k], cosine[k] = slopes @ cosine[k - 1 :: -1][:k], -slopes @ sine[k - 1 :: -1][:k]
        return Jet(sine)

    def exp(self) -> Jet:
        out = np.zeros(ORDER + 1)
        out[0] = np.exp(self.c[0])
        for k in range(1, ORDER + 1):
            out[k] = np.arange(1, k + 1) * self.c[1 : k + 1] / k @ out[k - 1 :: -1][:k]
        return Jet(out)

    def log(self) -> Jet:
        out = np.zeros(ORDER + 1)
        out[0] = np.log(self.c[0])
        for k in range(1, ORDER + 1):
            out[k] = (self.c[k] - np.arange(1, k) * out[1:k] / k @ self.c[k - 1 : 0 : -1]) / self.c[0]
        return Jet(out)

    def sqrt(self) -> Jet:
        return (self.log() * 0.5).exp()

    def tanh(self) -> Jet:
        doubled = (self * 2.0).exp()
        return (doubled - 1.0) / (doubled + 1.0)

    def __pow__(self, exponent: float) -> Jet:
        return (self.log() * exponent).exp()

    def __neg__(self) -> Jet:
        return Jet(-self.c)

    def __sub__(self, other: Any) -> Jet:
        return self + -other

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    def __rtruediv__(self, other: Any) -> Jet:
        return Jet.of(other) / self

    def __abs__(self) -> Jet:
        return self if self.c[0] >= 0 else -self

    def __lt__(self, other: Any) -> bool:
        return bool(self.c[0] < Jet.of(other).c[0])

    def __gt__(self, other: Any) -> bool:
        return bool(self.c[0] > Jet.of(other).c[0])

    __radd__, __rmul__ = __add__, __mul__


_FROM_THE_RIGHT = {
    np.add: Jet.__radd__,
    np.multiply: Jet.__rmul__,
    np.subtract: Jet.__rsub__,
    np.true_divide: Jet.__rtruediv__,
}


def each(function: Any, array: np.ndarray) -> np.ndarray:
    out = np.empty(array.shape, object)
    for index, element in np.ndenumerate(array):
        out[index] = function(Jet.of(element))
    return out


def derivatives(function: Any, x: float) -> list[float]:
    """The value and the first derivatives at x, up to the fourth."""
    return [float(c) * factorial(k) for k, c in enumerate(Jet.of(function(Jet([x, 1.0]))).c)]
