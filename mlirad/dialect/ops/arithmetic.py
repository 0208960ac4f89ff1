"""Arithmetic on numbers, element by element."""

from __future__ import annotations

import math as pymath
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import prop_def

from mlirad.dialect.core import complex_formulas, intervals, shift, types
from mlirad.dialect.core.answers import Given, Series
from mlirad.dialect.core.derivative import BilinearOp, convolution, total
from mlirad.dialect.core.expr import Expr, emit, where
from mlirad.dialect.core.intervals import Integer, Interval
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, infix, literal, typed
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import Complex, Real, choose, compare, number, scalar_op
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.ops.constant import is_finite, is_nonzero
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp, floats, numbers


def _pick(element: Attribute, floating: type[Operation], integer: type[Operation]) -> type[Operation]:
    return floating if types.is_float(element) else integer


@op(np.add, linear=True, arithmetic=True)
class AddOp(BinaryOp):
    """x + y. Integers wrap."""

    name = "nd.add"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.total(*operands)

    def addend(self, index: int, operands: Sequence[Expr]) -> Expr:
        return operands[1 - index]

    def shifted(self, x: Shift, y: Shift) -> Shift | None:
        return shift.total(x, y, 1)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g, g

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(_pick(self.element, arith.AddfOp, arith.AddiOp), x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return x + y


@op(np.subtract, linear=True, arithmetic=True)
class SubOp(BinaryOp):
    """x - y. Integers wrap."""

    name = "nd.sub"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.difference(*operands)

    def addend(self, index: int, operands: Sequence[Expr]) -> Expr | None:
        return -operands[1] if index == 0 else None

    def shifted(self, x: Shift, y: Shift) -> Shift | None:
        return shift.total(x, y, -1)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g, -g

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(_pick(self.element, arith.SubfOp, arith.SubiOp), x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return x - y


@op(np.multiply, arithmetic=True)
class MulOp(BilinearOp, BinaryOp):
    """x * y. Integers wrap."""

    name = "nd.mul"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.product(*operands)

    def shifted(self, x: Shift, y: Shift) -> Shift | None:
        return shift.product(x, y, 1)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g * y, g * x

    def scales(self, index: int) -> bool:
        return not is_finite(self.operands[1 - index])

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(_pick(self.element, arith.MulfOp, arith.MuliOp), x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return x * y


@op(np.divide, cost=4, singular=True, arithmetic=True)
class DivOp(BinaryOp):
    """x / y, for floats."""

    name = "nd.div"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)

    def shifted(self, x: Shift, y: Shift) -> Shift | None:
        return shift.product(x, y, -1)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        quotient = g / y
        return quotient, -(quotient * out)

    def coefficient(self, order: int, outs: Sequence[Series], operands: Sequence[Series]) -> Given:
        """The coefficients of out * y are those of x."""
        (out,), (x, y) = outs, operands
        known = convolution(lambda one, other: -(one * other), order, y, out, first=1)
        left, divisor = total(x[order], known), y[0]
        assert divisor is not None, "a value"
        return (None if left is None else left / divisor,)

    def scales(self, index: int) -> bool:
        return index == 1 or not is_nonzero(self.y)

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(arith.DivfOp, x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return complex_formulas.divide(x, y)


@op(np.negative, linear=True, arithmetic=True)
class NegOp(UnaryOp):
    """-x. Integers wrap."""

    name = "nd.neg"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        wraps = self.result.type == types.I64 and source.may_overflow(self.result)
        return (typed(x, self.result.type) if wraps else x).negative()

    def integer(self, *operands: Interval) -> Integer:
        return intervals.negated(*operands)

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return numbers(cls.name, type)

    def shifted(self, x: Shift) -> Shift | None:
        return x if x.is_factor else replace(x, by=-x.by)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return -g

    def scalar(self, x: SSAValue) -> SSAValue:
        if types.is_float(self.element):
            return scalar_op(arith.NegfOp, x)
        return scalar_op(arith.SubiOp, number(0, x.type), x)

    def on_complex(self, x: Complex) -> Complex:
        return -x


@op(np.power, cost=60, singular=True)
class PowOp(BinaryOp):
    """x ** y, for floats.

    d/dx = y x**(y-1), and 0 where y = 0; d/dy = x**y log x, and 0 at x = 0 (where x**y is 0 or 1 to the right).
    """

    name = "nd.pow"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        base = where(y == 0, 0.0, y * x ** (y - 1.0))
        return g * base, g * (out * np.log(where(x == 0, 1.0, x)))

    def is_simpler_if_known(self, index: int) -> bool:
        return index == 1  # a product of x, or a root

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(math.PowFOp, x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return complex_formulas.power(x, y)


@op(cost=6, singular=True, arithmetic=True)
class InversePowerOp(UnaryOp):
    """1 / (x * ... * x), with x `count` times: a small negative power.

    As operations of their own, the product and the quotient would have derivatives that overflow, or are nan, where
    d/dx = -count out / x is an ordinary number.
    """

    name = "nd.inverse_power"
    count = prop_def(IntegerAttr)
    assembly_format = "$x attr-dict `:` type($x)"

    @property
    def number(self) -> int:
        return self.count.value.data

    def reference(self, x: Any) -> Any:
        return np.divide(np.ones_like(x), by_squaring(x, self.number))

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        return infix(x, "**", literal(-self.number), Rank.POWER)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * -self.number * (out / x)

    def scalar(self, x: SSAValue) -> SSAValue:
        return (1.0 / by_squaring(Real(x), self.number)).value

    def on_complex(self, x: Complex) -> Complex:
        one = Complex(x.re.like(1.0), x.im.like(0.0))
        return complex_formulas.divide(one, by_squaring(x, self.number))


FactorT = TypeVar("FactorT")


def by_squaring(x: FactorT, count: int, product: Callable[[Any, Any], Any] = operator.mul) -> FactorT:
    """x * ... * x, with x `count` times, at least once, by repeated squaring."""
    if count == 1:
        return x
    half = by_squaring(x, count // 2, product)
    squared = product(half, half)
    return product(squared, x) if count % 2 else squared


@op(np.absolute, np.fabs, abs)
class AbsOp(UnaryOp):
    """|x|; the derivative at 0 is 0. The smallest integer wraps."""

    name = "nd.abs"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return numbers(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g * emit(SignOp, x)

    def scalar(self, x: SSAValue) -> SSAValue:
        if types.is_float(self.element):
            return scalar_op(math.AbsFOp, x)
        if types.is_unsigned(self.element):
            return x
        zero = number(0, x.type)
        return choose(compare("slt", x, zero), scalar_op(arith.SubiOp, zero, x), x)


@op(np.copysign, pymath.copysign)
class CopysignOp(BinaryOp):
    """|x| with the sign of y; 0 and nan also have signs. The derivative at x = 0 is 0."""

    name = "nd.copysign"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, None]:
        return g * emit(CopysignOp, emit(SignOp, x), y) * emit(SignOp, x), None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(math.CopySignOp, x, y)


@op(np.sign, cost=4, partial=(0,))
class SignOp(UnaryOp):
    """-1, 0 or 1; nan for nan. Its derivative is 0 everywhere."""

    name = "nd.sign"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return numbers(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        zero, one, minus_one = (number(value, x.type) for value in (0, 1, -1))
        if types.is_float(self.element):
            ordered = choose(compare("oeq", x, zero), zero, x)
            negative = choose(compare("olt", x, zero), minus_one, ordered)
            return choose(compare("ogt", x, zero), one, negative)
        if types.is_unsigned(self.element):
            return choose(compare("ne", x, zero), one, zero)
        return choose(compare("sgt", x, zero), one, choose(compare("slt", x, zero), minus_one, zero))
