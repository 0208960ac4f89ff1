"""Formulas of one number in upstream ops: Python's operators append arith and math ops, in 64 bits whatever the type.

Reads: scalars. Writes: arith and math ops. Leaves: nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.ops.elementwise import UnaryOp, choose, compare, number, scalar_op


@dataclass(frozen=True, eq=False)
class Real:
    """A number of 64 bits."""

    value: SSAValue

    @classmethod
    def number(cls, value: float) -> Real:
        return cls(number(value, types.F64))

    @classmethod
    def of(cls, op_class: type[Operation], *operands: Real) -> Real:
        """An upstream function of several."""
        return cls(scalar_op(op_class, *(operand.value for operand in operands)))

    def _op(self, op_class: type[Operation], *others: Real | float) -> Real:
        return Real(scalar_op(op_class, self.value, *(_real(other).value for other in others)))

    def __add__(self, other: Real | float) -> Real:
        return self._op(arith.AddfOp, other)

    __radd__ = __add__

    def __sub__(self, other: Real | float) -> Real:
        return self._op(arith.SubfOp, other)

    def __rsub__(self, other: float) -> Real:
        return _real(other) - self

    def __mul__(self, other: Real | float) -> Real:
        return self._op(arith.MulfOp, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Real | float) -> Real:
        return self._op(arith.DivfOp, other)

    def __rtruediv__(self, other: float) -> Real:
        return _real(other) / self

    def __neg__(self) -> Real:
        return self._op(arith.NegfOp)

    def __abs__(self) -> Real:
        return self._op(math.AbsFOp)

    def __lt__(self, other: Real | float) -> SSAValue:
        return compare("olt", self.value, _real(other).value)

    def __gt__(self, other: Real | float) -> SSAValue:
        return compare("ogt", self.value, _real(other).value)

    def equals(self, other: Real | float) -> SSAValue:
        return compare("oeq", self.value, _real(other).value)

    def where(self, mask: SSAValue, other: Real | float) -> Real:
        """`other` where the mask is set, else self."""
        return Real(choose(mask, _real(other).value, self.value))

    def with_sign_of(self, other: Real) -> Real:
        return self._op(math.CopySignOp, other)

    def function(self, op_class: type[Operation]) -> Real:
        """An upstream function of it."""
        return self._op(op_class)

    def exp(self) -> Real:
        return self._op(math.ExpOp)

    def log(self) -> Real:
        return self._op(math.LogOp)

    def times_plus(self, factor: Real | float, addend: Real | float) -> Real:
        """self * factor + addend, rounded once."""
        return self._op(math.FmaOp, factor, addend)

    def polynomial(self, coefficients: Sequence[float]) -> Real:
        """Lowest coefficient first, as two of even and of odd powers, which do not wait for one another."""
        square = self * self
        return square._horner(coefficients[1::2]).times_plus(self, square._horner(coefficients[::2]))

    def _horner(self, coefficients: Sequence[float]) -> Real:
        total = _real(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.times_plus(self, coefficient)
        return total


def _real(value: Real | float) -> Real:
    return value if isinstance(value, Real) else Real.number(value)


class FormulaOp(UnaryOp):
    """A function of one number that a formula gives, in 64 bits, rounded to the type."""

    @abstractmethod
    def formula(self, x: Real) -> Real: ...

    def scalar(self, x: SSAValue) -> SSAValue:
        if x.type == types.F64:
            return self.formula(Real(x)).value
        wide = self.formula(Real(scalar_op(arith.ExtFOp, x, asked=types.F64)))
        return scalar_op(arith.TruncFOp, wide.value, asked=x.type)
