"""The gamma function, its logarithm, and its derivatives. The approximations are our own; identities from DLMF 5."""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import math
from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import prop_def

from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import Real
from mlirad.dialect.functions import special_tables as tables
from mlirad.dialect.functions.formulas import FormulaOp
from mlirad.library import primitives

_LARGE = 8.0
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _fraction(x: Real) -> tuple[Real, Real]:
    """x minus the nearest integer, and that integer."""
    near = x.function(math.RoundEvenOp)
    return x - near, near


def _sine_of_turns(x: Real) -> Real:
    """|sin(pi x)|."""
    rest, _ = _fraction(x)
    return abs((rest * pymath.pi).function(math.SinOp))


def _shifted(x: Real) -> tuple[Real, Real, Real]:
    """t in [-1/2, 1/2], which differs from x in (0, 8.5] by an integer, and the products between x and 2 + t: gamma(x)
    = gamma(2 + t) above / below. The differences are exact."""
    above, below, t = Real.number(1.0), Real.number(1.0), x - 2.0
    for _ in range(6):
        is_right = t > 0.5
        above = above.where(is_right, above * (t + 1.0))
        t = t.where(is_right, t - 1.0)
    is_left, is_small = x < 1.5, x < 0.5
    t = t.where(is_left, x - 1.0).where(is_small, x)
    return t, above, below.where(is_left, x).where(is_small, x * (x + 1.0))


def _stirling(x: Real) -> Real:
    """log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 for x >= 8."""
    inverse = 1.0 / x
    return inverse * (inverse * inverse).polynomial(tables.STIRLING)


def _lgamma_of_positive(x: Real) -> Real:
    near = x.where(x > _LARGE, _LARGE)
    t, above, below = _shifted(near)
    below_one = (near - 1.0).function(math.Log1pOp)  # accurate near 1, where gamma is 1
    of_below = below.log().where(below.equals(near), below_one)
    small = t * t.polynomial(tables.LOG_GAMMA) + (above.log() - of_below)
    far = x.where(x < _LARGE, _LARGE)
    logarithm = far.log()
    large = (far - 0.5) * (logarithm - 1.0) + (0.5 * pymath.log(2 * pymath.pi) - 0.5 + _stirling(far))
    large = large.where(x.equals(pymath.inf), pymath.inf)
    return small.where(x > _LARGE, large)


def _reflected(x: Real) -> tuple[Real, Real]:
    """1 - x where x < 0, else x; and log gamma of the exact 1 - x minus log gamma of the rounded 1 - x."""
    rounded = 1.0 - x
    lost = (1.0 - rounded) - x
    slope = rounded.log() - 0.5 / rounded
    return x.where(x < 0.0, rounded), (lost * slope).where(x.equals(-pymath.inf), 0.0)


def lgamma_formula(x: Real) -> Real:
    y, lost = _reflected(x)
    positive = _lgamma_of_positive(y)
    sine = _sine_of_turns(x)
    reflected = (pymath.log(pymath.pi) - sine.log() - positive - lost).where(sine.equals(0.0), pymath.inf)
    reflected = reflected.where(x.equals(-pymath.inf), pymath.inf)
    tiny = (-(abs(x).log())).where(x.equals(0.0), pymath.inf)
    return positive.where(x < 0.0, reflected).where(abs(x) < 1e-15, tiny)


def _gamma_of_positive(x: Real) -> Real:
    near = x.where(x > _LARGE, _LARGE)
    t, above, below = _shifted(near)
    small = t.polynomial(tables.GAMMA) * above / below
    far = x.where(x < _LARGE, _LARGE).where(x > 180.0, 180.0)
    power = Real.of(math.PowFOp, far, far * 0.5 - 0.25)  # its square may overflow
    large = (power * ((-far).exp() * (pymath.sqrt(2 * pymath.pi) * _stirling(far).exp()))) * power
    return small.where(x > _LARGE, large.where(x > 171.7, pymath.inf))


def gamma_formula(x: Real) -> Real:
    y, lost = _reflected(x)
    positive = _gamma_of_positive(y)
    rest, near = _fraction(x)
    sine = (rest * pymath.pi).function(math.SinOp)
    half = near * 0.5
    is_odd = abs(half - half.function(math.FloorOp)) > 0.25
    sine = sine.where(is_odd, -sine)
    reflected = (pymath.pi / (sine * positive)) * (1.0 - lost)
    reflected = reflected.where(rest.equals(0.0), pymath.nan)
    reflected = reflected.where(x.equals(-pymath.inf), pymath.nan)
    return positive.where(x < 0.0, reflected).where(abs(x) < 1e-17, 1.0 / x)


def _polygamma_of_positive(x: Real, order: int) -> Real:
    """DLMF 5.15.1, summed with Euler-Maclaurin from x + 12 on."""
    factor = (-1.0) ** (order + 1) * pymath.factorial(order)
    far = x + 12.0
    inverse = 1.0 / far
    square = inverse * inverse
    if order == 0:
        terms = [b / (2 * j) for j, b in enumerate(_BERNOULLI, 1)]
        total = far.log() - inverse * 0.5 - square * square.polynomial(terms)
    else:
        terms = [
            b / pymath.factorial(2 * j) * pymath.prod(range(order + 1, order + 2 * j))
            for j, b in enumerate(_BERNOULLI, 1)
        ]
        rest = square * square.polynomial(terms) + inverse * 0.5 + 1.0 / order
        total = factor * (_power(inverse, order) * rest)
    for step in range(11, -1, -1):
        total = total + factor * _power(1.0 / (x + float(step)), order + 1)
    if order == 0:
        return total.where(x.equals(pymath.inf), pymath.inf)
    return total.where(x.equals(pymath.inf), 0.0)


def _power(x: Real, count: int) -> Real:
    found = x
    for _ in range(count - 1):
        found = found * x
    return found


def _cotangent_derivative(order: int) -> Sequence[float]:
    """The coefficients of the derivative of cot of this order, a polynomial in cot: cot' = -(1 + cot^2)."""
    coefficients = [0.0, 1.0]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [-(a + b) for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)]
    return coefficients


def polygamma_formula(x: Real, order: int) -> Real:
    """Below 0 by reflection: psi(1 - x) - psi(x) = pi cot(pi x), differentiated `order` times (DLMF 5.15.6)."""
    positive = _polygamma_of_positive(x.where(x < 0.0, 1.0 - x), order)
    rest, _ = _fraction(x)
    cotangent = 1.0 / (rest * pymath.pi).function(math.TanOp)
    polynomial = cotangent.polynomial(_cotangent_derivative(order))
    reflected = (-1.0) ** order * positive - pymath.pi ** (order + 1) * polynomial
    at_poles = pymath.nan if order == 0 else (-1.0) ** (order + 1) * pymath.inf
    reflected = reflected.where(rest.equals(0.0), at_poles).where(x.equals(-pymath.inf), at_poles)
    return positive.where(x < 0.0, reflected).where(x.equals(0.0), -1.0 / x if order == 0 else at_poles)


@op(primitives.gamma, pymath.gamma, cost=300)
class GammaOp(FormulaOp):
    """The gamma function; its derivative is gamma(x) psi(x)."""

    name = "nd.gamma"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (out * emit(PolygammaOp, x, order=0))

    def formula(self, x: Real) -> Real:
        return gamma_formula(x)


@op(primitives.lgamma, pymath.lgamma, cost=350, singular=True)
class LgammaOp(FormulaOp):
    """log |gamma(x)|; its derivative is psi(x)."""

    name = "nd.lgamma"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * emit(PolygammaOp, x, order=0)

    def formula(self, x: Real) -> Real:
        return lgamma_formula(x)


@op(cost=150, singular=True)
class PolygammaOp(FormulaOp):
    """psi or its derivative of an order; the derivative of order n is the function of order n + 1."""

    name = "nd.polygamma"
    order = prop_def(IntegerAttr)
    assembly_format = "$x attr-dict `:` type($x)"

    def reference(self, x: Any) -> Any:
        return primitives.polygamma(self.order.value.data, x)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return source.called(primitives.polygamma, self.order.value.data, *source.elements())

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * emit(PolygammaOp, x, order=self.order.value.data + 1)

    def formula(self, x: Real) -> Real:
        return polygamma_formula(x, self.order.value.data)
