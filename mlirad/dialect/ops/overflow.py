"""Whether the result of Python int arithmetic fits in 64 bits: predicates for checks that raise OverflowError.

Each is a few instructions; with a constant operand, one comparison. `mlirad-eliminate-checks` removes those that it
proves; the others become well-predicted branches.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.expr import Expr, constant, insert
from mlirad.dialect.core.intervals import HIGHEST, LOWEST, Integer, Interval, Proofs, Values
from mlirad.dialect.core.numpy_source import OPERATORS, NumpySource, NumpyText, Rank, called, infix, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import compare, number, scalar_op
from mlirad.dialect.ops.arithmetic import AddOp, MulOp, SubOp
from mlirad.dialect.ops.division import FloorDivOp
from mlirad.dialect.ops.elementwise import BinaryOp
from mlirad.errors import DTypeError


class FitsOp(BinaryOp):
    """Whether the exact result of an operation on two i64 scalars is an i64. It has no derivative."""

    EXACT: ClassVar[Callable[[int, int], int]]
    # the op whose result has to fit, and what is known of it if the operands lie in intervals
    OF: ClassVar[type[BinaryOp]]
    INTEGER: ClassVar[Callable[[Interval, Interval], Integer]]

    x = operand_def(types.I64)
    y = operand_def(types.I64)
    result = result_def(types.I1)
    assembly_format = "$x `,` $y attr-dict"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if any(operand != types.I64 for operand in operands):
            raise DTypeError(f"{cls.name} is defined on i64 scalars only")
        return [types.I1]

    def reference(self, x: Any, y: Any) -> Any:
        return np.bool_(LOWEST <= type(self).EXACT(int(x), int(y)) <= HIGHEST)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        """Python's own integers do not overflow."""
        operator = OPERATORS[self.OF.spellings[0]]
        x, y = (called("int", each) if each.is_numpy else each for each in source.operands())
        result = infix(x, operator.symbol, y, operator.rank)
        return text("-(2**63) <= ", result.within(Rank.BIT_OR), " < 2**63", rank=Rank.COMPARISON)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[None, None]:
        return None, None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        first, second = _known(x), _known(y)
        if second is not None:
            return self.with_right(x, second)
        return self.of_two(x, y) if first is None else self.with_left(first, y)

    def exact(self, proofs: Proofs) -> Values | None:
        """The exact result as a form, if it has one."""
        sum_ = type(self).INTEGER(proofs.interval(self.x), proofs.interval(self.y)).sum
        return None if sum_ is None else sum_.put(lambda place: proofs.sum_of(self.operands[place]))

    def is_proved(self, proofs: Proofs) -> bool:
        exact = self.exact(proofs)
        if exact is not None:
            return proofs.fits(exact)
        return type(self).INTEGER(proofs.interval(self.x), proofs.interval(self.y)).interval.fits

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        return [constant(True, types.I1).value] if self.is_proved(proofs) else None

    @abstractmethod
    def with_right(self, x: SSAValue, y: int) -> SSAValue:
        """The test for a constant right operand."""

    @abstractmethod
    def with_left(self, x: int, y: SSAValue) -> SSAValue:
        """The test for a constant left operand."""

    @abstractmethod
    def of_two(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The test if neither operand is constant."""


@op(cost=4)
class AddFitsOp(FitsOp):
    """x + y fits: it has the sign of x or of y."""

    name = "nd.add_fits"
    EXACT: ClassVar = operator.add
    OF: ClassVar = AddOp
    INTEGER: ClassVar = intervals.total

    def with_right(self, x: SSAValue, y: int) -> SSAValue:
        return _within(x, LOWEST - y, HIGHEST - y)

    def with_left(self, x: int, y: SSAValue) -> SSAValue:
        return self.with_right(y, x)

    def of_two(self, x: SSAValue, y: SSAValue) -> SSAValue:
        total = scalar_op(arith.AddiOp, x, y)
        return _not_both_negative(scalar_op(arith.XOrIOp, x, total), scalar_op(arith.XOrIOp, y, total))


@op(cost=4)
class SubFitsOp(FitsOp):
    """x - y fits: x and y have the same sign, or the difference has the sign of x."""

    name = "nd.sub_fits"
    EXACT: ClassVar = operator.sub
    OF: ClassVar = SubOp
    INTEGER: ClassVar = intervals.difference

    def with_right(self, x: SSAValue, y: int) -> SSAValue:
        return _within(x, LOWEST + y, HIGHEST + y)

    def with_left(self, x: int, y: SSAValue) -> SSAValue:
        return _within(y, x - HIGHEST, x - LOWEST)

    def of_two(self, x: SSAValue, y: SSAValue) -> SSAValue:
        difference = scalar_op(arith.SubiOp, x, y)
        return _not_both_negative(scalar_op(arith.XOrIOp, x, y), scalar_op(arith.XOrIOp, x, difference))


@op(cost=4)
class MulFitsOp(FitsOp):
    """x * y fits: the upper half of the product only repeats the sign bit of the lower half."""

    name = "nd.mul_fits"
    EXACT: ClassVar = operator.mul
    OF: ClassVar = MulOp
    INTEGER: ClassVar = intervals.product

    def with_right(self, x: SSAValue, y: int) -> SSAValue:
        if y == 0:
            return number(1, types.I1)
        ends = (LOWEST, HIGHEST) if y > 0 else (HIGHEST, LOWEST)
        return _within(x, -(-ends[0] // y), ends[1] // y)

    def with_left(self, x: int, y: SSAValue) -> SSAValue:
        return self.with_right(y, x)

    def of_two(self, x: SSAValue, y: SSAValue) -> SSAValue:
        product = insert(arith.MulSIExtendedOp(x, y))
        return compare("eq", product.high, scalar_op(arith.ShRSIOp, product.low, number(63, i64)))


@op(cost=4)
class FloorDivFitsOp(FitsOp):
    """x // y fits: always, except for the smallest integer by -1. (Another check ensures that y is not 0.)"""

    name = "nd.floordiv_fits"

    @staticmethod
    def EXACT(x: int, y: int) -> int:
        return x // y if y else 0

    OF: ClassVar = FloorDivOp
    INTEGER: ClassVar = intervals.floor_quotient

    def is_proved(self, proofs: Proofs) -> bool:
        divisor, dividend = proofs.interval(self.y), proofs.interval(self.x)
        return dividend.low > LOWEST or divisor.low > -1 or divisor.high < -1

    def with_right(self, x: SSAValue, y: int) -> SSAValue:
        return _within(x, LOWEST + 1 if y == -1 else LOWEST, HIGHEST)

    def with_left(self, x: int, y: SSAValue) -> SSAValue:
        return compare("ne", y, number(-1, i64)) if x == LOWEST else number(1, types.I1)

    def of_two(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(arith.OrIOp, compare("ne", x, number(LOWEST, i64)), compare("ne", y, number(-1, i64)))


def _known(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _within(x: SSAValue, low: int, high: int) -> SSAValue:
    """low <= x <= high, where an i64 can reach at least one of the bounds."""
    if low <= LOWEST:
        return number(1, types.I1) if high >= HIGHEST else compare("sle", x, number(high, i64))
    if high >= HIGHEST:
        return compare("sge", x, number(low, i64))
    distance = scalar_op(arith.SubiOp, x, number(low, i64))
    return compare("ule", distance, number(high - low, i64))


def _not_both_negative(x: SSAValue, y: SSAValue) -> SSAValue:
    return compare("sge", scalar_op(arith.AndIOp, x, y), number(0, i64))
