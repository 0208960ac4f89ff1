"""Floor division and its remainder, as NumPy computes them: integers never trap, floats follow fmod."""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.core.intervals import Integer, Interval, Proofs, Values
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import choose, compare, number, scalar_op
from mlirad.dialect.ops.elementwise import BinaryOp
from mlirad.xdsl_support.remf import RemfOp


@op(np.floor_divide, cost=40, partial=(0, 1))
class FloorDivOp(BinaryOp):
    """floor(x / y), as in NumPy: for integers, x // 0 is 0, and the smallest integer // -1 wraps; floats round as
    fmod."""

    name = "nd.floordiv"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.floor_quotient(*operands)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        """(2 * n + 3) // 2 is n + 1."""
        quotient = _linear_quotient(self, proofs)
        value = None if quotient is None else proofs.value_of(quotient)
        return None if value is None else [value]

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[None, None]:
        return None, None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if types.is_float(self.element):
            return _float_quotient(x, y)
        return _integer_quotient(x, y, types.is_unsigned(self.element))


@op(np.mod, cost=40)
class ModOp(BinaryOp):
    """x - floor(x / y) y, with the sign of y, as in NumPy: for integers, x % 0 is 0."""

    name = "nd.mod"

    def integer(self, *operands: Interval) -> Integer:
        return intervals.remainder(*operands)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        """(2 * n + 3) % 2 is 1."""
        if _linear_quotient(self, proofs) is None:
            return None
        return [constant(proofs.sum_of(self.x).constant % proofs.interval(self.y).low, types.I64).value]

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g, -(g * emit(FloorDivOp, x, y))

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if types.is_float(self.element):
            return _float_remainder(x, y)
        return _integer_remainder(x, y, types.is_unsigned(self.element))


@op(np.fmod, pymath.fmod, cost=30)
class FmodOp(BinaryOp):
    """x - trunc(x / y) y, with the sign of x, exactly; for integers, 0 where y is 0."""

    name = "nd.fmod"

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return g, -(g * np.rint((x - out) / y))

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if types.is_float(self.element):
            return scalar_op(RemfOp, x, y)
        zero, one = number(0, y.type), number(1, y.type)
        by_zero = compare("eq", y, zero)
        if types.is_unsigned(self.element):
            return choose(by_zero, zero, scalar_op(arith.RemUIOp, x, choose(by_zero, one, y)))
        _, divisor = _divisor(y, by_zero, one)
        return scalar_op(arith.RemSIOp, x, divisor)


def _linear_quotient(op: FloorDivOp | ModOp, proofs: Proofs) -> Values | None:
    """The quotient of two i64, rounded down, if it is a linear form of earlier values."""
    if op.result.type != types.I64:
        return None
    divisor = proofs.interval(op.y).number
    return None if divisor is None or divisor < 1 else proofs.sum_of(op.x).floor_divided(divisor)


def _integer_quotient(x: SSAValue, y: SSAValue, unsigned: bool) -> SSAValue:
    """x // y rounded down, which never traps."""
    zero, one = number(0, y.type), number(1, y.type)
    by_zero = compare("eq", y, zero)
    if unsigned:
        return choose(by_zero, zero, scalar_op(arith.DivUIOp, x, choose(by_zero, one, y)))
    by_minus_one, divisor = _divisor(y, by_zero, one)
    truncated, rest = scalar_op(arith.DivSIOp, x, divisor), scalar_op(arith.RemSIOp, x, divisor)
    quotient = choose(_has_rest(rest, divisor, zero), scalar_op(arith.SubiOp, truncated, one), truncated)
    quotient = choose(by_minus_one, scalar_op(arith.SubiOp, zero, x), quotient)
    return choose(by_zero, zero, quotient)


def _integer_remainder(x: SSAValue, y: SSAValue, unsigned: bool) -> SSAValue:
    """The remainder of floor division, which never traps."""
    zero, one = number(0, y.type), number(1, y.type)
    by_zero = compare("eq", y, zero)
    if unsigned:
        return choose(by_zero, zero, scalar_op(arith.RemUIOp, x, choose(by_zero, one, y)))
    _, divisor = _divisor(y, by_zero, one)
    rest = scalar_op(arith.RemSIOp, x, divisor)
    remainder = choose(_has_rest(rest, divisor, zero), scalar_op(arith.AddiOp, rest, divisor), rest)
    return choose(by_zero, zero, remainder)


def _divisor(y: SSAValue, by_zero: SSAValue, one: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether y is -1, and a safe divisor to use instead of y where y could trap."""
    by_minus_one = compare("eq", y, number(-1, y.type))
    return by_minus_one, choose(scalar_op(arith.OrIOp, by_zero, by_minus_one), one, y)


def _has_rest(rest: SSAValue, divisor: SSAValue, zero: SSAValue) -> SSAValue:
    """Whether the remainder is not 0 and differs in sign from the divisor: the quotient was rounded up."""
    differ = compare("slt", scalar_op(arith.XOrIOp, rest, divisor), zero)
    return scalar_op(arith.AndIOp, compare("ne", rest, zero), differ)


def _float_quotient(x: SSAValue, y: SSAValue) -> SSAValue:
    """x // y for floats, computed from fmod as in NumPy (npy_divmod)."""
    zero, one = number(0.0, y.type), number(1.0, y.type)
    rest = scalar_op(RemfOp, x, y)
    quotient = scalar_op(arith.DivfOp, scalar_op(arith.SubfOp, x, rest), y)
    quotient = choose(_has_float_rest(rest, y, zero), scalar_op(arith.SubfOp, quotient, one), quotient)
    down = scalar_op(math.FloorOp, quotient)
    too_low = compare("ogt", scalar_op(arith.SubfOp, quotient, down), number(0.5, y.type))
    rounded = choose(too_low, scalar_op(arith.AddfOp, down, one), down)
    plain = scalar_op(arith.DivfOp, x, y)
    signed_zero = scalar_op(math.CopySignOp, zero, plain)
    floored = choose(compare("une", quotient, zero), rounded, signed_zero)
    return choose(compare("oeq", y, zero), plain, floored)


def _float_remainder(x: SSAValue, y: SSAValue) -> SSAValue:
    """x % y for floats, computed from fmod as in NumPy (npy_divmod)."""
    zero = number(0.0, y.type)
    rest = scalar_op(RemfOp, x, y)
    adjusted = choose(_has_float_rest(rest, y, zero), scalar_op(arith.AddfOp, rest, y), rest)
    remainder = choose(compare("une", rest, zero), adjusted, scalar_op(math.CopySignOp, zero, y))
    return choose(compare("oeq", y, zero), rest, remainder)


def _has_float_rest(rest: SSAValue, y: SSAValue, zero: SSAValue) -> SSAValue:
    """Whether the remainder is not 0 and differs in sign from y: fmod rounded the quotient up."""
    differ = scalar_op(arith.XOrIOp, compare("olt", y, zero), compare("olt", rest, zero))
    return scalar_op(arith.AndIOp, compare("une", rest, zero), differ)
