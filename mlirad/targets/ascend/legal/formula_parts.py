"""The parts that formulas share: polynomials, products with their rounding error, signs.

Reads: nd ops on f32. Writes: nd ops on f32 that are instructions. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlirad.dialect.core.expr import Expr, Number, apply, where


def abs_(x: Expr) -> Expr:
    return apply(np.abs, x)


def maximum(x: Expr, y: Expr | Number) -> Expr:
    return apply(np.maximum, x, y)


def minimum(x: Expr, y: Expr | Number) -> Expr:
    return apply(np.minimum, x, y)


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """The polynomial; the coefficient of x**0 comes first."""
    value = x * coefficients[-1] + coefficients[-2]
    for each in coefficients[-3::-1]:
        value = value * x + each
    return value


def _high(x: Expr) -> Expr:
    """The upper 12 bits of the significand of x."""
    scaled = x * 4097.0
    return scaled - (scaled - x)


def product(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """x y, rounded, and its rounding error (T. J. Dekker, 1971)."""
    rounded = x * y
    x_high, y_high = _high(x), _high(y)
    x_low, y_low = x - x_high, y - y_high
    rest = ((x_high * y_high - rounded) + x_high * y_low + x_low * y_high) + x_low * y_low
    return rounded, rest


def with_sign_of(magnitude: Expr, x: Expr) -> Expr:
    """-magnitude where x is below 0."""
    return where(x < 0.0, -magnitude, magnitude)


def is_negative(x: Expr) -> Expr:
    """Whether x has a sign; -0.0 has one, because 1 / -0.0 is below 0."""
    return where(x == 0.0, 1.0 / x, x) < 0.0
