"""The exponential, the logarithm, sine, cosine, hyperbolic tangent and the square root, element by element."""

from __future__ import annotations

import math as pymath
from dataclasses import replace

import numpy as np
from xdsl.dialects import math
from xdsl.ir import SSAValue

from mlirad.dialect.core import complex_formulas
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import Complex, scalar_op
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.ops.elementwise import UnaryOp


@op(np.exp, pymath.exp, cost=30)
class ExpOp(UnaryOp):
    """e**x."""

    name = "nd.exp"

    def shifted(self, x: Shift) -> Shift | None:
        return None if x.is_factor else replace(x, is_factor=True)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * out

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.ExpOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.exp(x)


@op(np.log, cost=30, singular=True)
class LogOp(UnaryOp):
    """The natural logarithm."""

    name = "nd.log"

    def shifted(self, x: Shift) -> Shift | None:
        return replace(x, is_factor=False) if x.is_factor else None

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / x

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.LogOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.log(x)


@op(np.sin, pymath.sin, cost=40)
class SinOp(UnaryOp):
    """sin x, x in radians."""

    name = "nd.sin"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * np.cos(x)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.SinOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.sin(x)


@op(np.cos, pymath.cos, cost=40)
class CosOp(UnaryOp):
    """cos x, x in radians."""

    name = "nd.cos"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return -(g * np.sin(x))

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.CosOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.cos(x)


@op(np.tanh, pymath.tanh, cost=50)
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "nd.tanh"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (1.0 - out * out)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.TanhOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.tanh(x)


@op(np.sqrt, cost=5, singular=True)
class SqrtOp(UnaryOp):
    """The square root; nan below 0."""

    name = "nd.sqrt"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / (2.0 * out)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.SqrtOp, x)

    def on_complex(self, x: Complex) -> Complex:
        return complex_formulas.sqrt(x)
