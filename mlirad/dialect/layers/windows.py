"""Windows of an array, and sums of windows: with products and sums they express convolutions and pooling.

Axis r of an array of windows runs along axis `axes[r]` of the array, in steps of `steps[r]`. Each op is the other's
transpose. All sizes are static.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, TensorType
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import operand_def, prop_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import LinearOp
from mlirad.dialect.core.expr import Expr, building, emit, insert
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, tuple_of
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import number, scalar_op
from mlirad.dialect.core.upstream import empty, filled, segments
from mlirad.dialect.ops.elementwise import numbers
from mlirad.dialect.ops.movement import of_lanes
from mlirad.errors import DTypeError, ShapeError
from mlirad.library.nn.windowing import check_windows, overlap, windows


class WindowingOp(LinearOp):
    """An op between an array and its windows."""

    axes = prop_def(DenseArrayBase)
    steps = prop_def(DenseArrayBase)

    @classmethod
    def require_windows(cls, array: Attribute, parts: Attribute, properties: Properties) -> None:
        """Raises ShapeError or DTypeError unless `parts` are windows of `array`."""
        if not types.is_static(array) or not types.is_static(parts):
            raise ShapeError(f"{cls.name}: the sizes of {array} and {parts} must be known")
        if types.element_type(array) != types.element_type(parts):
            raise DTypeError(f"{cls.name}: element types differ: {array} and {parts}")
        try:
            check_windows(types.shape(array), ints(properties["axes"]), ints(properties["steps"]), types.shape(parts))
        except ValueError as error:
            raise ShapeError(f"{cls.name}: {error}") from None

    @classmethod
    def required(cls, asked: Attribute | None) -> TensorType:
        if not isinstance(asked, TensorType):
            raise ShapeError(f"{cls.name}: the result {asked} is not an array")
        return asked

    def numpy_source(self, source: NumpySource) -> NumpyText:
        given = (ints(self.axes), ints(self.steps), types.shape(self.results[0].type))
        return source.called(self.spellings[0], source.operand(0), *map(tuple_of, given))

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        if isinstance(lanes, Expr):
            return None  # all sizes are static
        axes, steps = [0, *(axis + 1 for axis in ints(self.axes))], [1, *ints(self.steps)]
        asked = of_lanes(self.results[0].type, lanes)
        return [emit(type(self), operands[0], axes=axes, steps=steps, result_type=asked)]

    def places(self, parts: Attribute, rank: int) -> tuple[AffineMap, AffineMap]:
        """The affine maps of a window element: its index in the array, of that rank, and its index in the windows."""
        count = len(types.shape(parts))
        found: list[AffineExpr] = [AffineConstantExpr(0)] * rank
        for r, (axis, step) in enumerate(zip(ints(self.axes), ints(self.steps), strict=True)):
            term = AffineDimExpr(r) if step == 1 else AffineDimExpr(r) * step
            held = found[axis]
            found[axis] = term if isinstance(held, AffineConstantExpr) else held + term
        return AffineMap(count, 0, tuple(found)), AffineMap.identity(count)


def _generic(
    source: SSAValue, out: SSAValue, maps: Sequence[AffineMap], shared: Sequence[bool], body: Block
) -> SSAValue:
    """shared: for each loop, whether its points may write the same element."""
    kinds = [IteratorType.REDUCTION if each else IteratorType.PARALLEL for each in shared]
    op = GenericOp.create(
        operands=[source, out],
        result_types=[out.type],
        properties={
            "indexing_maps": ArrayAttr([AffineMapAttr(each) for each in maps]),
            "iterator_types": ArrayAttr([IteratorTypeAttr(kind) for kind in kinds]),
            "operandSegmentSizes": segments(1, 1),
        },
        regions=[Region(body)],
    )
    return insert(op).results[0]


def _body(element: Attribute) -> Block:
    return Block(arg_types=[element, element])


@op(windows, cost=0, linear=True, partial=(0,))
class WindowsOp(WindowingOp):
    """y[j] = x[i], where i[axes[r]] is the sum of steps[r] * j[r]."""

    name = "nd.windows"
    x = operand_def()
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        asked = cls.required(result_type)
        cls.require_windows(operands[0], asked, properties)
        return [asked]

    def reference(self, x: Any) -> Any:
        return windows(x, ints(self.axes), ints(self.steps), types.shape(self.result.type))

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return emit(OverlapOp, g, axes=ints(self.axes), steps=ints(self.steps), result_type=x.type)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, x: SSAValue) -> Sequence[SSAValue]:
        type = types.signless(self.result.type)
        body = _body(types.element_type(type))
        with building(body):
            insert(YieldOp.create(operands=body.args[:1]))
        maps = self.places(type, len(types.shape(x.type)))
        return [_generic(x, empty(type), maps, [False] * maps[0].num_dims, body)]


@op(overlap, linear=True, arithmetic=True)
class OverlapOp(WindowingOp):
    """x[i] = the sum of all y[j] where i[axes[r]] is the sum of steps[r] * j[r]."""

    name = "nd.overlap"
    y = operand_def()
    result = result_def()
    assembly_format = "$y attr-dict `:` type($y) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        asked = cls.required(result_type)
        numbers(cls.name, operands[0])
        cls.require_windows(asked, operands[0], properties)
        return [asked]

    def reference(self, y: Any) -> Any:
        return overlap(y, ints(self.axes), ints(self.steps), types.shape(self.result.type))

    def sums_from_zero(self) -> bool:
        return True

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return emit(WindowsOp, g, axes=ints(self.axes), steps=ints(self.steps), result_type=x.type)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, y: SSAValue) -> Sequence[SSAValue]:
        type = types.signless(self.result.type)
        element = types.element_type(type)
        body = _body(element)
        with building(body):
            kind = arith.AddfOp if types.is_float(element) else arith.AddiOp
            insert(YieldOp.create(operands=[scalar_op(kind, body.args[1], body.args[0])]))
        into, each = self.places(y.type, len(types.shape(type)))
        axes = ints(self.axes)
        shared = [axes.count(axis) > 1 for axis in axes]
        return [_generic(y, filled(number(0, element), type), (each, into), shared, body)]
