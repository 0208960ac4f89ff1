"""Functions that NumPy lacks and the compiler computes itself; the library's functions are written with them.

Reads: arrays of floats. Writes: nothing. Leaves: arrays of the same dtype. Compiled code calls none of them: they are
the references for ops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def is_fixed(size: int) -> bool:
    """Whether a size is known at compile time. Without a compiler it is."""
    return isinstance(size, int)


def fixed(count: Any) -> Any:
    """A count. The compiler requires it at compile time: loops that it depends on are unrolled."""
    return count


def _each(function: Callable[[float], float], x: Any, at_errors: float = math.nan) -> Any:
    """A function of Python floats, applied to each element, in the dtype of x."""

    def of_one(number: float) -> float:
        try:
            return function(number)
        except (ValueError, OverflowError):
            return at_errors

    array = np.asarray(x)
    found = [of_one(float(each)) for each in array.ravel()]
    return np.array(found, np.float64).reshape(array.shape).astype(array.dtype)[()]


def erf(x: Any) -> Any:
    """The error function."""
    return _each(math.erf, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate even where erf(x) is near 1."""
    return _each(math.erfc, x)


def erfcx(x: Any) -> Any:
    """e^(x^2) erfc(x)."""
    return _each(_scaled_erfc, x)


def _scaled_erfc(x: float) -> float:
    if x < 25:
        return math.exp(min(x * x, 709.0)) * math.erfc(x) if x > -26.6 else math.inf
    total = 0.0
    for k in range(40, 0, -1):  # a continued fraction
        total = k / 2 / (x + total)
    return 1 / ((x + total) * math.sqrt(math.pi))


def erfinv(x: Any) -> Any:
    """y with erf(y) = x."""
    return _each(lambda x: math.copysign(_inverse(1 - abs(x)), x) if abs(x) > 0.5 else _inverse_near(x), x)


def erfcinv(x: Any) -> Any:
    """y with erfc(y) = x."""
    return _each(lambda x: erfinv(1 - x) if 0.5 < x < 1.5 else _inverse(x) if x < 1 else -_inverse(2 - x), x)


def _inverse_near(x: float) -> float:
    y = x * math.sqrt(math.pi) / 2
    for _ in range(60):
        y -= (math.erf(y) - x) * math.sqrt(math.pi) / 2 * math.exp(y * y)
    return y


def _inverse(q: float) -> float:
    """y > 0 with erfc(y) = q < 1, by Newton's method for the logarithm."""
    if not 0 < q < 1:
        return math.inf if q == 0 else math.nan
    y = math.sqrt(-math.log(q))
    for _ in range(60):
        scaled = _scaled_erfc(y)
        y += (math.log(scaled) - y * y - math.log(q)) * scaled * math.sqrt(math.pi) / 2
    return y


def gamma(x: Any) -> Any:
    """The gamma function: an infinity with the sign of a zero, nan for negative integers."""
    return _each(_gamma, x)


def _gamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    return math.inf if x > 171 and math.lgamma(x) > 709.78 else math.gamma(x)


def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return _each(math.lgamma, x, math.inf)


def polygamma(order: int, x: Any) -> Any:
    """The derivative of that order of the digamma function."""
    return _each(lambda x: _polygamma(order, x), x)


def _polygamma(order: int, x: float) -> float:
    if math.isinf(x) and x > 0:
        return math.inf if order == 0 else 0.0
    if x <= 0 and x == math.floor(x):
        if order > 0:
            return (-1.0) ** (order + 1) * math.inf
        return math.copysign(math.inf, -x) if x == 0 else math.nan
    total, sign = 0.0, (-1.0) ** (order + 1) * math.factorial(order)
    while x < 25:
        total += sign * x ** -(order + 1)
        x += 1
    if order == 0:
        total += math.log(x) - 0.5 / x
        return total - sum(b / (2 * j * x ** (2 * j)) for j, b in enumerate(_BERNOULLI, 1))
    tail = x**-order / order + 0.5 * x ** -(order + 1)
    for j, b in enumerate(_BERNOULLI, 1):
        rising = math.prod(range(order + 1, order + 2 * j))
        tail += b / math.factorial(2 * j) * rising * x ** -(order + 2 * j)
    return total + sign * tail


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


# --- Bessel functions, by integrals (DLMF 10.9.2, 10.9.7, 10.32.3 and 10.32.9) ----------------------------------


def bessel_j(order: int, x: Any) -> Any:
    """The Bessel function J of an integer order."""
    return _each(lambda x: _mean_of_turn(lambda t: np.cos(order * t - x * np.sin(t)), x), x)


def bessel_ie(order: int, x: Any) -> Any:
    """e^-|x| times the modified Bessel function I."""
    return _each(lambda x: _mean_of_turn(lambda t: np.exp(x * np.cos(t) - abs(x)) * np.cos(order * t), x), x)


def bessel_i(order: int, x: Any) -> Any:
    """The modified Bessel function I of an integer order."""
    return _each(lambda x: float(bessel_ie(order, x)) * math.exp(abs(x)), x, math.inf)


def _mean_of_turn(function: Callable[[Any], Any], x: float) -> float:
    """The mean of a periodic function with frequencies up to about |x|."""
    if not math.isfinite(x):
        return math.nan
    count = 120 + 2 * int(min(abs(x), 1e5))
    return float(np.mean(function(np.arange(count) * (2 * math.pi / count))))


def bessel_ke(order: int, x: Any) -> Any:
    """e^x times the modified Bessel function K."""
    return _each(lambda x: _scaled_k(order, x), x)


def bessel_k(order: int, x: Any) -> Any:
    """The modified Bessel function K of an integer order."""
    return _each(lambda x: _scaled_k(order, x) * math.exp(-x), x)


def _scaled_k(order: int, x: float) -> float:
    if not x > 0.0:
        return math.inf if x == 0.0 else math.nan
    end = math.acosh(1.0 + (750.0 + 20.0 * order) / x)
    t = np.linspace(0.0, end, 4001)
    return (
        float(np.trapezoid(np.exp(order * t - x * (np.cosh(t) - 1.0)) + np.exp(-order * t - x * (np.cosh(t) - 1.0)), t))
        / 2
    )


def bessel_y(order: int, x: Any) -> Any:
    """The Bessel function Y of an integer order."""
    return _each(lambda x: _second_kind(order, x), x)


def _second_kind(order: int, x: float) -> float:
    if not x > 0.0 or math.isinf(x):
        return -math.inf if x == 0.0 else math.nan
    nodes, weights = np.polynomial.legendre.leggauss(100 + int(min(x, 1000.0)))
    t = (nodes + 1.0) * (math.pi / 2)
    turning = float(np.sum(weights * np.sin(x * np.sin(t) - order * t))) / 2
    nodes, weights = np.polynomial.legendre.leggauss(20)
    step = math.asinh((750.0 + 20.0 * order) / x) / 100
    t = (np.arange(100)[:, None] + (nodes + 1.0) / 2) * step
    falling = (np.exp(order * t) + (-1) ** order * np.exp(-order * t)) * np.exp(-x * np.sinh(t))
    return turning - float(np.sum(falling @ weights)) * step / (2 * math.pi)


def keep_last(value: Any, at: int, *indices: Any) -> Any:
    """The part of `value` that remains when it is stored at the places `indices` of an array, and 0 for overwritten
    elements.

    value has the axes of the index arrays from axis `at` on.
    """
    last: dict[tuple[int, ...], tuple[int, ...]] = {}
    for point in np.ndindex(indices[0].shape):
        last[tuple(int(index[point]) for index in indices)] = point
    kept = np.zeros_like(value)
    rank = indices[0].ndim
    source, target = (np.moveaxis(array, range(at, at + rank), range(rank)) for array in (value, kept))
    for point in last.values():
        target[point] = source[point]
    return kept
