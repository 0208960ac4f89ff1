"""Formulas for functions that the 910B's vector unit lacks, in terms of those that it has.

Reads: nd ops on f32. Writes: nd ops on f32 that are instructions: add, sub, mul, div, exp, log, sqrt, abs, max, min,
comparisons, selections, rounding. Leaves: nothing.

Each formula has its bound beside it: the largest relative error against the function in f64, measured over the range
(`test_vector_formulas.py` measures it again). Outside the range the result has, at best, the right sign and order of
magnitude. The coefficients are Chebyshev fits of our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.dialect.core.expr import Expr, where
from mlirad.library import primitives
from mlirad.targets.ascend.legal.error_function_formulas import erf, erfc, erfcx
from mlirad.targets.ascend.legal.formula_parts import (
    abs_,
    is_negative,
    maximum,
    minimum,
    polynomial,
    product,
    with_sign_of,
)
from mlirad.targets.ascend.legal.remainder_formulas import copysign, floor_divide, fmod, mod, modf

_LN2, _LN10 = math.log(2.0), math.log(10.0)

_TANH = (-0.3333333313, 0.1333329713, -0.05395773932, 0.02175664239, -0.008304208166, 0.002248348516)
_EXPM1 = (0.5, 0.1666666714, 0.04166666775, 0.008333182041, 0.001388867283, 0.0001996218605, 2.493974138e-05)
_SINH = (0.1666666665, 0.008333339682, 0.0001983810044, 2.806290439e-06)
_SIN = (-0.1666666666, 0.00833333274, -0.000198410795, 2.753593041e-06, -2.406788587e-08)
_ATAN = (
    *(-0.3333333312, 0.199999547, -0.1428414286, 0.1108965553, -0.08938857295),
    *(0.07051899474, -0.04929507102, 0.02663205025, -0.00931730644, 0.001526727834),
)
_ASIN = (0.1666666632, 0.07500098992, 0.04459794657, 0.03111725269, 0.01707222263, 0.03381576718)
_PI_PARTS = (
    *(3.140625, 0.000965118408203125, 2.5331974029541016e-06),
    *(1.979060471057892e-09, 5.115907697472721e-12, 1.07806057e-14),
)
"""pi in parts. All but the last have 8 bits, so their products with a half integer below 2**15 are exact."""
_LN2_HIGH = 0.693359375
_LN2_LOW = _LN2 - _LN2_HIGH


@dataclass(frozen=True)
class Formula:
    """`build` writes the function. bound: of the relative error for arguments in `range` (each argument).

    absolute: the additional absolute error that is allowed where the result is near 0.
    """

    build: Callable[..., Any]
    bound: float
    range: tuple[float, float]
    absolute: float = 0.0


def tanh(x: Expr) -> Expr:
    a, z = abs_(x), x * x
    large = with_sign_of(1.0 - 2.0 / (np.exp(a + a) + 1.0), x)
    return where(a < 0.625, x + x * z * polynomial(z, _TANH), large)


def expm1(x: Expr) -> Expr:
    return where(abs_(x) < 0.5, x + x * x * polynomial(x, _EXPM1), np.exp(x) - 1.0)


def log1p(x: Expr) -> Expr:
    """log(1 + x), corrected for the rounding of 1 + x to u by the factor x / (u - 1)."""
    u = 1.0 + x
    near = where(u == 1.0, x, np.log(u) * (x / (u - 1.0)))
    return where(x > 1e8, np.log(x), near)


def exp2(x: Expr) -> Expr:
    """2**k 2**f, because e**(x log(2)) would magnify the rounding of x log(2)."""
    x = maximum(minimum(x, 200.0), -200.0)
    whole = np.trunc(x)
    fraction = x - whole
    return np.exp(whole * _LN2_HIGH) * np.exp(fraction * _LN2 + whole * _LN2_LOW)


def log2(x: Expr) -> Expr:
    return np.log(x) * (1.0 / _LN2)


def log10(x: Expr) -> Expr:
    return np.log(x) * (1.0 / _LN10)


def cbrt(x: Expr) -> Expr:
    """e**(log|x| / 3), improved by a Newton step."""
    a = abs_(x)
    y = np.exp(np.log(a) * (1.0 / 3.0))
    y = y - (y - a / (y * y)) * (1.0 / 3.0)
    return where((a > 0.0) & (a < math.inf), with_sign_of(y, x), x)


def sinh(x: Expr) -> Expr:
    a, z = abs_(x), x * x
    root = np.exp(0.5 * a)  # e**a would already overflow below the largest argument
    large = (0.5 * root) * root - (0.5 / root) / root
    return where(a < 1.0, x + x * z * polynomial(z, _SINH), with_sign_of(large, x))


def cosh(x: Expr) -> Expr:
    root = np.exp(0.5 * abs_(x))
    return (0.5 * root) * root + (0.5 / root) / root


def _reduced(x: Expr, shift: float) -> tuple[Expr, Expr]:
    """x - (k + shift) pi in [-pi/2, pi/2], and (-1)**k as a number; nan if k is above 2**15."""
    count = np.rint(x * (1.0 / math.pi) - shift)
    count = where(abs_(count) < 2.0**15, count, math.nan)
    rest, turns = x, count + shift
    for part in _PI_PARTS:
        rest = rest - turns * part
    half = count * 0.5
    return rest, 1.0 - 4.0 * abs_(half - np.rint(half))


def _sine(x: Expr) -> Expr:
    z = x * x
    return x + x * z * polynomial(z, _SIN)


def sin(x: Expr) -> Expr:
    rest, sign = _reduced(x, 0.0)
    return sign * _sine(rest)


def cos(x: Expr) -> Expr:
    """-sin(x - (k + 1/2) pi), with the sign of k."""
    rest, sign = _reduced(x, 0.5)
    return -(sign * _sine(rest))


def tan(x: Expr) -> Expr:
    return sin(x) / cos(x)


def arctan(x: Expr) -> Expr:
    a = abs_(x)
    is_large = a > 1.0
    t = where(is_large, 1.0 / a, a)
    z = t * t
    near = t + t * z * polynomial(z, _ATAN)
    return with_sign_of(where(is_large, math.pi / 2 - near, near), x)


def _arcsine(x: Expr) -> Expr:
    """For 0 <= x <= 1/2."""
    z = x * x
    return x + x * z * polynomial(z, _ASIN)


def arcsin(x: Expr) -> Expr:
    a = abs_(x)
    far = math.pi / 2 - 2.0 * _arcsine(np.sqrt((1.0 - a) * 0.5))
    return with_sign_of(where(a > 0.5, far, _arcsine(a)), x)


def arccos(x: Expr) -> Expr:
    a = abs_(x)
    far = 2.0 * _arcsine(np.sqrt((1.0 - a) * 0.5))
    far = where(x < 0.0, math.pi - far, far)
    return where(a > 0.5, far, math.pi / 2 - with_sign_of(_arcsine(a), x))


def arcsinh(x: Expr) -> Expr:
    a = abs_(x)
    square = a * a
    near = log1p(a + square / (1.0 + np.sqrt(square + 1.0)))
    return with_sign_of(where(a > 1e9, np.log(a) + _LN2, near), x)


def arccosh(x: Expr) -> Expr:
    t = x - 1.0
    value = where(x > 1e9, np.log(x) + _LN2, log1p(t + np.sqrt(2.0 * t + t * t)))
    return where(x >= 1.0, value, math.nan)


def arctanh(x: Expr) -> Expr:
    a = abs_(x)
    return with_sign_of(0.5 * log1p(2.0 * a / (1.0 - a)), x)


def arctan2(y: Expr, x: Expr) -> Expr:
    a, b = abs_(x), abs_(y)
    greater, lesser = maximum(a, b), minimum(a, b)
    ratio = where(greater == 0.0, 0.0, where(lesser == greater, 1.0, lesser / greater))
    angle = arctan(ratio)
    angle = where(b > a, math.pi / 2 - angle, angle)
    angle = where(is_negative(x), math.pi - angle, angle)
    angle = where((x != x) | (y != y), x + y, angle)
    return where(is_negative(y), -angle, angle)


def hypot(x: Expr, y: Expr) -> Expr:
    a, b = abs_(x), abs_(y)
    greater, lesser = maximum(a, b), minimum(a, b)
    ratio = where(greater > 0.0, lesser / greater, 0.0)
    value = where(greater < math.inf, greater * np.sqrt(1.0 + ratio * ratio), greater + lesser)
    return where((a == math.inf) | (b == math.inf), math.inf, value)


def logaddexp(x: Expr, y: Expr) -> Expr:
    greater = maximum(x, y)
    return where(x == y, x + _LN2, greater + log1p(np.exp(-abs_(x - y))))


def logaddexp2(x: Expr, y: Expr) -> Expr:
    greater = maximum(x, y)
    return where(x == y, x + 1.0, greater + log1p(exp2(-abs_(x - y))) * (1.0 / _LN2))


def power(x: Expr, y: Expr) -> Expr:
    """e**(y log|x|), with the rounding error of the product; signs and special cases as in IEEE 754's pow."""
    exponent, rest = product(y, np.log(abs_(x)))
    value = np.exp(exponent)
    has_rest = (abs_(exponent) < 1e4) & (abs_(y) < 1e34) & (value < math.inf)
    value = where(has_rest, value + value * rest, value)
    is_whole, half = np.rint(y) == y, 0.5 * y
    signed = where(np.rint(half) == half, value, -value)
    negative = where(is_whole, signed, where(x == -math.inf, value, math.nan))
    value = where(is_negative(x), where(x == 0.0, where(is_whole, signed, value), negative), value)
    value = where((x == -1.0) & (abs_(y) == math.inf), 1.0, value)
    return where((x == 1.0) | (y == 0.0), 1.0, value)


_ANY = (-1e30, 1e30)
_TURNS = (-1e5, 1e5)

FORMULAS: dict[Callable[..., Any], Formula] = {
    np.tanh: Formula(tanh, 3e-7, _ANY),
    np.expm1: Formula(expm1, 3e-7, (-80.0, 88.0)),
    np.log1p: Formula(log1p, 4e-7, (-0.9999, 1e30)),
    np.exp2: Formula(exp2, 4e-7, (-120.0, 127.9)),
    np.log2: Formula(log2, 3e-7, (1e-30, 1e30)),
    np.log10: Formula(log10, 3e-7, (1e-30, 1e30)),
    np.cbrt: Formula(cbrt, 4e-7, _ANY),
    np.sinh: Formula(sinh, 6e-7, (-88.0, 88.0)),
    np.cosh: Formula(cosh, 6e-7, (-88.0, 88.0)),
    np.sin: Formula(sin, 3e-7, _TURNS, absolute=2e-7),
    np.cos: Formula(cos, 3e-7, _TURNS, absolute=2e-7),
    np.tan: Formula(tan, 1e-6, (-1.5, 1.5), absolute=2e-7),
    np.arctan: Formula(arctan, 3e-7, _ANY),
    np.arcsin: Formula(arcsin, 4e-7, (-1.0, 1.0)),
    np.arccos: Formula(arccos, 4e-7, (-1.0, 0.9999), absolute=2e-7),
    np.arcsinh: Formula(arcsinh, 6e-7, _ANY),
    np.arccosh: Formula(arccosh, 6e-7, (1.0, 1e30)),
    np.arctanh: Formula(arctanh, 6e-7, (-0.9999, 0.9999)),
    np.arctan2: Formula(arctan2, 5e-7, _ANY),
    np.hypot: Formula(hypot, 4e-7, _ANY),
    np.logaddexp: Formula(logaddexp, 4e-7, (-1e4, 1e4), absolute=3e-7),
    np.logaddexp2: Formula(logaddexp2, 4e-7, (-1e4, 1e4), absolute=3e-7),
    np.power: Formula(power, 1e-5, (1e-4, 1e4)),
    np.copysign: Formula(copysign, 0.0, _ANY),
    np.modf: Formula(modf, 0.0, _ANY),
    np.fmod: Formula(fmod, 1e-6, (0.01, 1e3), absolute=1e-6),
    np.remainder: Formula(mod, 1e-6, (0.01, 1e3), absolute=1e-6),
    np.floor_divide: Formula(floor_divide, 0.0, (0.01, 1e3)),
    primitives.erf: Formula(erf, 4e-7, _ANY),
    primitives.erfc: Formula(erfc, 2e-6, (-10.0, 9.0)),
    primitives.erfcx: Formula(erfcx, 2e-6, (-9.0, 1e30)),
}
"""By NumPy's function, which spells the op."""
