"""Powers and logarithms to bases other than e, or accurate near 0; cube roots; log-sum-exp."""

from __future__ import annotations

import math as pymath
from abc import abstractmethod

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core.expr import Expr, where, zeros_like
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import choose, compare, number, scalar_op
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp, floats

_LN2, _LN10 = pymath.log(2.0), pymath.log(10.0)


@op(np.exp2, pymath.exp2, cost=30)
class Exp2Op(UnaryOp):
    """2**x."""

    name = "nd.exp2"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * (out * _LN2)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.Exp2Op, x)


@op(np.expm1, pymath.expm1, cost=40)
class Expm1Op(UnaryOp):
    """e**x - 1, accurate near 0."""

    name = "nd.expm1"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * np.exp(x)  # where x is very negative, out + 1 has lost all digits

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.ExpM1Op, x)


@op(np.log2, pymath.log2, cost=30, singular=True)
class Log2Op(UnaryOp):
    """The logarithm to base 2."""

    name = "nd.log2"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / x * (1.0 / _LN2)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.Log2Op, x)


@op(np.log10, pymath.log10, cost=30, singular=True)
class Log10Op(UnaryOp):
    """The logarithm to base 10."""

    name = "nd.log10"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / x * (1.0 / _LN10)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.Log10Op, x)


@op(np.log1p, pymath.log1p, cost=35, singular=True)
class Log1pOp(UnaryOp):
    """log(1 + x), accurate near 0."""

    name = "nd.log1p"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / (1.0 + x)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.Log1pOp, x)


@op(np.cbrt, pymath.cbrt, cost=40, singular=True)
class CbrtOp(UnaryOp):
    """The cube root, with the sign of x."""

    name = "nd.cbrt"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g / (3.0 * out * out)

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.CbrtOp, x)


class LogSumOp(BinaryOp):
    """log(b**x + b**y), without overflow: m + log(1 + b**-|x - y|) with m the larger of the two.

    The weight of x in the derivative is b**x / (b**x + b**y) = b**-log(b**0 + b**(y - x)). Thus no derivative
    overflows, whatever x and y are. Equal operands, even infinite ones, weigh one half each.
    """

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)

    @abstractmethod
    def power(self, x: Expr) -> Expr:
        """b**x."""

    def weight(self, x: Expr, y: Expr) -> Expr:
        rise = y - x
        rise = where((rise != rise) & (x == y), 0.0, rise)
        return self.power(-self.result_on(zeros_like(rise), rise))

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g * self.weight(x, y), g * self.weight(y, x)

    def log_sum(self, x: SSAValue, y: SSAValue, log_of_two: float, log1p_of_power: SSAValue) -> SSAValue:
        larger = scalar_op(arith.MaximumfOp, x, y)
        same = scalar_op(arith.AddfOp, x, number(log_of_two, x.type))
        return choose(compare("oeq", x, y), same, scalar_op(arith.AddfOp, larger, log1p_of_power))


def _minus_distance(x: SSAValue, y: SSAValue) -> SSAValue:
    return scalar_op(arith.NegfOp, scalar_op(math.AbsFOp, scalar_op(arith.SubfOp, x, y)))


@op(np.logaddexp, cost=75)
class LogAddExpOp(LogSumOp):
    """log(e**x + e**y)."""

    name = "nd.logaddexp"

    def power(self, x: Expr) -> Expr:
        return np.exp(x)

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        power = scalar_op(math.ExpOp, _minus_distance(x, y))
        return self.log_sum(x, y, _LN2, scalar_op(math.Log1pOp, power))


@op(np.logaddexp2, cost=75)
class LogAddExp2Op(LogSumOp):
    """log2(2**x + 2**y)."""

    name = "nd.logaddexp2"

    def power(self, x: Expr) -> Expr:
        return np.exp2(x)

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        rest = scalar_op(math.Log1pOp, scalar_op(math.Exp2Op, _minus_distance(x, y)))
        return self.log_sum(x, y, 1.0, scalar_op(arith.MulfOp, rest, number(1.0 / _LN2, x.type)))
