"""The error function, its complement, and their inverses. The approximations are our own; derivatives as in DLMF 7."""

from __future__ import annotations

import math as pymath

import numpy as np
from xdsl.dialects import math

from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import Real
from mlirad.dialect.functions import special_tables as tables
from mlirad.dialect.functions.formulas import FormulaOp
from mlirad.library import primitives

_SLOPE = 2.0 / pymath.sqrt(pymath.pi)


def _scaled(a: Real) -> Real:
    """(1 + 2a) e^(a^2) erfc(a) for a >= 1/2, a polynomial of (a - 4) / (a + 4)."""
    t = ((a - 4.0) / (a + 4.0)).where(a.equals(pymath.inf), 1.0)
    return t.polynomial(tables.ERFCX)


def _near(x: Real) -> Real:
    """erf(x) for |x| <= 1."""
    return x.times_plus((x * x).polynomial(tables.ERF), x)


def _complement(a: Real) -> Real:
    """erfc(a) for a >= 1/2: e^(-a^2) times the quotient, corrected for the rounding of the square and of the
    quotient."""
    a = a.where(a > 28.0, 28.0)
    square = a * a
    power = (-square).exp()
    above, below = _scaled(a), 1.0 + 2.0 * a
    inverse = 1.0 / below
    quotient = above * inverse
    below_low = 2.0 * a - (below - 1.0)
    left = (-quotient).times_plus(below, above) - quotient * below_low
    rest = left * inverse - quotient * a.times_plus(a, -square)
    return power.times_plus(quotient, power * rest)


def erf_formula(x: Real) -> Real:
    a = abs(x)
    return (1.0 - _complement(a)).with_sign_of(x).where(a < 1.0, _near(x))


def erfc_formula(x: Real) -> Real:
    a = abs(x)
    far = _complement(a)
    return far.where(x < 0.0, 2.0 - far).where(a < 0.5, 1.0 - _near(x))


def erfcx_formula(x: Real) -> Real:
    a = abs(x)
    positive = _scaled(a) / (1.0 + 2.0 * a)
    b = a.where(a > 28.0, 28.0)
    square = b * b
    power = square.exp()
    power = (power + power * b.times_plus(b, -square)).where(power.equals(pymath.inf), pymath.inf)
    near = power * (1.0 - _near(x))
    return positive.where(x < 0.0, 2.0 * power - positive).where(a < 0.5, near)


def _inverse(q: Real) -> Real:
    """y > 0 with erfc(y) = q < 1/2: a polynomial of sqrt(-log q), and one Halley step for log erfc(y) = log q."""
    logarithm = q.log()
    w = (-logarithm).function(math.SqrtOp)
    y = w.polynomial(tables.ERFCINV_FAR).where(w < 3.15, w.polynomial(tables.ERFCINV_NEAR))
    scaled = _scaled(y) / (1.0 + 2.0 * y)
    error = scaled.log() - (logarithm + y * y)
    slope = -_SLOPE / scaled
    ratio = error / slope
    y = y - ratio / (1.0 - 0.5 * ratio * (-2.0 * y - slope))
    return y.where(q.equals(0.0), pymath.inf)


def erfinv_formula(x: Real) -> Real:
    a = abs(x)
    near = x * (x * x).polynomial(tables.ERFINV)
    return _inverse(1.0 - a).with_sign_of(x).where(a < 0.5, near)


def erfcinv_formula(q: Real) -> Real:
    is_right = q > 1.0
    far = _inverse(q.where(is_right, 2.0 - q))
    x = 1.0 - q
    near = x * (x * x).polynomial(tables.ERFINV)
    return far.where(is_right, -far).where(abs(x) < 0.5, near)


@op(primitives.erf, pymath.erf, cost=60)
class ErfOp(FormulaOp):
    """The error function; its derivative is 2/sqrt(pi) e^(-x^2)."""

    name = "nd.erf"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (_SLOPE * np.exp(-(x * x)))

    def formula(self, x: Real) -> Real:
        return erf_formula(x)


@op(primitives.erfc, pymath.erfc, cost=60)
class ErfcOp(FormulaOp):
    """1 - erf(x); its derivative is -2/sqrt(pi) e^(-x^2)."""

    name = "nd.erfc"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (-_SLOPE * np.exp(-(x * x)))

    def formula(self, x: Real) -> Real:
        return erfc_formula(x)


@op(primitives.erfcx, cost=80)
class ErfcxOp(FormulaOp):
    """e^(x^2) erfc(x); its derivative is 2x erfcx(x) - 2/sqrt(pi)."""

    name = "nd.erfcx"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (2.0 * (x * out) - _SLOPE)

    def formula(self, x: Real) -> Real:
        return erfcx_formula(x)


@op(primitives.erfinv, cost=150, singular=True, harmless=0)
class ErfinvOp(FormulaOp):
    """The y with erf(y) = x, nan outside [-1, 1]; its derivative is sqrt(pi)/2 e^(y^2)."""

    name = "nd.erfinv"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (np.exp(out * out) * (1.0 / _SLOPE))

    def formula(self, x: Real) -> Real:
        return erfinv_formula(x)


@op(primitives.erfcinv, cost=150, singular=True)
class ErfcinvOp(FormulaOp):
    """The y with erfc(y) = x, nan outside [0, 2]; its derivative is -sqrt(pi)/2 e^(y^2)."""

    name = "nd.erfcinv"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return -(g * (np.exp(out * out) * (1.0 / _SLOPE)))

    def formula(self, x: Real) -> Real:
        return erfcinv_formula(x)
