"""Choosing one of two numbers: by a condition, the larger or the smaller one, or 0 for 0 times infinity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def, var_operand_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.answers import Cotangent, Generic, Given
from mlirad.dialect.core.derivative import only
from mlirad.dialect.core.expr import Expr, emit, where
from mlirad.dialect.core.intervals import Integer, Interval, Proofs
from mlirad.dialect.core.numpy_source import (
    NumpySource,
    NumpyText,
    Rank,
    called,
    choice,
    dtype_name,
    infix,
    literal,
    typed,
)
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties, op_of
from mlirad.dialect.core.scalars import Complex, both, choose, compare, number, scalar_op
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.elementwise import BinaryOp, ElementwiseOp, floats, require_same
from mlirad.errors import DTypeError, ShapeError

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


class ExtremumOp(BinaryOp):
    """The larger or the smaller of two numbers. If they are equal, each gets half of the cotangent."""

    # (float op, signed op, unsigned op)
    KINDS: ClassVar[tuple[type[Operation], type[Operation], type[Operation]]]
    # 1 if the larger one is chosen, else -1
    SIGN: ClassVar[int]

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return type

    @abstractmethod
    def prefers(self, x: Expr, y: Expr) -> Expr:
        """Where x is chosen."""

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        tied = where(x == y, 0.5 * g, 0.0)
        return where(self.prefers(x, y), g, tied), where(self.prefers(y, x), g, tied)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        if self.x.type != types.I64:
            return None
        x, y = proofs.sum_of(self.x), proofs.sum_of(self.y)
        for operand, excess in ((self.x, x - y), (self.y, y - x)):
            if proofs.is_never_negative(excess.scaled(self.SIGN)):
                return [operand]
        return None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        floating, signed, unsigned = self.KINDS
        if types.is_float(self.element):
            return scalar_op(floating, x, y)
        return scalar_op(unsigned if types.is_unsigned(self.element) else signed, x, y)


@op(np.maximum, linear=True, partial=(0, 1))
class MaximumOp(ExtremumOp):
    """The larger of two numbers; nan if either is nan."""

    name = "nd.maximum"
    KINDS: ClassVar = (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp)
    SIGN: ClassVar = 1

    def prefers(self, x: Expr, y: Expr) -> Expr:
        return x > y

    def integer(self, *operands: Interval) -> Integer:
        return intervals.largest(*operands)


@op(np.minimum, linear=True, partial=(0, 1))
class MinimumOp(ExtremumOp):
    """The smaller of two numbers; nan if either is nan."""

    name = "nd.minimum"
    KINDS: ClassVar = (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp)
    SIGN: ClassVar = -1

    def prefers(self, x: Expr, y: Expr) -> Expr:
        return x < y

    def integer(self, *operands: Interval) -> Integer:
        return intervals.smallest(*operands)


@op(np.fmax, linear=True, partial=(0, 1))
class FmaxOp(ExtremumOp):
    """The larger of two numbers; the other one if one is nan."""

    name = "nd.fmax"
    KINDS: ClassVar = (arith.MaxnumfOp, arith.MaxSIOp, arith.MaxUIOp)
    SIGN: ClassVar = 1

    def prefers(self, x: Expr, y: Expr) -> Expr:
        return (x > y) | ((y != y) & (x == x))

    def integer(self, *operands: Interval) -> Integer:
        return intervals.largest(*operands)


@op(np.fmin, linear=True, partial=(0, 1))
class FminOp(ExtremumOp):
    """The smaller of two numbers; the other one if one is nan."""

    name = "nd.fmin"
    KINDS: ClassVar = (arith.MinnumfOp, arith.MinSIOp, arith.MinUIOp)
    SIGN: ClassVar = -1

    def prefers(self, x: Expr, y: Expr) -> Expr:
        return (x < y) | ((y != y) & (x == x))

    def integer(self, *operands: Interval) -> Integer:
        return intervals.smallest(*operands)


@op(np.where, linear=True, partial=(1, 2), complex=True)
class SelectOp(ElementwiseOp):
    """x where the condition holds, else y."""

    name = "nd.select"
    condition = operand_def()
    x = operand_def(_T)
    y = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$condition `,` $x `,` $y attr-dict `:` type($condition) `,` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        condition, x, y = operands
        require_same(cls.name, (x, y))
        if condition != types.with_element(x, types.I1):
            raise DTypeError(f"nd.select: the condition is {condition}, not booleans of the shape of {x}")
        return [x]

    def selection(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        return self.condition, self.x, self.y

    def shifted(self, condition: Shift, x: Shift, y: Shift) -> Shift | None:
        return x if x == y else None

    def numpy_source(self, source: NumpySource) -> NumpyText:
        if types.is_tensor(self.result.type):
            condition, x, y = source.elements()
            is_known = x.is_numpy or y.is_numpy or types.element_type(self.x.type) in (types.F64, types.I64, types.I1)
            return called("np.where", condition, x, y if is_known else called(dtype_name(self.element), y))
        condition, x, y = source.operands()
        if types.element_type(self.x.type) not in (types.F64, types.I64, types.I1):
            x, y = typed(x, self.x.type), typed(y, self.x.type)
        return choice(condition, x, y)

    @property
    def element(self) -> Attribute:
        return types.element_type(self.operands[1].type)

    def is_rounded(self) -> bool:
        return False

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, condition = only(gs), operands[0]
        return None, where(condition, g, 0.0), where(condition, 0.0, g)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        _, dx, dy = given
        if dx is None and dy is None:
            return (None,)
        return (where(operands[0], 0.0 if dx is None else dx, 0.0 if dy is None else dy),)

    def loops(self) -> Generic:
        return self.by_element(choose)

    def integer(self, *operands: Interval) -> Integer:
        return intervals.selected(*operands)


@op(cost=4, partial=(0,))
class AnnihilateOp(ElementwiseOp):
    """x, the product of `factors` and other numbers, but 0 where all `factors` are exactly 0: 0 times infinity is 0.

    Apart from the sign of a zero, it differs from x only where x is nan. The cotangent of x is stopped only there.
    In a derivative rule, the factor is the cotangent. If an element is not needed (a select takes its other branch),
    the cotangent is 0, and so are its own derivatives of all orders: hence its tangents also become factors. A
    cotangent that happens to have the value 0 does not stop its own derivative.
    """

    name = "nd.annihilate"
    x = operand_def(_T)
    factors = var_operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x `by` $factors attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if len(operands) < 2:
            raise ShapeError(f"{cls.name}: a product has a factor")
        require_same(cls.name, operands)
        return [floats(cls.name, operands[0])]

    def reference(self, x: Any, *factors: Any) -> Any:
        return np.where(np.all([factor == 0 for factor in factors], axis=0), np.zeros_like(x), x)[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x, *factors = source.elements()
        zeros = [infix(factor, "==", literal(0), Rank.COMPARISON) for factor in factors]
        is_array = types.is_tensor(self.result.type)
        joined = ("&", Rank.BIT_AND) if is_array else ("and", Rank.AND)
        holds = reduce(lambda one, other: infix(one, joined[0], other, joined[1]), zeros)
        if is_array:
            return called("np.where", holds, literal(0.0), x)
        zero = literal(0.0)
        return choice(holds, zero if self.x.type == types.F64 else typed(zero, self.x.type), x)

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        x, *factors = operands
        holds = x != x
        for factor in factors:
            holds = holds & (factor == 0)
        return where(holds, 0.0, only(gs)), *(None for _ in factors)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        dx, *moved = given
        return (None if dx is None else annihilated(dx, *operands[1:], *(t for t in moved if t is not None)),)

    def linear_part(self) -> SSAValue:
        return self.x

    def scales(self, index: int) -> bool:
        return False  # its rule selects

    def loops(self) -> Generic:
        return self.by_element(self._scalar)

    def _scalar(self, x: SSAValue, *factors: SSAValue) -> SSAValue:
        zero = number(0.0, x.type)
        zeros = [compare("oeq", factor, zero) for factor in factors]
        return choose(reduce(partial(scalar_op, arith.AndIOp), zeros), zero, x)

    def on_complex(self, x: Complex, *factors: Complex) -> Complex:
        holds = reduce(both, [factor.is_zero() for factor in factors])
        zero = x.re.like(0.0)
        return x.where(holds, Complex(zero, zero))


def annihilated(product: Expr, *factors: Expr) -> Expr:
    """A product, with 0 where all of these factors are exactly 0, whatever the other factors are.

    A real factor may have a complex product. A complex factor of a real product is 0 if both of its parts are.
    """
    if types.is_complex(product.type):
        parts = factors
    else:
        parts = [part for factor in factors for part in _real_parts(factor)]
    return emit(AnnihilateOp, product, *(cast(part, product.element) for part in parts))


def _real_parts(x: Expr) -> Sequence[Expr]:
    return [emit(op_of(part), x) for part in (np.real, np.imag)] if types.is_complex(x.type) else [x]
