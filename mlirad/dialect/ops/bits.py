"""Bits of integers, as NumPy computes them: a shift by a negative count, or by all bits or more, leaves none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, infix, literal, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import choose, compare, number, scalar_op
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp
from mlirad.errors import DTypeError


def integers(name: str, type: Attribute) -> Attribute:
    if types.is_float(type) or types.is_bool(type):
        raise DTypeError(f"{name} is defined on integers, not on {types.element_type(type)}")
    return type


class BitsOp(BinaryOp):
    """Two integers of one type. It has no derivative."""

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return integers(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[None, None]:
        return None, None


class ConnectiveOp(BitsOp):
    """Bit by bit."""

    UPSTREAM: ClassVar[type[Operation]]

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(self.UPSTREAM, x, y)


@op(np.bitwise_and)
class BitAndOp(ConnectiveOp):
    """x & y."""

    name = "nd.bit_and"
    UPSTREAM: ClassVar = arith.AndIOp


@op(np.bitwise_or)
class BitOrOp(ConnectiveOp):
    """x | y."""

    name = "nd.bit_or"
    UPSTREAM: ClassVar = arith.OrIOp


@op(np.bitwise_xor)
class BitXorOp(ConnectiveOp):
    """x ^ y."""

    name = "nd.bit_xor"
    UPSTREAM: ClassVar = arith.XOrIOp


@op(np.invert)
class BitNotOp(UnaryOp):
    """~x."""

    name = "nd.bit_not"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        return text("~", x.within(Rank.SIGN), rank=Rank.SIGN, is_numpy=x.is_numpy)

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return integers(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(arith.XOrIOp, x, number(-1, x.type))


@op(np.left_shift, cost=4)
class ShiftLeftOp(BitsOp):
    """x << y; 0 unless 0 <= y < the number of bits."""

    name = "nd.shift_left"

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        inside, count = _count(y)
        return choose(inside, scalar_op(arith.ShLIOp, x, count), number(0, x.type))


@op(np.right_shift, cost=4)
class ShiftRightOp(BitsOp):
    """x >> y, filled with copies of the sign bit; only copies of the sign unless 0 <= y < the number of bits."""

    name = "nd.shift_right"

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        inside, count = _count(y)
        if types.is_unsigned(self.element):
            return choose(inside, scalar_op(arith.ShRUIOp, x, count), number(0, x.type))
        sign = scalar_op(arith.ShRSIOp, x, number(_bits(x) - 1, x.type))
        return choose(inside, scalar_op(arith.ShRSIOp, x, count), sign)


def _bits(x: SSAValue) -> int:
    assert isinstance(x.type, IntegerType)
    return x.type.width.data


def _count(y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether a shift by y leaves any bits, and a shift count that is defined upstream for every y."""
    last = number(_bits(y) - 1, y.type)
    return compare("ule", y, last), scalar_op(arith.AndIOp, y, last)


@op(cost=30)
class IntegerPowerOp(BitsOp):
    """x ** y for y >= 0, by squaring. Integers wrap."""

    name = "nd.integer_power"

    def reference(self, x: Any, y: Any) -> Any:
        return np.power(x, np.where(y < 0, 0, y).astype(np.asarray(y).dtype))

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x = source.typed(0) if not types.is_tensor(self.x.type) else source.operand(0)
        return infix(x, "**", called("np.maximum", source.operand(1), literal(0)), Rank.POWER)

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        widen = arith.ExtUIOp if types.is_unsigned(self.element) else arith.ExtSIOp
        if (narrow := _bits(x)) < 64:
            x, y = (scalar_op(widen, each, asked=types.I64) for each in (x, y))
            return scalar_op(arith.TruncIOp, scalar_op(math.IPowIOp, x, y), asked=IntegerType(narrow))
        one = number(1, y.type)  # half of the exponent is positive, also for an unsigned exponent
        root = scalar_op(math.IPowIOp, x, scalar_op(arith.ShRUIOp, y, one))
        is_odd = compare("ne", scalar_op(arith.AndIOp, y, one), number(0, y.type))
        square = scalar_op(arith.MuliOp, root, root)
        return choose(is_odd, scalar_op(arith.MuliOp, square, x), square)


@op(np.bitwise_count, cost=4)
class BitCountOp(UnaryOp):
    """The number of 1 bits in |x|, a uint8. It has no derivative."""

    name = "nd.bit_count"
    x = operand_def()
    result = result_def()
    assembly_format = "$x attr-dict `:` functional-type(operands, results)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [types.with_element(integers(cls.name, operands[0]), types.from_dtype(np.dtype(np.uint8)))]

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        zero = number(0, x.type)
        if not types.is_unsigned(self.element):
            x = choose(compare("slt", x, zero), scalar_op(arith.SubiOp, zero, x), x)
        count = scalar_op(math.CtPopOp, x)
        return count if _bits(x) == 8 else scalar_op(arith.TruncIOp, count, asked=IntegerType(8))


@op()
class FloatBitsOp(UnaryOp):
    """The bits of a float64, as an i64, for floats in the message of an exception. It has no derivative."""

    name = "nd.float_bits"
    x = operand_def(types.F64)
    result = result_def(types.I64)
    assembly_format = "$x attr-dict"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if operands[0] != types.F64:
            raise DTypeError(f"{cls.name} is defined on {types.F64} scalars only")
        return [types.I64]

    def reference(self, x: Any) -> Any:
        return np.float64(x).view(np.int64)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return text(source.typed(0).within(Rank.ATOM), ".view(np.int64)")

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(arith.BitcastOp, x, asked=types.I64)


def float_bits(x: Expr) -> Expr:
    """The bits of an f64 scalar."""
    return emit(FloatBitsOp, x)
