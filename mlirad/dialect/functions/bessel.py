"""Bessel functions of integer order. Each derivative is a sum of the functions of the neighbouring orders (DLMF 10.6.1,
10.29.1). The approximations are our own."""

from __future__ import annotations

import math as pymath
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import prop_def

from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import Real
from mlirad.dialect.functions import bessel_tables as tables
from mlirad.dialect.functions.formulas import FormulaOp
from mlirad.library import primitives

_SWITCH = 5.0
_TWO_OVER_PI = 2.0 / pymath.pi
Pair = tuple[Real, Real]
"""The functions of the orders 0 and 1."""


# --- series -----------------------------------------------------------------------------------------------------


def _series(x: Real, order: int, end: float, sign: float) -> Real:
    """(x/2)^n sum of (sign x^2/4)^k / (k! (n+k)!) for 0 <= x <= end."""
    square = end * end / 4
    terms = [1.0 / pymath.factorial(order)]
    largest = term = terms[0]
    while abs(term) > 2.0**-58 * largest:
        k = len(terms)
        terms.append(terms[-1] * sign / (k * (order + k)))
        term *= square / (k * (order + k))
        largest = max(largest, term)
    half = x * 0.5
    total = _in_order(half * half, terms)
    for _ in range(order):
        total = total * half
    return total


def _in_order(x: Real, coefficients: Sequence[float]) -> Real:
    """A polynomial by Horner's rule, which rounds less if the even and the odd terms cancel."""
    total = Real.number(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total.times_plus(x, coefficient)
    return total


def _upwards(order: int, inverse: Real, pair: Pair, sign: float) -> Real:
    """The function of an order from those of orders 0 and 1: f_(k+1) = sign (f_(k-1) - 2k/x f_k)."""
    before, found = pair
    for k in range(1, order):
        step = inverse * (2.0 * k) * found
        before, found = found, (before - step if sign > 0 else step - before)
    return before if order == 0 else found


def _with_sign(value: Real, x: Real, order: int) -> Real:
    """A function of |x|, extended to x: an even function if the order is even."""
    return value * Real.number(1.0).with_sign_of(x) if order % 2 else value


# --- J and Y ----------------------------------------------------------------------------------------------------


def _near(x: Real) -> Pair:
    """J for x <= 5, with its zeros as factors, each in double-double precision."""
    square = x * x
    t = square * (1 / 12.5) - 1.0
    j0, j1 = _in_order(t, tables.J0), _in_order(t, tables.J1) * x
    for zero, rest in tables.ZEROS_OF_J0:
        j0 = j0 * (((x - zero) - rest) * (x + zero))
    for zero, rest in tables.ZEROS_OF_J1:
        j1 = j1 * (((x - zero) - rest) * (x + zero))
    return j0, j1


def _far(x: Real) -> tuple[Pair, Pair]:
    """J and Y for x >= 5, from the cosines and sines of x - pi/4 and x - 3 pi/4."""
    w = _SWITCH / x
    z = w * w
    sine, cosine = x.function(math.SinOp), x.function(math.CosOp)
    plus, minus = sine + cosine, sine - cosine
    scale = (1.0 / pymath.sqrt(pymath.pi)) / x.function(math.SqrtOp)
    p0, q0 = z.polynomial(tables.P0), w * z.polynomial(tables.Q0)
    p1, q1 = z.polynomial(tables.P1), w * z.polynomial(tables.Q1)
    of_j = scale * (p0 * plus - q0 * minus), scale * (p1 * minus + q1 * plus)
    return of_j, (scale * (p0 * minus + q0 * plus), scale * (q1 * minus - p1 * plus))


def _split(x: Real, at: float) -> tuple[Real, Real]:
    """x clamped to below `at`, and x clamped to above `at`."""
    return x.where(x > at, at), x.where(x < at, at)


def j_formula(x: Real, order: int) -> Real:
    a = abs(x)
    near, far = _split(a, _SWITCH)
    pair = _far(far)[0]
    if order < 2:
        return _with_sign(pair[order].where(a < _SWITCH, _near(near)[order]), x, order)
    turn = max(4.0, 0.7 * order + 1.0)  # below it the recurrence loses digits
    low = a.where(a > turn, turn)
    if turn < _SWITCH:
        small = _near(near)
        pair = pair[0].where(a < _SWITCH, small[0]), pair[1].where(a < _SWITCH, small[1])
    value = _upwards(order, 1.0 / a.where(a < turn, turn), pair, -1.0)
    return _with_sign(value.where(a < turn, _series(low, order, turn, -1.0)), x, order)


def y_formula(x: Real, order: int) -> Real:
    near, far = _split(x, _SWITCH)
    j0, j1 = _near(near)
    t = near * near * (1 / 12.5) - 1.0
    logarithm = near.log() * _TWO_OVER_PI
    y0 = logarithm * j0 + _in_order(t, tables.Y0)
    y1 = logarithm * j1 + (near * _in_order(t, tables.Y1) - _TWO_OVER_PI / near)
    large = _far(far)[1]
    pair = large[0].where(x < _SWITCH, y0), large[1].where(x < _SWITCH, y1)
    value = _upwards(order, 1.0 / x, pair, -1.0)
    tiny = value.where(x < 1e-200, -pymath.inf) if order > 1 else value
    return tiny.where(x.equals(0.0), -pymath.inf).where(x < 0.0, pymath.nan)


# --- I and K ----------------------------------------------------------------------------------------------------


def _power_of_e(x: Real) -> tuple[Real, Real]:
    """e^x for x >= 0 in two factors: the product with a small number may be finite where e^x is not."""
    low = x.where(x > 700.0, 700.0)
    return low.exp(), (x - low).exp()


def i_formula(x: Real, order: int, scaled: bool) -> Real:
    a = abs(x)
    turn = max(8.0, 0.5 * order * order)
    near, far = _split(a, turn)
    w = 8.0 / far
    root = 1.0 / far.function(math.SqrtOp)
    pair = root * _in_order(w, tables.I0), root * _in_order(w, tables.I1)
    large, small = _upwards(order, 1.0 / far, pair, 1.0), _series(near, order, turn, 1.0)
    if scaled:
        small = small * (-near).exp()
    else:
        first, second = _power_of_e(far)
        large = (large * first) * second
    return _with_sign(large.where(a < turn, small), x, order)


def k_formula(x: Real, order: int, scaled: bool) -> Real:
    near, far = _split(x, 2.0)
    square = near * near
    logarithm = (near * 0.5).log()
    k0 = square.polynomial(tables.K0) - logarithm * _series(near, 0, 2.0, 1.0)
    k1 = logarithm * _series(near, 1, 2.0, 1.0) + (near * square.polynomial(tables.K1) + 1.0 / near)
    w = 2.0 / far
    root = 1.0 / far.function(math.SqrtOp)
    power = near.exp() if scaled else (-far).exp()
    small = (k0 * power, k1 * power) if scaled else (k0, k1)
    large = [root * _in_order(w, each) * (1.0 if scaled else power) for each in (tables.K0_FAR, tables.K1_FAR)]
    pair = large[0].where(x < 2.0, small[0]), large[1].where(x < 2.0, small[1])
    before, found = pair
    for k in range(1, order):
        before, found = found, before + (2.0 * k) / x * found
    value = before if order == 0 else found
    return value.where(x.equals(0.0), pymath.inf).where(x < 0.0, pymath.nan)


# --- ops --------------------------------------------------------------------------------------------------------


class BesselOp(FormulaOp):
    """A Bessel function of the non-negative integer `order`."""

    order = prop_def(IntegerAttr)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        function = getattr(primitives, self.name.removeprefix("nd."))
        return source.called(function, self.number, *source.elements())

    assembly_format = "$x attr-dict `:` type($x)"

    @property
    def number(self) -> int:
        return self.order.value.data

    @abstractmethod
    def slope(self, before: Expr, after: Expr, out: Expr, x: Expr) -> Expr:
        """The derivative, from the functions of the orders below and above; for order 0, `before` is that of order
        -1."""

    def reflected(self, first: Expr) -> Expr:
        """The function of order -1 from that of order 1."""
        return first

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        after = emit(type(self), x, order=self.number + 1)
        before = emit(type(self), x, order=self.number - 1) if self.number else self.reflected(after)
        return g * self.slope(before, after, out, x)


@op(cost=150)
class BesselJOp(BesselOp):
    """J: J' = (J_(n-1) - J_(n+1)) / 2."""

    name = "nd.bessel_j"

    def reference(self, x: Any) -> Any:
        return primitives.bessel_j(self.number, x)

    def reflected(self, first: Expr) -> Expr:
        return -first

    def slope(self, before: Expr, after: Expr, out: Expr, x: Expr) -> Expr:
        return 0.5 * (before - after)

    def formula(self, x: Real) -> Real:
        return j_formula(x, self.number)


@op(cost=200, singular=True)
class BesselYOp(BesselOp):
    """Y: Y' = (Y_(n-1) - Y_(n+1)) / 2."""

    name = "nd.bessel_y"

    def reference(self, x: Any) -> Any:
        return primitives.bessel_y(self.number, x)

    def reflected(self, first: Expr) -> Expr:
        return -first

    def slope(self, before: Expr, after: Expr, out: Expr, x: Expr) -> Expr:
        return 0.5 * (before - after)

    def formula(self, x: Real) -> Real:
        return y_formula(x, self.number)


@op(cost=120)
class BesselIOp(BesselOp):
    """I: I' = (I_(n-1) + I_(n+1)) / 2."""

    name = "nd.bessel_i"

    def reference(self, x: Any) -> Any:
        return primitives.bessel_i(self.number, x)

    def slope(self, before: Expr, after: Expr, out: Expr, x: Expr) -> Expr:
        return 0.5 * (before + after)

    def formula(self, x: Real) -> Real:
        return i_formula(x, self.number, scaled=False)


@op(cost=120)
class BesselIeOp(BesselOp):
    """e^-|x| I(x)."""

    name = "nd.bessel_ie"

    def reference(self, x: Any) -> Any:
        return primitives.bessel_ie(self.number, x)

    def slope(self, before: Expr, after: Expr, out: Expr, x: Expr) -> Expr:
        return 0.5 * (before + after) - np.sign(x) * out

    def formula(self, x: Real) -> Real:
        return i_formula(x, self.number, scaled=True)


@op(cost=150, singular=True)
class BesselKOp(BesselOp):
    """K: K' = -(K_(n-1) + K_(n+1)) / 2."""

    name = "nd.bessel_k"

    def reference(self, x: Any) -> Any:
        return primitives.bessel_k(self.number, x)

    def slope(self, before: Expr, after: Expr, out: Expr, x: Expr) -> Expr:
        return -0.5 * (before + after)

    def formula(self, x: Real) -> Real:
        return k_formula(x, self.number, scaled=False)


@op(cost=150, singular=True)
class BesselKeOp(BesselOp):
    """e^x K(x)."""

    name = "nd.bessel_ke"

    def reference(self, x: Any) -> Any:
        return primitives.bessel_ke(self.number, x)

    def slope(self, before: Expr, after: Expr, out: Expr, x: Expr) -> Expr:
        return out - 0.5 * (before + after)

    def formula(self, x: Real) -> Real:
        return k_formula(x, self.number, scaled=True)
