"""Vectors of floats in formulas: Python operators append arith and vector ops.

Reads: nothing. Writes: arith, math and vector ops. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, IntegerType, VectorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.lowering.loop_builder import NO_OVERFLOW_FLAGS, LoopBuilder, vector_of

_EXACT = arith.FastMathFlagsAttr("none")
_AND = vector.CombiningKindAttr(vector.CombiningKindFlag.AND)
_LONG = 6
_NOT_EQUAL = IntegerAttr(1, i64)
_PREDICATES = {
    name: IntegerAttr(number, i64) for name, number in {"oeq": 1, "ogt": 2, "olt": 4, "ult": 11, "uno": 14}.items()
}


@dataclass(frozen=True, eq=False)
class Bits:
    """A vector of integers that are the bits of floats."""

    builder: LoopBuilder
    value: SSAValue

    def _op(self, op_class: type[Operation], other: Bits | int, **properties: Attribute) -> Bits:
        right = self.builder.number(other, self.value.type) if isinstance(other, int) else other.value
        return Bits(self.builder, self.builder.op(op_class, [self.value, right], self.value.type, **properties))

    def __add__(self, other: Bits | int) -> Bits:
        return self._op(arith.AddiOp, other, overflowFlags=NO_OVERFLOW_FLAGS)

    def __and__(self, other: Bits | int) -> Bits:
        return self._op(arith.AndIOp, other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._op(arith.OrIOp, other)

    def __lshift__(self, count: int) -> Bits:
        return self._op(arith.ShLIOp, count, overflowFlags=NO_OVERFLOW_FLAGS)

    def __rshift__(self, count: int) -> Bits:
        """Shifts zeros in."""
        return self._op(arith.ShRUIOp, count)

    def has(self, bit: int) -> SSAValue:
        """Where a bit is set."""
        masked, zero = (self & bit).value, self.builder.number(0, self.value.type)
        mask = vector_of(i1, _lanes(self.value))
        return self.builder.op(arith.CmpiOp, [masked, zero], mask, predicate=_NOT_EQUAL)

    def floats(self, type: VectorType) -> Lanes:
        return Lanes(self.builder, self.builder.op(arith.BitcastOp, [self.value], type))


@dataclass(frozen=True, eq=False)
class Lanes:
    """A vector of floats."""

    builder: LoopBuilder
    value: SSAValue

    @property
    def type(self) -> VectorType:
        assert isinstance(self.value.type, VectorType)
        return self.value.type

    @property
    def width(self) -> int:
        """The bits of one lane."""
        assert isinstance(self.type.element_type, AnyFloat)
        return self.type.element_type.bitwidth

    def number(self, value: float) -> Lanes:
        return Lanes(self.builder, self.builder.number(value, self.type))

    def _of(self, value: SSAValue) -> Lanes:
        return Lanes(self.builder, value)

    def _op(self, op_class: type[Operation], *operands: Lanes | float) -> Lanes:
        values = [self.number(x).value if isinstance(x, int | float) else x.value for x in operands]
        return self._of(self.builder.op(op_class, values, self.type, fastmath=_EXACT))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._op(arith.AddfOp, self, other)

    def __radd__(self, other: float) -> Lanes:
        return self._op(arith.AddfOp, other, self)

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._op(arith.SubfOp, self, other)

    def __rsub__(self, other: float) -> Lanes:
        return self._op(arith.SubfOp, other, self)

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._op(arith.MulfOp, self, other)

    def __rtruediv__(self, other: float) -> Lanes:
        return self._op(arith.DivfOp, other, self)

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._op(arith.DivfOp, self, other)

    def __neg__(self) -> Lanes:
        return self._op(arith.NegfOp, self)

    def __abs__(self) -> Lanes:
        return self._op(math.AbsFOp, self)

    def floor(self) -> Lanes:
        return self._op(math.FloorOp, self)

    def sqrt(self) -> Lanes:
        return self._op(math.SqrtOp, self)

    def with_sign_of(self, other: Lanes) -> Lanes:
        return self._op(math.CopySignOp, self, other)

    def times_plus(self, factor: Lanes | float, addend: Lanes | float) -> Lanes:
        """self * factor + addend, rounded once."""
        values = [self.number(x).value if isinstance(x, int | float) else x.value for x in (self, factor, addend)]
        return self._of(self.builder.op(vector.FMAOp, values, self.type))

    def compare(self, predicate: str, other: Lanes | float) -> SSAValue:
        """Where the comparison holds."""
        values = [self.value, (other if isinstance(other, Lanes) else self.number(other)).value]
        mask = vector_of(i1, _lanes(self.value))
        return self.builder.op(arith.CmpfOp, values, mask, predicate=_PREDICATES[predicate], fastmath=_EXACT)

    def where(self, mask: SSAValue, other: Lanes | float) -> Lanes:
        """`other` where the mask is set, else self."""
        right = other if isinstance(other, Lanes) else self.number(other)
        return self._of(self.builder.op(arith.SelectOp, [mask, right.value, self.value], self.type))

    def bits(self) -> Bits:
        type = vector_of(IntegerType(self.width), _lanes(self.value))
        return Bits(self.builder, self.builder.op(arith.BitcastOp, [self.value], type))

    def polynomial(self, coefficients: Sequence[float]) -> Lanes:
        """The polynomial, lowest coefficient first. Long ones are split into even and odd powers that can be computed
        in parallel."""
        if len(coefficients) >= _LONG:
            square = self * self
            return self.times_plus(square._horner(coefficients[1::2]), square._horner(coefficients[::2]))
        return self._horner(coefficients)

    def _horner(self, coefficients: Sequence[float]) -> Lanes:
        total = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.times_plus(self, coefficient)
        return total


def _lanes(value: SSAValue) -> int:
    assert isinstance(value.type, VectorType)
    return value.type.get_shape()[0]


def in_all_lanes(builder: LoopBuilder, *masks: SSAValue) -> SSAValue:
    """Whether all masks are set in all lanes."""
    both = masks[0]
    for mask in masks[1:]:
        both = builder.op(arith.AndIOp, [both, mask], both.type)
    return builder.op(vector.ReductionOp, [both], i1, kind=_AND, fastmath=_EXACT)


def if_usual(is_usual: SSAValue, vectors: Sequence[Lanes], otherwise: Callable[[], Sequence[Lanes]]) -> list[Lanes]:
    """The vectors, or the result of `otherwise`: a branch that is hardly ever taken."""
    builder = vectors[0].builder
    found = builder.either(
        is_usual,
        [each.type for each in vectors],
        lambda: [each.value for each in vectors],
        lambda: [each.value for each in otherwise()],
    )
    return [Lanes(builder, each) for each in found]
