"""Comparisons, logic on booleans, and casts: elementwise ops whose results have another element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.answers import Given
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.core.intervals import Integer, Interval, Proofs, Values
from mlirad.dialect.core.numpy_source import (
    NumpySource,
    NumpyText,
    Rank,
    called,
    denied,
    dtype_name,
    infix,
    literal,
    text,
    typed,
)
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import Complex, Flag, Real, compare, number, scalar_op
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp, booleans, require_same
from mlirad.errors import ShapeError

_OPPOSITES = {"slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "eq": "ne", "ne": "eq"}


class ComparisonOp(BinaryOp):
    """A relation of two numbers. Its derivative is 0."""

    # (of floats, of signed integers, of unsigned integers and booleans)
    PREDICATES: ClassVar[tuple[str, str, str]]

    x = operand_def()
    y = operand_def()
    result = result_def()
    assembly_format = "$x `,` $y attr-dict `:` functional-type(operands, results)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        require_same(cls.name, operands)
        return [types.with_element(operands[0], types.I1)]

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[None, None]:
        return None, None

    def implied(self, proofs: Proofs, truth: bool) -> Sequence[Values]:
        if self.x.type != types.I64:
            return ()
        rise = proofs.sum_of(self.y) - proofs.sum_of(self.x)
        fall, predicate = rise.scaled(-1), self.PREDICATES[1]
        match predicate if truth else _OPPOSITES[predicate]:
            case "slt":
                return (rise.shifted(-1),)
            case "sle":
                return (rise,)
            case "sgt":
                return (fall.shifted(-1),)
            case "sge":
                return (fall,)
            case "eq":
                return rise, fall
        # They differ if one is never the smaller one, so that it is larger.
        larger = next((each for each in (rise, fall) if proofs.is_never_negative(each)), None)
        return () if larger is None else (larger.shifted(-1),)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        for truth in (True, False):
            needed = self.implied(proofs, truth)
            if needed and all(map(proofs.is_never_negative, needed)):
                return [constant(truth, types.I1).value]
        return None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        floating, signed, unsigned = self.PREDICATES
        if types.is_float(self.element):
            return compare(floating, x, y)
        return compare(unsigned if types.is_unsigned(self.element) else signed, x, y)


@op(np.equal)
class EqualOp(ComparisonOp):
    """x == y."""

    name = "nd.equal"
    PREDICATES: ClassVar = ("oeq", "eq", "eq")

    def on_complex(self, x: Complex, y: Complex) -> Flag:
        return Flag(x.equals(y))


@op(np.not_equal)
class NotEqualOp(ComparisonOp):
    """x != y; true for nan."""

    name = "nd.not_equal"
    PREDICATES: ClassVar = ("une", "ne", "ne")

    def on_complex(self, x: Complex, y: Complex) -> Flag:
        return Flag(x.differs(y))


@op(np.less)
class LessOp(ComparisonOp):
    """x < y."""

    name = "nd.less"
    PREDICATES: ClassVar = ("olt", "slt", "ult")


@op(np.less_equal)
class LessEqualOp(ComparisonOp):
    """x <= y."""

    name = "nd.less_equal"
    PREDICATES: ClassVar = ("ole", "sle", "ule")


@op(np.greater)
class GreaterOp(ComparisonOp):
    """x > y."""

    name = "nd.greater"
    PREDICATES: ClassVar = ("ogt", "sgt", "ugt")


@op(np.greater_equal)
class GreaterEqualOp(ComparisonOp):
    """x >= y."""

    name = "nd.greater_equal"
    PREDICATES: ClassVar = ("oge", "sge", "uge")


class LogicalOp(BinaryOp):
    """A logical connective of two booleans."""

    UPSTREAM: ClassVar[type[Operation]]

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return booleans(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[None, None]:
        return None, None

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return scalar_op(self.UPSTREAM, x, y)


@op(np.logical_and)
class LogicalAndOp(LogicalOp):
    """x and y."""

    name = "nd.logical_and"
    UPSTREAM: ClassVar = arith.AndIOp

    def implied(self, proofs: Proofs, truth: bool) -> Sequence[Values]:
        return (*proofs.implied(self.x, True), *proofs.implied(self.y, True)) if truth else ()


@op(np.logical_or)
class LogicalOrOp(LogicalOp):
    """x or y."""

    name = "nd.logical_or"
    UPSTREAM: ClassVar = arith.OrIOp

    def implied(self, proofs: Proofs, truth: bool) -> Sequence[Values]:
        return () if truth else (*proofs.implied(self.x, False), *proofs.implied(self.y, False))


@op(np.logical_not)
class LogicalNotOp(UnaryOp):
    """not x."""

    name = "nd.logical_not"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        if types.is_tensor(self.result.type):
            return text("~", x.within(Rank.SIGN), rank=Rank.SIGN)
        return denied(x)

    def implied(self, proofs: Proofs, truth: bool) -> Sequence[Values]:
        return proofs.implied(self.x, not truth)

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return booleans(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(arith.XOrIOp, x, number(1, types.I1))


@op(linear=True, complex=True)
class CastOp(UnaryOp):
    """x in another element type, as in NumPy's astype. Linear between floats; otherwise its derivative is 0.

    A complex number cast to a real type becomes its real part.
    """

    name = "nd.cast"
    x = operand_def()
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if result_type is None or types.shape(result_type) != types.shape(operands[0]):
            raise ShapeError(f"nd.cast: the result {result_type} does not have the shape of {operands[0]}")
        return [result_type]

    @property
    def target(self) -> Attribute:
        return types.element_type(self.results[0].type)

    def reference(self, x: Any) -> Any:
        return as_dtype(np.asarray(x), types.to_dtype(self.target))[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        target, origin = self.target, self.element
        if target == types.I1:
            return infix(x, "!=", literal(0), Rank.COMPARISON)
        is_wider = types.is_float(target) or (target == types.I64 and not types.is_float(origin))
        if not types.is_tensor(self.x.type) and (is_wider or origin == types.I1):
            return called(dtype_name(target), x)
        x = typed(x, origin).within(Rank.ATOM) if not types.is_tensor(self.x.type) else x.within(Rank.ATOM)
        x = called(dtype_name(origin), x) if x.literal is not None else x
        names = [dtype_name(target)]
        if types.is_float(origin) and types.to_dtype(target) == np.uint32:
            names.insert(0, "np.int64")  # see as_dtype
        return text(x, *(f".astype({name})" for name in names))

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr | None:
        return cast(g, x.element) if types.is_inexact(x.type) else None

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return self.tangents(given, outs, operands)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr | None:
        return cast(dx, self.target) if types.is_inexact(out.type) else None

    def is_finite(self) -> bool:
        return not types.is_inexact(self.x.type)

    def is_rounded(self) -> bool:
        return False

    def integer(self, *operands: Interval) -> Integer:
        return (
            intervals.same(*operands) if isinstance(types.element_type(self.x.type), IntegerType) else intervals.UNKNOWN
        )

    def scalar(self, x: SSAValue) -> SSAValue:
        source, target = self.element, self.target
        if types.is_complex(source):
            return _of_complex(Complex.of(x), target)
        if types.is_complex(target):
            part = types.part_type(target)
            re = Real(_of_real(x, source, part))
            return Complex(re, re.like(0.0)).value
        return _of_real(x, source, target)


def _of_complex(x: Complex, target: Attribute) -> SSAValue:
    """A complex number cast to other parts, to a boolean (whether it is not 0), or to its real part."""
    if types.is_complex(target):
        return x.in_parts(types.part_type(target)).value
    if target == types.I1:
        return x.differs(Complex(x.re.like(0.0), x.re.like(0.0)))
    return _of_real(x.re.value, x.re.value.type, target)


def _of_real(x: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    if target == types.I1:
        return compare("une" if types.is_float(source) else "ne", x, number(0, x.type))
    if types.is_float(source):
        return _from_float(x, source, target)
    if types.is_float(target):
        kind = arith.UIToFPOp if types.is_unsigned(source) else arith.SIToFPOp
        wide = types.F32 if target == types.F16 else target  # rounded twice, as in NumPy
        return _from_float(scalar_op(kind, x, asked=wide), wide, target)
    assert isinstance(source, IntegerType) and isinstance(target, IntegerType)
    signless = IntegerType(target.width.data)
    if target.width.data > source.width.data:
        kind = arith.ExtUIOp if types.is_unsigned(source) else arith.ExtSIOp
        return scalar_op(kind, x, asked=signless)
    return scalar_op(arith.TruncIOp, x, asked=signless) if target.width.data < source.width.data else x


def _from_float(x: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    if not types.is_float(target):
        assert isinstance(target, IntegerType)
        kind = arith.FPToUIOp if types.is_unsigned(target) else arith.FPToSIOp
        return scalar_op(kind, x, asked=IntegerType(target.width.data))
    if types.itemsize(target) > types.itemsize(source):
        return scalar_op(arith.ExtFOp, x, asked=target)
    return scalar_op(arith.TruncFOp, x, asked=target) if target != source else x


def as_dtype(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x.astype(dtype)`, but independent of an element's position, where NumPy's result depends on it.

    That is only the case for floats beyond the range of uint32, which are converted through int64 here.
    """
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = np.real(x)  # NumPy would warn
    with np.errstate(all="ignore"):
        return (x.astype(np.int64) if x.dtype.kind == "f" and dtype == np.uint32 else x).astype(dtype)


def cast(x: Expr, element: Attribute) -> Expr:
    """x with another element type; x itself if it already has that type."""
    return x if x.element == element else emit(CastOp, x, result_type=types.with_element(x.type, element))
