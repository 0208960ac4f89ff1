"""The parts of floats: their exponents, scaling by powers of two, and adjacent numbers."""

from __future__ import annotations

import math as pymath
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called, dtype_name, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import choose, compare, number, scalar_op
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp, floats

_LAYOUTS = {
    types.F16: (IntegerType(16), 10, 15),
    types.F32: (types.I32, 23, 127),
    types.F64: (types.I64, 52, 1023),
}


def _layout(type: Attribute) -> tuple[IntegerType, int, int]:
    """The integer type of a float's bits, the width of its mantissa, and the bias of its exponent."""
    return _LAYOUTS[type]


def _smallest(type: Attribute) -> SSAValue:
    return number(float(np.finfo(types.to_dtype(type)).smallest_subnormal), type)


def _bits(x: SSAValue) -> SSAValue:
    return scalar_op(arith.BitcastOp, x, asked=_layout(x.type)[0])


def _with(op_class: Any, x: SSAValue, value: float) -> SSAValue:
    """An upstream op on x and a constant."""
    return scalar_op(op_class, x, number(value, x.type))


@op(cost=8, partial=(0,))
class ExponentOp(UnaryOp):
    """The integer e, as a float, with 2**(e-1) <= |x| < 2**e; 0 for 0, inf and nan. Its derivative is 0."""

    name = "nd.exponent"

    def reference(self, x: Any) -> Any:
        return np.asarray(np.frexp(x)[1]).astype(np.asarray(x).dtype)[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        return text(called("np.frexp", x), "[1]", f".astype({dtype_name(self.element)})")

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        _, mantissa, bias = _layout(x.type)
        lift = mantissa + 2
        size = scalar_op(math.AbsFOp, x)
        is_small = compare("olt", size, number(2.0 ** (1 - bias), x.type))
        bits = _bits(choose(is_small, _with(arith.MulfOp, size, 2.0**lift), size))
        # Put the exponent in the low bits of a float so large that its unit is 1.
        found = _with(arith.OrIOp, _with(arith.ShRUIOp, bits, mantissa), (bias + mantissa) << mantissa)
        exponent = _with(arith.SubfOp, scalar_op(arith.BitcastOp, found, asked=x.type), 2.0**mantissa + bias - 1)
        exponent = choose(is_small, _with(arith.SubfOp, exponent, lift), exponent)
        is_finite = compare("olt", size, number(pymath.inf, x.type))
        is_number = scalar_op(arith.AndIOp, is_finite, compare("ogt", size, number(0.0, x.type)))
        return choose(is_number, exponent, number(0.0, x.type))


@op(cost=30)
class ScaleOp(BinaryOp):
    """x * 2**n for an integer n, given as a float. Only the last of three multiplications rounds.

    d/dx = 2**n; n has no derivative.
    """

    name = "nd.scale"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)

    def reference(self, x: Any, n: Any) -> Any:
        return np.ldexp(x, np.clip(np.nan_to_num(n), -10000, 10000).astype(np.int32))

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x, n = source.elements()
        clipped = called("np.clip", called("np.nan_to_num", n), "-10000", "10000")
        return called("np.ldexp", x, text(clipped, ".astype(np.int32)"))

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, None]:
        return emit(ScaleOp, g, y), None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        _, mantissa, bias = _layout(x.type)
        beyond = 4.0 * (bias + mantissa)
        n = choose(compare("ogt", y, number(beyond, y.type)), number(beyond, y.type), y)
        n = choose(compare("olt", n, number(-beyond, y.type)), number(-beyond, y.type), n)
        down, up = mantissa + 1 - (bias - 1), bias  # x * 2**down is denormal only if the result is 0
        for _ in range(2):
            is_low, is_high = (compare("olt", n, number(1 - bias, n.type)), compare("ogt", n, number(bias, n.type)))
            one, zero = number(1.0, x.type), number(0.0, x.type)
            factor = choose(is_low, number(2.0**down, x.type), choose(is_high, number(2.0**up, x.type), one))
            step = choose(is_low, number(down, x.type), choose(is_high, number(up, x.type), zero))
            x, n = scalar_op(arith.MulfOp, x, factor), scalar_op(arith.SubfOp, n, step)
        n = choose(compare("olt", n, number(1 - bias, n.type)), number(1 - bias, n.type), n)
        n = choose(compare("ogt", n, number(bias, n.type)), number(bias, n.type), n)
        low_bits = _bits(_with(arith.AddfOp, n, 1.5 * 2.0**mantissa))
        power = _with(arith.AddiOp, _with(arith.ShLIOp, low_bits, mantissa), bias << mantissa)
        return scalar_op(arith.MulfOp, x, scalar_op(arith.BitcastOp, power, asked=x.type))


@op(np.nextafter, pymath.nextafter, cost=8, linear=True)
class NextAfterOp(BinaryOp):
    """The next number after x towards y. d/dx = 1, because the step is constant between powers of two; d/dy = 0."""

    name = "nd.nextafter"

    def is_rounded(self) -> bool:
        return False  # the next number depends on the type

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return floats(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, None]:
        return g, None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        bits, zero = _bits(x), number(0.0, x.type)
        is_up = compare("olt", x, y)
        grows = compare("eq", is_up, compare("ogt", x, zero))  # away from 0
        moved = scalar_op(arith.AddiOp, bits, choose(grows, number(1, bits.type), number(-1, bits.type)))
        smallest = scalar_op(math.CopySignOp, _smallest(x.type), y)
        found = choose(compare("oeq", x, zero), smallest, scalar_op(arith.BitcastOp, moved, asked=x.type))
        found = choose(compare("oeq", x, y), y, found)
        return choose(compare("uno", x, y), scalar_op(arith.AddfOp, x, y), found)


@op(np.spacing, cost=10, partial=(0,))
class SpacingOp(UnaryOp):
    """The distance to the next number away from 0, with the sign of x; nan for inf and nan. Its derivative is 0.

    For f16 it is the distance to the next greater number, as in NumPy."""

    name = "nd.spacing"

    def is_rounded(self) -> bool:
        return False  # the next number depends on the type

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        bits = _bits(x)
        step = number(1, bits.type)
        if x.type == types.F16:
            is_finite_negative = scalar_op(
                arith.AndIOp,
                compare("olt", x, number(0.0, x.type)),
                compare("ogt", x, number(-np.inf, x.type)),
            )
            step = choose(is_finite_negative, number(-1, bits.type), step)
        following = scalar_op(arith.BitcastOp, scalar_op(arith.AddiOp, bits, step), asked=x.type)
        distance = scalar_op(arith.SubfOp, following, x)
        smallest = _smallest(x.type)
        return choose(compare("oeq", x, number(0.0, x.type)), smallest, distance)
