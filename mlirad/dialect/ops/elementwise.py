"""Elementwise arithmetic, on scalars and tensors alike: every operand and the result have one type."""

from __future__ import annotations

import math as pymath
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def

from mlirad.dialect.core import complex_formulas, intervals, types
from mlirad.dialect.core.derivative import BilinearOp, OneOperandOp, TwoOperandsOp, convolution, total
from mlirad.dialect.core.expr import Expr, emit, where
from mlirad.dialect.core.intervals import Integer, Interval
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, typed
from mlirad.dialect.core.op import Generic, Given, PureOp, Series, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import Complex, choose, compare, number, scalar_op
from mlirad.dialect.ops.constant import is_finite, is_nonzero
from mlirad.errors import DTypeError, ShapeError


class ElementwiseOp(PureOp):
    """One number out of the numbers at the same place. Its Jacobian is diagonal, so that jvp follows from vjp.

    A family's `scalar` is the scalar body, in upstream ops. `self.element` has the operands' signedness, which the
    elements do not have.
    """

    @property
    def element(self) -> Attribute:
        return types.element_type(self.operands[0].type)

    def is_rounded(self) -> bool:
        return True

    def scales(self, index: int) -> bool:
        return not self.linear

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        totals: list[Expr | None] = [None] * len(outs)
        for index, count in enumerate(given):
            if count is not None:
                alone = [count if place == index else None for place in range(len(given))]
                reached = self.tangents(alone, outs, operands)
                totals = [
                    total(sum, None if each is None else count) for sum, each in zip(totals, reached, strict=True)
                ]
        return totals

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return source.applied(self.spellings[0])

    @classmethod
    def has_numpy_source(cls) -> bool:
        return bool(cls.spellings) or cls.numpy_source is not ElementwiseOp.numpy_source

    def by_element(self, scalar: Callable[..., SSAValue]) -> Generic:
        """`loops()`, of the scalar body; of complex numbers, of `on_complex`, if the op has it."""
        if types.is_complex(self.operands[0].type) and type(self).on_complex is not ElementwiseOp.on_complex:
            scalar = self._in_parts
        every = tuple(range(len(types.shape(self.results[0].type))))
        return Generic((every,) * (len(self.operands) + 1), scalar)

    def _in_parts(self, *elements: SSAValue) -> SSAValue:
        return self.on_complex(*map(Complex.of, elements)).value


_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


class UnaryOp(OneOperandOp, ElementwiseOp):
    x = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [cls.accept(operands[0])]

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        """The type, where the op is defined on it. Raises DTypeError."""
        return floats(cls.name, type)

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr | None: ...

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr | None:
        return self.vjp(dx, out, x)

    @abstractmethod
    def scalar(self, x: SSAValue) -> SSAValue: ...

    def loops(self) -> Generic:
        return self.by_element(self.scalar)


class BinaryOp(TwoOperandsOp, ElementwiseOp):
    x = operand_def(_T)
    y = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x `,` $y attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        require_same(cls.name, operands)
        return [cls.accept(operands[0])]

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        """The type, where the op is defined on it. Raises DTypeError."""
        return numbers(cls.name, type)

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr | None, Expr | None]: ...

    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr | None:
        of_x = None if dx is None else self.vjp(dx, out, x, y)[0]
        return total(of_x, None if dy is None else self.vjp(dy, out, x, y)[1])

    @abstractmethod
    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue: ...

    def loops(self) -> Generic:
        return self.by_element(self.scalar)


def floats(name: str, type: Attribute) -> Attribute:
    if not types.is_inexact(type):
        raise DTypeError(f"{name} is defined on floats, not on {types.element_type(type)}")
    return type


def numbers(name: str, type: Attribute) -> Attribute:
    if types.is_bool(type):
        raise DTypeError(f"{name} is not defined on booleans")
    return type


def booleans(name: str, type: Attribute) -> Attribute:
    if not types.is_bool(type):
        raise DTypeError(f"{name} is defined on booleans, not on {types.element_type(type)}")
    return type


def require_same(name: str, operands: Sequence[Attribute]) -> None:
    """Raises ShapeError or DTypeError unless all types are the same."""
    for other in operands[1:]:
        if types.element_type(other) != types.element_type(operands[0]):
            raise DTypeError(f"{name}: element types differ: {operands[0]} and {other}")
        if other != operands[0]:
            raise ShapeError(f"{name}: shapes differ: {operands[0]} and {other}")


def _pick(element: Attribute, floating: type[Operation], integer: type[Operation]) -> type[Operation]:
    return floating if types.is_float(element) else integer


# --- arithmetic -------------------------------------------------------------------------------------------------


@op(np.add, linear=True)
class AddOp(BinaryOp):
    """x + y. Integers wrap."""

    name = "nd.add"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.total(*operands)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g, g

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(_pick(self.element, arith.AddfOp, arith.AddiOp), x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return x + y


@op(np.subtract, linear=True)
class SubOp(BinaryOp):
    """x - y. Integers wrap."""

    name = "nd.sub"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.difference(*operands)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g, -g

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(_pick(self.element, arith.SubfOp, arith.SubiOp), x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return x - y


@op(np.multiply)
class MulOp(BilinearOp, BinaryOp):
    """x * y. Integers wrap."""

    name = "nd.mul"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.product(*operands)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g * y, g * x

    def scales(self, index: int) -> bool:
        return not is_finite(self.operands[1 - index])

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(_pick(self.element, arith.MulfOp, arith.MuliOp), x, y)

    def on_complex(self, x: Complex, y: Complex) -> Complex:
        return x * y


@op(np.divide, cost=4, singular=True)
class DivOp(BinaryOp):
    """x / y, of floats."""

    name = "nd.div"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)

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


@op(np.negative, linear=True)
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
    """x ** y, of floats.

    d/dx = y x**(y-1), and 0 where y = 0; d/dy = x**y log x, and 0 at x = 0 (where x**y is 0 or 1 on the right).
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


# --- functions --------------------------------------------------------------------------------------------------


@op(np.exp, pymath.exp, cost=30)
class ExpOp(UnaryOp):
    """e**x."""

    name = "nd.exp"

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
    """|x| with the sign of y, which 0 and nan have too. The derivative at x = 0 is 0."""

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
    """-1, 0 or 1; nan of nan. Its derivative is 0 everywhere."""

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
