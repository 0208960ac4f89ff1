"""Formulas for remainders, floor division and parts of numbers.

Reads: nd ops on f32. Writes: nd ops on f32 that are instructions. Leaves: nothing. The bounds of their errors are in
`vector_formulas.py`.
"""

from __future__ import annotations

import math

import numpy as np

from mlirad.dialect.core.expr import Expr, where, zeros_like
from mlirad.targets.ascend.legal.formula_parts import (
    abs_,
    is_negative,
    product,
    with_sign_of,
)


def copysign(x: Expr, y: Expr) -> Expr:
    a = abs_(x)
    return where(is_negative(y), -a, a)


def modf(x: Expr) -> tuple[Expr, Expr]:
    whole = np.trunc(x)
    return copysign(where(x == whole, 0.0, x - whole), x), whole


def _remainder(x: Expr, y: Expr) -> Expr:
    """x - k y in [0, y), for x >= 0 and y > 0 with a quotient below 2**22; exact."""
    is_large = y > 1e30  # the parts of the product would overflow
    quotient = np.trunc(x / y)
    a, b = where(is_large, x * 2.0**-40, x), where(is_large, y * 2.0**-40, y)
    rounded, rest = product(quotient, b)
    value = (a - rounded) - rest
    value = where(value < 0.0, value + b, value)
    value = where(value >= b, value - b, value)
    value = where(is_large, value * 2.0**40, value)
    value = where(quotient == 0.0, x, value)
    return where(quotient < 2.0**22, value, math.nan)


def fmod(x: Expr, y: Expr) -> Expr:
    """Take the remainder by 2**21 y first; nan if the quotient is above 2**43."""
    a, b = abs_(x), abs_(y)
    return copysign(_remainder(_remainder(a, b * 2.0**21), b), x)


def mod(x: Expr, y: Expr) -> Expr:
    """The remainder of floor division: it has the sign of y."""
    value = fmod(x, y)
    value = where((value != 0.0) & ((value < 0.0) != (y < 0.0)), value + y, value)
    return where(value == 0.0, copysign(value, y), value)


def floor_divide(x: Expr, y: Expr) -> Expr:
    value = np.rint((x - mod(x, y)) / y)
    value = where(value == 0.0, copysign(value, x / y), value)
    quotient, is_finite = x / y, abs_(x) < math.inf
    value = where((y == 0.0) | (is_finite & (abs_(quotient) > 2.0**40)), quotient, value)
    near_zero = where(with_sign_of(x, y) < 0.0, -1.0, zeros_like(x))
    return where(is_finite & (abs_(y) == math.inf), near_zero, value)
