"""Moving elements without changing them: broadcast, reshape, transpose; and reading a size."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.answers import Generic, Given, SizeOf, Upstream
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import InertOp, LinearOp, OneOperandOp
from mlirad.dialect.core.expr import Expr, dim, emit, insert, sum_of, unknown_dims
from mlirad.dialect.core.intervals import Integer, Interval
from mlirad.dialect.core.numpy_source import (
    NumpySource,
    NumpyText,
    Rank,
    as_view,
    called,
    dtype_name,
    shape_text,
    text,
    tuple_of,
)
from mlirad.dialect.core.op import NdOp, PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.core.upstream import filled, reshaped
from mlirad.errors import DTypeError, ShapeError


class MovementOp(OneOperandOp, PureOp):
    """A linear op of one operand: its tangent is the same op on the tangent."""

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return self.tangents(given, outs, operands)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        return self.result_on(dx)


def _unchanged(element: SSAValue) -> SSAValue:
    return element


@op(cost=0, linear=True, complex=True)
class BroadcastOp(LinearOp):
    """x repeated along new axes: operand axis i is result axis dims[i] (increasing).

    The operands after x are the unknown sizes of the result, in order.
    """

    name = "nd.broadcast"
    x = operand_def()
    sizes = var_operand_def(types.I64)
    dims = prop_def(DenseArrayBase)
    result = result_def()
    assembly_format = "$x (`,` $sizes^)? attr-dict `:` type($x) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        source, dims = types.shape(operands[0]), ints(properties["dims"])
        if not isinstance(result_type, TensorType):
            raise ShapeError(f"nd.broadcast: the result {result_type} is not an array")
        if types.element_type(result_type) != types.element_type(operands[0]):
            raise DTypeError(f"nd.broadcast: element types differ: {operands[0]} and {result_type}")
        shape = types.shape(result_type)
        increasing = all(a < b for a, b in itertools.pairwise(dims))
        fits = len(dims) == len(source) and increasing and all(0 <= axis < len(shape) for axis in dims)
        if not fits or any(shape[axis] != size for axis, size in zip(dims, source, strict=True)):
            raise ShapeError(f"nd.broadcast: {operands[0]} does not broadcast to {result_type} along {list(dims)}")
        if shape.count(-1) != len(operands) - 1:
            raise ShapeError(f"nd.broadcast: {len(operands) - 1} sizes for {result_type}")
        return [result_type]

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        if any(stacked[1:]):
            return None
        x, *sizes = operands
        count, more = (-1, [lanes]) if isinstance(lanes, Expr) else (lanes, [])
        dims = [0, *(axis + 1 for axis in ints(self.dims))]
        return [broadcast(x, dims, (count, *types.shape(self.result.type)), [*more, *sizes])]

    def reference(self, x: Any, *sizes: Any) -> Any:
        given = iter(sizes)
        shape = [int(next(given)) if size < 0 else size for size in types.shape(self.result.type)]
        kept = dict(zip(ints(self.dims), np.shape(x), strict=True))
        if any(shape[axis] != size for axis, size in kept.items()):
            raise ValueError(f"{np.shape(x)} does not broadcast to {shape}: it was not checked")
        aligned = np.reshape(x, [kept.get(axis, 1) for axis in range(len(shape))])
        return np.broadcast_to(aligned, shape).copy()

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x, *sizes = source.operands()
        given = iter(sizes)
        shape = [next(given) if size < 0 else size for size in types.shape(self.result.type)]
        if not types.shape(self.x.type):
            element = types.element_type(self.x.type)
            named = {} if x.is_numpy or element in (types.F64, types.I64, types.I1) else {"dtype": dtype_name(element)}
            return replace(called("np.full", shape_text(shape), x, **named), lax=x)
        first = ints(self.dims)[0]
        axes = [":" if axis in ints(self.dims) else "None" for axis in range(first, len(shape))]
        aligned = _indexed(x, axes) if "None" in axes else x
        return replace(called("np.broadcast_to", aligned, tuple_of(shape)), is_new=False, lax=aligned)

    def shifted(self, x: Shift, *sizes: Shift) -> Shift | None:
        return x.along(dict(enumerate(ints(self.dims))))

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        axes = [axis for axis in range(len(out.shape)) if axis not in ints(self.dims)]
        return reshape(sum_of(g, axes), x.type)

    def loops(self) -> Generic:
        every = tuple(range(len(types.shape(self.result.type))))
        return Generic((ints(self.dims), every), _unchanged, sizes=len(self.sizes))


def broadcast(x: Expr, dims: Sequence[int], shape: Sequence[int], sizes: Sequence[Expr] = ()) -> Expr:
    """x (a scalar or an array), with its axis i as axis dims[i] of an array of that shape; x itself if it has that
    type.

    sizes: an i64 for each unknown size (-1) of the shape.
    """
    target = types.tensor(shape, x.element)
    return x if x.type == target else emit(BroadcastOp, x, *sizes, dims=dims, result_type=target)


def repeated(x: Expr, lanes: int | Expr) -> Expr:
    """x repeated for each lane, along a new first axis."""
    count, sizes = (-1, [lanes]) if isinstance(lanes, Expr) else (lanes, [])
    return broadcast(x, range(1, len(x.shape) + 1), (count, *x.shape), [*sizes, *unknown_dims(x)])


def of_lanes(type: Attribute, lanes: int | Expr) -> Attribute:
    """The type of a value of all lanes, given the type of one. lanes: -1 or an i64 if known only at run time."""
    return types.tensor((-1 if isinstance(lanes, Expr) else lanes, *types.shape(type)), types.element_type(type))


def broadcast_like(x: Expr, dims: Sequence[int], like: Expr) -> Expr:
    """x broadcast to the shape of `like`, whose elements are not read."""
    return broadcast(x, dims, like.shape, [] if x.type == like.type else unknown_dims(like))


@op(np.reshape, cost=0, views=0, linear=True, complex=True)
class ReshapeOp(MovementOp):
    """The same elements, in row-major order, in another shape; also between a scalar and a one-element array.

    For an array of unknown sizes, only axes of size 1 may be added or dropped.
    """

    name = "nd.reshape"
    x = operand_def()
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    def is_reshape(self) -> bool:
        return True

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if result_type is None or types.element_type(result_type) != types.element_type(operands[0]):
            raise DTypeError(f"nd.reshape: element types differ: {operands[0]} and {result_type}")
        source, target = types.shape(operands[0]), types.shape(result_type)
        if not (types.is_static(operands[0]) and types.is_static(result_type)):
            if [size for size in source if size != 1] != [size for size in target if size != 1]:
                raise ShapeError(f"nd.reshape: {operands[0]} and {result_type} differ by more than axes of size 1")
        elif prod(source) != prod(target):
            raise ShapeError(f"nd.reshape: {operands[0]} does not have as many elements as {result_type}")
        return [result_type]

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        target = of_lanes(self.result.type, lanes)
        is_possible = all(map(types.is_static, (self.x.type, self.result.type))) and not isinstance(lanes, Expr)
        return [reshape(operands[0], target)] if is_possible else None

    def reference(self, x: Any) -> Any:
        unknown = iter([np.shape(x)[axis] for axis, size in enumerate(types.shape(self.x.type)) if size < 0])
        shape = [next(unknown) if size < 0 else size for size in types.shape(self.result.type)]
        shaped = np.reshape(x, shape)
        return shaped.copy() if types.is_tensor(self.result.type) else shaped[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x = source.operand(0)
        before, after = types.shape(self.x.type), types.shape(self.result.type)
        if x.thin is not None and x.thin[1] == after:
            return x.thin[0]
        if not types.is_tensor(self.x.type):
            element = types.element_type(self.x.type)
            named = {} if x.is_numpy or element in (types.F64, types.I64, types.I1) else {"dtype": dtype_name(element)}
            made = called("np.full", shape_text(after), x, **named) if after else called("np.array", x, **named)
            return replace(made, lax=x)
        if not types.is_tensor(self.result.type):
            return text(x.within(Rank.ATOM), "[", ", ".join("0" for _ in before) or "()", "]")
        axes = _thin_axes(before, after)
        if axes is None:
            return as_view(called("np.reshape", x, shape_text(after)))
        found = _indexed(x, axes) if axes else x
        if "0" in axes:
            return found
        first = next((place for place, axis in enumerate(axes) if axis == ":"), len(axes))
        thin = (x, before) if 1 not in before else x.thin
        return replace(found, thin=thin, lax=x if "None" not in axes[first:] else None)

    def shifted(self, x: Shift) -> Shift | None:
        """Known if only axes of size 1 are added or dropped."""
        source, target = types.shape(self.x.type), types.shape(self.result.type)
        before, after = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (source, target))
        if [source[axis] for axis in before] != [target[axis] for axis in after]:
            return x if not x.axes else None
        return x.along(dict(zip(before, after, strict=True)))

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return reshape(g, x.type)

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        number = types.shape(self.result.type)[:axis].count(-1)
        unknown = [place for place, size in enumerate(types.shape(self.x.type)) if size < 0]
        return self.x, unknown[number]

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, x: SSAValue) -> Sequence[SSAValue]:
        type = self.result.type
        if not isinstance(type, TensorType):
            zeros = [insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result for _ in types.shape(x.type)]
            return [insert(tensor.ExtractOp(x, zeros, types.element_type(x.type))).result]
        if not isinstance(x.type, TensorType):
            return [filled(x, types.tensor(types.shape(type), x.type))]
        return [reshaped(x, types.shape(type))]


def _thin_axes(before: Sequence[int], after: Sequence[int]) -> list[str] | None:
    """The index that drops and adds axes of size 1; None if that is not enough."""
    found: list[str] = []
    i = j = 0
    while i < len(before) or j < len(after):
        if i < len(before) and j < len(after) and before[i] == after[j]:
            found.append(":")
            i, j = i + 1, j + 1
        elif j < len(after) and after[j] == 1:
            found.append("None")
            j += 1
        elif i < len(before) and before[i] == 1:
            found.append("0")
            i += 1
        else:
            return None
    return found


def _indexed(x: NumpyText, axes: Sequence[str]) -> NumpyText:
    """A view with axes dropped and added. Whole axes at the end are omitted."""
    count = len(axes)
    while count and axes[count - 1] == ":":
        count -= 1
    return as_view(text(x.within(Rank.ATOM), "[", ", ".join(axes[:count]), "]")) if count else x


def reshape(x: Expr, type: Attribute) -> Expr:
    """x as the scalar or tensor `type`; x itself if it has that type."""
    return x if x.type == type else emit(ReshapeOp, x, result_type=type)


@op(np.transpose, cost=0, linear=True, complex=True)
class TransposeOp(MovementOp):
    """The axes in another order: result axis i is operand axis permutation[i]."""

    name = "nd.transpose"
    x = operand_def()
    permutation = prop_def(DenseArrayBase)
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        source, permutation = types.shape(operands[0]), ints(properties["permutation"])
        if sorted(permutation) != list(range(len(source))) or not types.is_tensor(operands[0]):
            raise ShapeError(f"nd.transpose: {list(permutation)} does not permute the axes of {operands[0]}")
        return [types.tensor([source[axis] for axis in permutation], types.element_type(operands[0]))]

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        return [emit(TransposeOp, operands[0], permutation=[0, *(axis + 1 for axis in ints(self.permutation))])]

    def reference(self, x: Any) -> Any:
        return np.transpose(x, ints(self.permutation)).copy()

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x, permutation = source.operand(0), ints(self.permutation)
        if permutation == tuple(reversed(range(len(permutation)))):
            return as_view(text(x.within(Rank.ATOM), ".T"))
        return as_view(called("np.transpose", x, tuple_of(permutation)))

    def shifted(self, x: Shift) -> Shift | None:
        return x.along({axis: place for place, axis in enumerate(ints(self.permutation))})

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return emit(TransposeOp, g, permutation=np.argsort(ints(self.permutation)))

    def loops(self) -> Generic:
        permutation = ints(self.permutation)
        every = tuple(range(len(permutation)))
        return Generic((tuple(permutation.index(axis) for axis in every), every), _unchanged)


@op(np.size, cost=0, shape_only=(0,), complex=True)
class DimOp(InertOp, PureOp):
    """The size of an array's axis, an i64."""

    name = "nd.dim"
    x = operand_def()
    axis = prop_def(IntegerAttr)
    result = result_def(types.I64)
    assembly_format = "$x attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        axis = properties["axis"]
        assert isinstance(axis, IntegerAttr)
        if not 0 <= axis.value.data < len(types.shape(operands[0])):
            raise ShapeError(f"nd.dim: {operands[0]} has no axis {axis.value.data}")
        return [i64]

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        return [dim(operands[0], self.axis.value.data + 1)]  # of one lane: the size is the same in all

    def reference(self, x: Any) -> Any:
        return np.int64(np.shape(x)[self.axis.value.data])

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x = source.operand(0).within(Rank.ATOM)
        if len(types.shape(self.x.type)) == 1:
            return replace(called("len", x), is_numpy=False)
        return text(x, f".shape[{self.axis.value.data}]", is_numpy=False)

    def integer(self, *operands: Interval) -> Integer:
        return intervals.size_along(self.axis.value.data)

    def loops(self) -> SizeOf:
        return SizeOf(0, self.axis.value.data)


def size_of(value: SSAValue, axis: int) -> SSAValue | tuple[SSAValue, int]:
    """The source of an unknown size: the i64 operand of an op, else the earliest array that has it, with the axis."""
    while isinstance(value, OpResult) and isinstance(value.op, NdOp) and types.shape(value.type)[axis] < 0:
        source = value.op.size_source(axis, value.index)
        if source is None:
            break
        if isinstance(source, SSAValue):
            return source
        value, axis = source
    return value, axis


def size_along(array: SSAValue, axis: int) -> Expr:
    """An unknown size, from its earliest source."""
    found = size_of(array, axis)
    return Expr(found) if isinstance(found, SSAValue) else dim(Expr(found[0]), found[1])
