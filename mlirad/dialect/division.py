"""Division rounded down, and its remainder, as NumPy computes them: integers never trap, floats follow fmod."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from mlirad.dialect import types
from mlirad.dialect.elementwise import BinaryOp, choose, compare, number, scalar_op
from mlirad.dialect.expr import Expr, emit
from mlirad.dialect.op import op
from mlirad.dialect.remf import RemfOp


@op(np.floor_divide, cost=8)
class FloorDivOp(BinaryOp):
    """floor(x / y), as NumPy: of integers x // 0 is 0 and the smallest by -1 wraps; of floats fmod's rounding."""

    name = "nd.floordiv"

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        return None, None

    def scalar(self, *elements: SSAValue) -> SSAValue:
        x, y = elements
        if types.is_float(self.element):
            return _float_divmod(x, y)[0]
        return _integer_divmod(x, y, types.is_unsigned(self.element))[0]


@op(np.mod, cost=8)
class ModOp(BinaryOp):
    """x - floor(x / y) y, with the sign of y, as NumPy: of integers x % 0 is 0."""

    name = "nd.mod"

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        x, y = operands
        return g, -(g * emit(FloorDivOp, x, y))

    def scalar(self, *elements: SSAValue) -> SSAValue:
        x, y = elements
        if types.is_float(self.element):
            return _float_divmod(x, y)[1]
        return _integer_divmod(x, y, types.is_unsigned(self.element))[1]


def _integer_divmod(x: SSAValue, y: SSAValue, unsigned: bool) -> tuple[SSAValue, SSAValue]:
    """(x // y, x % y) rounded down, that never trap."""
    zero, one = number(0, y.type), number(1, y.type)
    by_zero = compare("eq", y, zero)
    if unsigned:
        divisor = choose(by_zero, one, y)
        quotient, remainder = scalar_op(arith.DivUIOp, x, divisor), scalar_op(arith.RemUIOp, x, divisor)
    else:
        by_minus_one = compare("eq", y, number(-1, y.type))
        divisor = choose(scalar_op(arith.OrIOp, by_zero, by_minus_one), one, y)
        truncated, rest = scalar_op(arith.DivSIOp, x, divisor), scalar_op(arith.RemSIOp, x, divisor)
        signs_differ = compare("slt", scalar_op(arith.XOrIOp, rest, divisor), zero)
        adjust = scalar_op(arith.AndIOp, compare("ne", rest, zero), signs_differ)
        quotient = choose(adjust, scalar_op(arith.SubiOp, truncated, one), truncated)
        quotient = choose(by_minus_one, scalar_op(arith.SubiOp, zero, x), quotient)
        remainder = choose(adjust, scalar_op(arith.AddiOp, rest, divisor), rest)
    return choose(by_zero, zero, quotient), choose(by_zero, zero, remainder)


def _float_divmod(x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """(x // y, x % y) of floats, as NumPy computes them from fmod (npy_divmod)."""
    zero, one = number(0.0, y.type), number(1.0, y.type)
    rest = scalar_op(RemfOp, x, y)
    quotient = scalar_op(arith.DivfOp, scalar_op(arith.SubfOp, x, rest), y)
    nonzero = compare("une", rest, zero)
    signs_differ = scalar_op(arith.XOrIOp, compare("olt", y, zero), compare("olt", rest, zero))
    adjust = scalar_op(arith.AndIOp, nonzero, signs_differ)
    rest_adjusted = choose(adjust, scalar_op(arith.AddfOp, rest, y), rest)
    quotient = choose(adjust, scalar_op(arith.SubfOp, quotient, one), quotient)
    remainder = choose(nonzero, rest_adjusted, scalar_op(math.CopySignOp, zero, y))
    down = scalar_op(math.FloorOp, quotient)
    too_low = compare("ogt", scalar_op(arith.SubfOp, quotient, down), number(0.5, y.type))
    rounded = choose(too_low, scalar_op(arith.AddfOp, down, one), down)
    plain = scalar_op(arith.DivfOp, x, y)
    signed_zero = scalar_op(math.CopySignOp, zero, plain)
    floored = choose(compare("une", quotient, zero), rounded, signed_zero)
    by_zero = compare("oeq", y, zero)
    return choose(by_zero, plain, floored), choose(by_zero, rest, remainder)
