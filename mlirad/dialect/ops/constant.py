"""Constants, arrays filled with one number, and 0, 1, 2, ..."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_operand_def, prop_def, result_def, var_operand_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.answers import Generic, Upstream
from mlirad.dialect.core.attributes import dense, value_of
from mlirad.dialect.core.derivative import InertOp, LinearOp
from mlirad.dialect.core.expr import Expr, constant, emit, insert, sum_of
from mlirad.dialect.core.intervals import Integer, Interval
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called, dtype_name, literal, shape_text, text
from mlirad.dialect.core.op import NdOp, PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import number
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.core.upstream import empty, filled
from mlirad.dialect.ops.movement import broadcast, of_lanes
from mlirad.errors import DTypeError, ShapeError


@op(np.array, complex=True)
class ConstantOp(InertOp, PureOp):
    """A number or an array known at compile time."""

    name = "nd.constant"
    value = prop_def()
    result = result_def()
    assembly_format = "attr-dict `:` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        value = properties["value"]
        if result_type is None or getattr(value, "type", None) != result_type:
            raise DTypeError(f"nd.constant: the value {value} is not of type {result_type}")
        return [result_type]

    def reference(self) -> Any:
        return value_of(self.value, self.result.type)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value = self.reference()
        if not types.is_tensor(self.result.type):
            return literal(value)
        first = value.reshape(-1)[:1]
        if value.size > 1 and value.tobytes() == np.full(value.shape, first).tobytes():
            return filled_array(literal(first), self.result.type, value.shape)
        given = {} if value.dtype in (np.float64, np.int64, np.bool_) and value.size else {"dtype": _dtype(self.result)}
        return called("np.array", _nested(value), **given)

    def contents(self) -> Attribute:
        return self.value

    def integer(self, *operands: Interval) -> Integer:
        return intervals.constant(self.value.value.data) if isinstance(self.value, IntegerAttr) else intervals.UNKNOWN

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.reference()).all())

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self) -> Sequence[SSAValue]:
        type, value = self.result.type, self.value
        if types.is_unsigned(type) and not types.is_bool(type):
            type = types.signless(type)
            value = dense(np.asarray(self.reference()).view(types.to_dtype(types.element_type(type))), type)
        if 0 in types.shape(type):
            return [empty(type)]  # upstream has no dense attribute without elements
        if type == types.C64 or type == types.C128:
            return [number(complex(self.reference()), type)]
        return [insert(arith.ConstantOp(value, type)).result]  # pyright: ignore[reportArgumentType]  # any attribute of a number


def _dtype(value: SSAValue) -> str:
    return dtype_name(types.element_type(value.type))


def _nested(value: Any) -> str:
    """An array as nested lists."""
    if not value.ndim:
        return str(text(literal(value[()])).parts[0])
    return "[" + ", ".join(map(_nested, value)) + "]"


def filled_array(value: NumpyText, type: Attribute, shape: Sequence[NumpyText | str | int]) -> NumpyText:
    """A new array filled with one number."""
    element = types.element_type(type)
    known = {"0": "np.zeros", "0.0": "np.zeros", "1": "np.ones", "1.0": "np.ones"}.get(repr(value.literal))
    given = [shape_text(shape), *([] if known else [value])]
    is_open = element == types.F64 if known else value.is_numpy or element in (types.F64, types.I64, types.I1)
    named = {} if is_open else {"dtype": dtype_name(element)}
    return replace(called(known or "np.full", *given, **named), lax=value)


def is_finite(value: SSAValue) -> bool:
    """Whether it is known at compile time that a value contains neither an infinity nor a nan."""
    return isinstance(value.owner, NdOp) and value.owner.is_finite()


def is_nonzero(value: SSAValue) -> bool:
    """Whether a value is a constant without zeros and nans."""
    owner = value.owner
    while isinstance(owner, FullOp):
        owner = owner.value.owner
    return isinstance(owner, ConstantOp) and bool((np.abs(owner.reference()) > 0).all())


def is_zero(value: SSAValue) -> bool:
    """Whether a value is a constant that contains only zeros, of either sign."""
    owner = value.owner
    while isinstance(owner, FullOp):
        owner = owner.value.owner
    return isinstance(owner, ConstantOp) and not np.any(owner.reference())


@op(np.full, cost=0, linear=True, complex=True)
class FullOp(LinearOp):
    """An array filled with one number; the further operands are its unknown sizes, in order."""

    name = "nd.full"
    value = operand_def()
    sizes = var_operand_def(types.I64)
    result = result_def()
    assembly_format = "$value (`,` $sizes^)? attr-dict `:` type($value) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if not isinstance(result_type, TensorType) or types.element_type(result_type) != operands[0]:
            raise DTypeError(f"nd.full: {result_type} is not an array of {operands[0]}")
        if types.shape(result_type).count(-1) != len(operands) - 1:
            raise ShapeError(f"nd.full: {len(operands) - 1} sizes for {result_type}")
        return [result_type]

    def shifted(self, value: Shift, *sizes: Shift) -> Shift | None:
        return value

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        # An array of different numbers is not a FullOp.
        if any(stacked[1:]):
            return None
        given = [lanes] if isinstance(lanes, Expr) else []
        shape = types.shape(of_lanes(self.result.type, lanes))
        return [broadcast(operands[0], [0], shape, [*given, *operands[1:]])]

    def reference(self, value: Any, *sizes: Any) -> Any:
        given = iter(sizes)
        shape = [int(next(given)) if size < 0 else size for size in types.shape(self.result.type)]
        return np.full(shape, value, types.to_dtype(types.element_type(self.result.type)))

    def numpy_source(self, source: NumpySource) -> NumpyText:
        sizes = iter(source.operands(1))
        shape = [next(sizes) if size < 0 else size for size in types.shape(self.result.type)]
        return filled_array(source.operand(0), self.result.type, shape)

    def contents(self) -> SSAValue:
        return self.value

    def is_finite(self) -> bool:
        return is_finite(self.value)

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return sum_of(g)

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        return self.sizes[types.shape(self.result.type)[:axis].count(-1)]

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, value: SSAValue, *sizes: SSAValue) -> Sequence[SSAValue]:
        indices = [insert(arith.IndexCastOp(size, IndexType())).result for size in sizes]
        return [filled(value, types.tensor(types.shape(self.result.type), value.type), indices)]


@op()
class ArangeOp(InertOp, PureOp):
    """0, 1, 2, ...; the operand is the size, if it is unknown."""

    name = "nd.arange"
    size = opt_operand_def(types.I64)
    result = result_def()
    assembly_format = "($size^)? attr-dict `:` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if not isinstance(result_type, TensorType) or types.element_type(result_type) != types.I64:
            raise DTypeError(f"nd.arange: {result_type} is not an array of {types.I64}")
        shape = types.shape(result_type)
        if len(shape) != 1 or shape.count(-1) != len(operands):
            raise ShapeError(f"nd.arange: {len(operands)} sizes for {result_type}")
        return [result_type]

    def reference(self, *sizes: Any) -> Any:
        (size,) = sizes or types.shape(self.result.type)
        return np.arange(size, dtype=np.int64)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (size,) = source.operands() or types.shape(self.result.type)
        return called("np.arange", size)

    def loops(self) -> Generic:
        return Generic(((0,),), self._number, sizes=len(self.operands), counters=(0,))

    def _number(self, counter: SSAValue) -> SSAValue:
        return insert(arith.IndexCastOp(counter, types.I64)).result


STORED = 64
"""Up to this many counted numbers become a constant: knowing each number is worth more than the bytes."""


def counted(size: int | Expr) -> Expr:
    """0, 1, ..., size - 1, as i64; a size known only at run time is an i64."""
    if isinstance(size, Expr):
        return emit(ArangeOp, size, result_type=types.tensor((-1,), types.I64))
    type = types.tensor((size,), types.I64)
    return emit(ArangeOp, result_type=type) if size > STORED else constant(np.arange(size), type)
