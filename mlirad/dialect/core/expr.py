"""IR values with NumPy's operators: derivative rules and loops are written in this layer.

An `Expr` represents an SSA value. An operator or a NumPy function applied to it emits the corresponding op, at the
current insertion point (`building`) and with the current location (`located`). There is no promotion, and only numbers
and scalars are broadcast: mixed element types raise a DTypeError.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import dense, name_of_constant
from mlirad.dialect.core.registry import TypedOp, op_of
from mlirad.errors import DTypeError, ShapeError
from mlirad.location import SourceLocation

OpT = TypeVar("OpT", bound=Operation)
Number = int | float | complex | bool | np.generic


Location = LocationAttr | SourceLocation | None


class _Context(threading.local):
    point: InsertPoint | None = None
    location: Location = None


_context = _Context()


class building:
    """Inside this context, ops are emitted at `where` (for a block: at its end)."""

    __slots__ = ("point", "saved")

    def __init__(self, where: InsertPoint | Block):
        self.point = InsertPoint.at_end(where) if isinstance(where, Block) else where

    def __enter__(self) -> None:
        self.saved = _context.point
        _context.point = self.point

    def __exit__(self, *_error: object) -> None:
        _context.point = self.saved


def swap_location(location: Location) -> Location:
    """Emit ops with this location from now on. Returns the previous location."""
    saved = _context.location
    _context.location = location
    return saved


class located:
    """Inside this context, ops are emitted with `location`."""

    __slots__ = ("location",)

    def __init__(self, location: Location):
        self.location = location

    def __enter__(self) -> None:
        self.location = swap_location(self.location)

    def __exit__(self, *_error: object) -> None:
        _context.location = self.location


class emitting:
    """Inside this context, ops are emitted at `point`, with `location`."""

    __slots__ = ("location", "point")

    def __init__(self, point: InsertPoint, location: Location):
        self.point, self.location = point, location

    def __enter__(self) -> None:
        context = _context
        self.point, context.point = context.point, self.point
        self.location, context.location = context.location, self.location

    def __exit__(self, *_error: object) -> None:
        _context.point, _context.location = self.point, self.location


def current_location() -> LocationAttr:
    location = _context.location
    if location is None or isinstance(location, SourceLocation):
        # Created here and not earlier: most source locations emit nothing.
        location = _context.location = types.to_location(location)
    return location


def insertion_point() -> InsertPoint:
    if _context.point is None:
        raise RuntimeError("ops can be emitted only inside `with building(...)`")
    return _context.point


def insert(op: OpT) -> OpT:
    """Insert an existing op at the insertion point, with the current location."""
    op.location = current_location()
    return _placed(op)


def _placed(op: OpT) -> OpT:
    point = insertion_point()
    if point.insert_before is None:
        point.block.add_op(op)
    else:
        point.block.insert_op_before(op, point.insert_before)
    return op


def emit(
    op_class: type[TypedOp], *operands: Expr | SSAValue, result_type: Attribute | None = None, **attributes: Any
) -> Expr:
    """Emit an op with one result, and return the result; see `emit_all`."""
    (result,) = emit_all(op_class, *operands, result_type=result_type, **attributes)
    return result


def emit_all(
    op_class: type[TypedOp], *operands: Expr | SSAValue, result_type: Attribute | None = None, **attributes: Any
) -> tuple[Expr, ...]:
    """Emit an op, and return its results; their types come from its type rule.

    result_type is for the ops whose operands do not determine it (cast, broadcast, reshape, full).
    Raises ShapeError or DTypeError, without a location, if the type rule rejects the operands.
    """
    values = [operand.value if isinstance(operand, Expr) else operand for operand in operands]
    properties = op_class.properties_of(attributes)
    op_class.require_taken([value.type for value in values])
    results = op_class.infer([value.type for value in values], properties, result_type)
    place = current_location()
    op = _placed(op_class.create(operands=values, result_types=results, properties=properties, location=place))
    return tuple([Expr(result) for result in op.results])


def constant(value: Any, type: Attribute) -> Expr:
    """A constant: `value` (a number, or an array of the type's shape) as a scalar or tensor of `type`."""
    if types.is_tensor(type) and np.ndim(value) == 0:
        return full(constant(value, types.element_type(type)), types.shape(type))  # costs nothing, whatever its size
    attribute = dense(value, type)
    (result,) = insert(op_of(np.array).create(properties={"value": attribute}, result_types=[type])).results
    result.name_hint = name_of_constant(attribute)
    return Expr(result)


def full(value: Expr, shape: Sequence[int], sizes: Sequence[Expr] = ()) -> Expr:
    """An array of shape `shape` (-1: the next of `sizes`, an i64), filled with `value`."""
    return emit(op_of(np.full), value, *sizes, result_type=types.tensor(shape, value.element))


def zeros_like(x: Expr) -> Expr:
    """Zeros with the type of x, and its run-time shape if a size is unknown."""
    zero = constant(0, x.element)
    return broadcast_scalar(zero, x) if x.is_tensor else zero


def ones_like(x: Expr) -> Expr:
    """Ones, with the type and shape of x as in `zeros_like`."""
    one = constant(1, x.element)
    return broadcast_scalar(one, x) if x.is_tensor else one


def broadcast_scalar(x: Expr, like: Expr) -> Expr:
    """An array filled with the scalar x, in the shape of `like`, unknown sizes included."""
    return full(x, like.shape, unknown_dims(like))


def dim(x: Expr, axis: int) -> Expr:
    """The size of an axis, an i64."""
    return emit(op_of(np.size), x, axis=axis) if x.shape[axis] < 0 else constant(x.shape[axis], types.I64)


def unknown_dims(x: Expr) -> list[Expr]:
    """The unknown sizes of x, in the order of their axes."""
    return [dim(x, axis) for axis, size in enumerate(x.shape) if size < 0]


def sum_of(x: Expr, axes: Sequence[int] | None = None) -> Expr:
    """The sum of x over axes (by default all of them); x itself if there are none."""
    axes = range(len(x.shape)) if axes is None else axes
    if not x.is_tensor or (len(axes) == 0 and len(x.shape) > 0):
        return x
    return emit(op_of(np.sum), x, axes=axes)


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """An SSA value with NumPy's operators."""

    value: SSAValue

    @property
    def type(self) -> Attribute:
        return self.value.type

    @property
    def element(self) -> Attribute:
        return types.element_type(self.value.type)

    @property
    def shape(self) -> tuple[int, ...]:
        return types.shape(self.value.type)

    @property
    def is_tensor(self) -> bool:
        return types.is_tensor(self.value.type)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        return apply(ufunc, *inputs)

    def __add__(self, other: Expr | Number) -> Expr:
        return apply(np.add, self, other)

    def __radd__(self, other: Number) -> Expr:
        return apply(np.add, other, self)

    def __sub__(self, other: Expr | Number) -> Expr:
        return apply(np.subtract, self, other)

    def __rsub__(self, other: Number) -> Expr:
        return apply(np.subtract, other, self)

    def __mul__(self, other: Expr | Number) -> Expr:
        return apply(np.multiply, self, other)

    def __rmul__(self, other: Number) -> Expr:
        return apply(np.multiply, other, self)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return apply(np.divide, self, other)

    def __rtruediv__(self, other: Number) -> Expr:
        return apply(np.divide, other, self)

    def __pow__(self, other: Expr | Number) -> Expr:
        return apply(np.power, self, other)

    def __neg__(self) -> Expr:
        return apply(np.negative, self)

    def __lt__(self, other: Expr | Number) -> Expr:
        return apply(np.less, self, other)

    def __le__(self, other: Expr | Number) -> Expr:
        return apply(np.less_equal, self, other)

    def __gt__(self, other: Expr | Number) -> Expr:
        return apply(np.greater, self, other)

    def __ge__(self, other: Expr | Number) -> Expr:
        return apply(np.greater_equal, self, other)

    def __eq__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]  # as NumPy's
        return apply(np.equal, self, other)

    def __ne__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]  # as NumPy's
        return apply(np.not_equal, self, other)

    def __and__(self, other: Expr) -> Expr:
        return apply(np.logical_and, self, other)

    def __or__(self, other: Expr) -> Expr:
        return apply(np.logical_or, self, other)

    def __invert__(self) -> Expr:
        return apply(np.logical_not, self)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # nothing says which are equal

    def __bool__(self) -> NoReturn:
        # Known only at run time: `p == q` of an Expr is an op, which would be true in an `if`.
        raise TypeError("the truth of an IR value is not known while compiling")


def same_type(*inputs: Any) -> list[Expr]:
    """The inputs, with numbers made constants and scalars broadcast, in the type of the widest Expr among them."""
    if len(inputs) == 2:
        x, y = inputs
        if isinstance(x, Expr) and isinstance(y, Expr) and x.value.type is y.value.type:
            return [x, y]
    widest = max((x for x in inputs if isinstance(x, Expr)), key=lambda x: x.is_tensor)
    unified: list[Expr] = []
    for x in inputs:
        if not isinstance(x, Expr):
            x = constant(x, widest.element)
        if x.element != widest.element:
            raise DTypeError(f"element types differ: {x.element} and {widest.element}")
        if widest.is_tensor and not x.is_tensor:
            x = broadcast_scalar(x, widest)
        if x.shape != widest.shape:
            raise ShapeError(f"shapes differ: {x.shape} and {widest.shape}")
        unified.append(x)
    return unified


def apply(function: np.ufunc, *inputs: Any) -> Expr:
    """Emit the elementwise op for a NumPy function."""
    return emit(op_of(function), *same_type(*inputs))


def where(condition: Expr, x: Expr | Number, y: Expr | Number) -> Expr:
    """`np.where(condition, x, y)`: x and y have one type, condition is bool; a scalar condition is broadcast."""
    x, y = same_type(x, y)
    if x.is_tensor and not condition.is_tensor:
        condition = broadcast_scalar(condition, x)
    return emit(op_of(np.where), condition, x, y)


def integers(values: Sequence[int]) -> list[Expr]:
    """i64 constants."""
    return [constant(value, types.I64) for value in values]
