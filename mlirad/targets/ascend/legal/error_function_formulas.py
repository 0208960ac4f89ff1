"""Formulas for the error functions.

Reads: nd ops on f32. Writes: nd ops on f32 that are instructions. Leaves: nothing. The bounds of their errors are in
`vector_formulas.py`; the coefficients are Chebyshev fits of our own.
"""

from __future__ import annotations

import math

import numpy as np

from mlirad.dialect.core.expr import Expr, where
from mlirad.targets.ascend.legal.formula_parts import (
    abs_,
    minimum,
    polynomial,
    product,
    with_sign_of,
)

_ERF = (
    *(1.128379167, -0.3761263848, 0.1128378262, -0.02686543831),
    *(0.005221053413, -0.0008484396562, 0.0001126825398, -9.673591086e-06),
)


_ERFCX = (
    *(1.232995114, -0.1396212948, 0.01538007081, 0.06810233085, -0.1010464375, 0.09368936496),
    *(-0.06627967949, 0.03731226959, -0.01636114964, 0.004827036323, -0.0005087104917, -0.0001097600179),
)


def _scaled_complement(a: Expr) -> Expr:
    """e**(a*a) erfc(a) for a >= 0.45."""
    t = where(a < math.inf, (a - 4.0) / (a + 4.0), 1.0)
    return 0.5 * polynomial(t, _ERFCX) / (0.5 + a)


def _complement(a: Expr) -> Expr:
    """erfc(a) for a >= 0.45."""
    b = minimum(a, 12.0)
    square, rest = product(b, b)
    power = np.exp(-square)
    return (power - power * rest) * _scaled_complement(b)


def _near_erf(x: Expr) -> Expr:
    return x * polynomial(x * x, _ERF)


def erf(x: Expr) -> Expr:
    a = abs_(x)
    return where(a < 1.0, _near_erf(x), with_sign_of(1.0 - _complement(a), x))


def erfc(x: Expr) -> Expr:
    a = abs_(x)
    far = _complement(a)
    return where(a < 0.5, 1.0 - _near_erf(x), where(x < 0.0, 2.0 - far, far))


def erfcx(x: Expr) -> Expr:
    a = abs_(x)
    square, rest = product(x, x)
    power = np.exp(square)
    power = where(power < math.inf, power + power * rest, power)
    near = power * (1.0 - _near_erf(x))
    positive = _scaled_complement(a)
    return where(a < 0.5, near, where(x < 0.0, 2.0 * power - positive, positive))
