"""Trigonometric and hyperbolic functions, their inverses, and polar coordinates."""

from __future__ import annotations

import math as pymath

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core import complex_formulas
from mlirad.dialect.core.expr import Expr, apply, where
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import Complex, Real, scalar_op
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp, floats


@op(np.tan, pymath.tan, cost=50)
class TanOp(UnaryOp):
    """tan x, x in radians."""

    name = "nd.tan"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (1.0 + out * out)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.TanOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.tan(x)


@op(np.arcsin, pymath.asin, cost=40, singular=True, harmless=0)
class ArcsinOp(UnaryOp):
    """The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1]."""

    name = "nd.arcsin"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / np.sqrt((1.0 - x) * (1.0 + x))

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.AsinOp, x)


@op(np.arccos, pymath.acos, cost=40, singular=True, harmless=0)
class ArccosOp(UnaryOp):
    """The inverse cosine, in [0, pi]; nan outside [-1, 1]."""

    name = "nd.arccos"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return -(g / np.sqrt((1.0 - x) * (1.0 + x)))

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.AcosOp, x)


@op(np.arctan, pymath.atan, cost=40)
class ArctanOp(UnaryOp):
    """The inverse tangent, in (-pi/2, pi/2)."""

    name = "nd.arctan"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / (1.0 + x * x)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.AtanOp, x)


@op(np.sinh, pymath.sinh, cost=50)
class SinhOp(UnaryOp):
    """The hyperbolic sine."""

    name = "nd.sinh"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * np.cosh(x)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.SinhOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.sinh(x)


@op(np.cosh, pymath.cosh, cost=50)
class CoshOp(UnaryOp):
    """The hyperbolic cosine."""

    name = "nd.cosh"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * np.sinh(x)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.CoshOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.cosh(x)


@op(np.arcsinh, pymath.asinh, cost=60)
class ArcsinhOp(UnaryOp):
    """The inverse hyperbolic sine."""

    name = "nd.arcsinh"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / apply(np.hypot, x, 1.0)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.AsinhOp, x)


@op(np.arccosh, pymath.acosh, cost=60, singular=True, harmless=2)
class ArccoshOp(UnaryOp):
    """The inverse hyperbolic cosine, >= 0; nan below 1."""

    name = "nd.arccosh"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.AcoshOp, x)


@op(np.arctanh, pymath.atanh, cost=60, singular=True, harmless=0)
class ArctanhOp(UnaryOp):
    """The inverse hyperbolic tangent; nan outside [-1, 1]."""

    name = "nd.arctanh"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / ((1.0 - x) * (1.0 + x))

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.AtanhOp, x)


class PolarOp(BinaryOp):
    """A polar coordinate of the point with the Cartesian coordinates x and y, in either order."""

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)


@op(np.arctan2, pymath.atan2, cost=60, singular=True)
class Arctan2Op(PolarOp):
    """The angle of the point (y, x), in [-pi, pi]. It has no derivative at (0, 0)."""

    name = "nd.arctan2"

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        radius = apply(np.hypot, x, y)
        return g * (y / radius / radius), -(g * (x / radius / radius))

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(math.Atan2Op, x, y)


@op(np.hypot, cost=15)
class HypotOp(PolarOp):
    """sqrt(x**2 + y**2), without overflow; inf if either is infinite, even if the other is nan. Its derivative at (0,
    0) is 0."""

    name = "nd.hypot"

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        is_zero = out == 0
        radius = where(is_zero, 1.0, out)
        return g * where(is_zero, 0.0, x / radius), g * where(is_zero, 0.0, y / radius)

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return complex_formulas.hypot(Real(x), Real(y)).value
