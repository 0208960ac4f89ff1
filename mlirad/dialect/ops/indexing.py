"""Reading and updating elements and slices. Indices and starts are i64, checked already and not negative.

The tensors are values: an update gives a new one. Bufferization makes it a write in place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, operand_def, prop_def, result_def, var_operand_def
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from mlirad.dialect.core import intervals, types, upstream
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import InertOp, LinearOp, only
from mlirad.dialect.core.expr import Expr, constant, dim, emit, insert, insertion_point, where, zeros_like
from mlirad.dialect.core.intervals import Integer, Interval, Proofs, Values
from mlirad.dialect.core.numpy_slices import slice_text
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, assigned, choice, infix, subscript, text
from mlirad.dialect.core.op import At, Composed, Cotangent, Given, PureOp, Series, Upstream, at_order, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.elementwise import choose, compare, number, numbers
from mlirad.dialect.ops.movement import ReshapeOp, broadcast_like, of_lanes, repeated, reshape, size_along
from mlirad.errors import DTypeError, ShapeError


def as_indices(values: Sequence[SSAValue]) -> list[SSAValue]:
    """i64 values as upstream `index` values."""
    return [as_index(value) for value in values]


def as_index(value: SSAValue) -> SSAValue:
    """An i64 as an upstream `index`: what it was made of, or what was last made of it in this block, if it was."""
    owner, use = value.owner, value.first_use
    if isinstance(owner, arith.IndexCastOp):
        return owner.operands[0]
    if use is not None and isinstance(use.operation, arith.IndexCastOp):
        if use.operation.parent is insertion_point().block and insertion_point().insert_before is None:
            return use.operation.results[0]
    return insert(arith.IndexCastOp(value, IndexType())).result


def _require_array(name: str, type: Attribute, count: int) -> TensorType:
    if not isinstance(type, TensorType) or len(types.shape(type)) != count:
        raise ShapeError(f"{name}: {count} indices for {type}")
    return type


def _place(indices: Sequence[Any]) -> tuple[int, ...]:
    """The indices as NumPy takes them; it would wrap a negative one, which a reference must not."""
    place = tuple(int(index) for index in indices)
    if any(index < 0 for index in place):
        raise IndexError(f"{place} was not checked")
    return place


def _slices(
    shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int], strides: Sequence[int]
) -> tuple[slice, ...]:
    """The NumPy slices of starts, sizes and strides of an array of that shape (an end before its begin is None)."""
    result = []
    for length, start, size, stride in zip(shape, map(int, starts), sizes, strides, strict=True):
        last = start + (size - 1) * stride
        if size < 0 or (size > 0 and not (0 <= start < length and 0 <= last < length)):
            raise IndexError(f"{size} elements from {start} in steps of {stride}, of {length}: it was not checked")
        end = start + size * stride
        result.append(slice(start, end if end >= 0 else None, stride) if size else slice(0, 0, stride))
    return tuple(result)


_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


# --- elements ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Element(Subset):
    """array[places], a scalar."""

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        return tuple(map(Range, self.places))

    @property
    def shape(self) -> Hashable:
        return ()

    @property
    def axes(self) -> tuple[int | None, ...]:
        return ()

    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        return emit(ExtractOp, array, *places)

    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        return emit(InsertOp, part, array, *places)


@op(partial=(0,))
class ExtractOp(LinearOp):
    """t[i, j, ...], a scalar."""

    name = "nd.extract"
    t = operand_def()
    indices = var_operand_def(types.I64)
    result = result_def()
    assembly_format = "$t `[` $indices `]` attr-dict `:` type($t) `->` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [_require_array(cls.name, operands[0], len(operands) - 1).element_type]

    def reference(self, t: Any, *indices: Any) -> Any:
        return t[_place(indices)]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return subscript(*source.operands())

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        if any(stacked[1:]):
            return None
        t, *indices = operands
        column = extract_slice(t, [constant(0, types.I64), *indices], [lanes, *(1 for _ in indices)])
        return [reshape(column, of_lanes(self.result.type, lanes))]

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> At:
        return At(lambda accumulator: emit(AddAtOp, g, accumulator, *places))

    def subset(self) -> Subset:
        return Element(self.t, 0, self.result, tuple(self.indices))

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        return [insert(tensor.ExtractOp(t, as_indices(indices), types.element_type(t.type))).result]


class UpdateOp(PureOp):
    """An array t with a part changed by `value`: (value, t, *places).

    What is there is replaced or added to, which is linear; an op with another `CHANGE` answers for its derivatives.
    """

    CHANGE: ClassVar[Change]

    @abstractmethod
    def subset(self) -> Subset: ...

    def write(self, source: NumpySource, target: NumpyText, value: NumpyText) -> None:
        """The line that changes the part `target` of an array."""
        if self.CHANGE is Change.ADDED:
            is_less = value.negated is not None
            source.line(target, " -= " if is_less else " += ", value.negated if value.negated is not None else value)
        else:
            source.line(assigned(target, value))

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        assert self.CHANGE in (Change.REPLACED, Change.ADDED), self.name
        g, (value, _, *places) = only(gs), operands
        taken = self.taken(g, value, places)  # before the write, which is the last use of g
        kept = g if self.CHANGE is Change.ADDED else self.result_on(zeros_like(value), g, *places)
        return taken, kept, *(None for _ in places)

    def taken(self, g: Expr, value: Expr, places: Sequence[Expr]) -> Expr:
        """The cotangent of the value."""
        return self.subset().read(g, places, like=value)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        assert self.CHANGE in (Change.REPLACED, Change.ADDED), self.name
        (dvalue, dt, *_), (value, t, *places) = given, operands
        if dvalue is None and dt is None:
            return (None,)
        moved = zeros_like(value) if dvalue is None else dvalue
        return (self.result_on(moved, zeros_like(t) if dt is None else dt, *places),)

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given | None:
        return self.tangents(given, outs, operands) if self.CHANGE in (Change.REPLACED, Change.ADDED) else None

    def coefficient(self, order: int, outs: Sequence[Series], operands: Sequence[Series]) -> Given:
        return self.tangents(*at_order(order, outs, operands))


class ElementUpdateOp(UpdateOp):
    """`t` with one element changed by the scalar `value`."""

    value = operand_def()
    t = operand_def(_T)
    indices = var_operand_def(types.I64)
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $indices `]` attr-dict `:` type($value) `into` type($t)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        t = _require_array(cls.name, operands[1], len(operands) - 2)
        if t.element_type != operands[0]:
            raise DTypeError(f"{cls.name}: {operands[0]} into {t}")
        return [t]

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        value, t, *indices = operands
        if any(stacked[2:]):
            return self._batched_by_mask(operands, stacked, lanes)
        value, t = (x if is_stacked else repeated(x, lanes) for x, is_stacked in zip((value, t), stacked, strict=False))
        column = reshape(value, types.tensor((*value.shape, *(1 for _ in indices)), value.element))
        update = insert_slice if self.CHANGE is Change.REPLACED else add_slice
        return [update(column, t, [constant(0, types.I64), *indices])]

    def _batched_by_mask(
        self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr
    ) -> Sequence[Expr] | None:
        """Of a vector, an element elsewhere in each lane."""
        if len(operands) != 3 or not types.is_static(self.t.type):
            return None
        value, t, index = (x if own else repeated(x, lanes) for x, own in zip(operands, stacked, strict=True))
        places = repeated(counted(t.shape[1]), lanes)
        changed = broadcast_like(value, [0], t)
        changed = changed if self.CHANGE is Change.REPLACED else t + changed
        return [where(places == broadcast_like(index, [0], places), changed, t)]

    def subset(self) -> Subset:
        return Element(self.t, 1, self.value, tuple(self.indices), self.CHANGE)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value, t, *indices = source.operands()
        self.write(source, subscript(t, *indices), value)
        return t

    @abstractmethod
    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        """The update, in upstream ops."""


@op(overwrites=1, partial=(1,))
class InsertOp(ElementUpdateOp):
    """t with t[i, j, ...] = value."""

    name = "nd.insert"
    CHANGE: ClassVar = Change.REPLACED

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        changed = t.copy()
        changed[_place(indices)] = value
        return changed

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        return [insert(tensor.InsertOp(value, t, as_indices(indices))).result]


@op(overwrites=1)
class AddAtOp(ElementUpdateOp):
    """t with t[i, j, ...] += value."""

    name = "nd.add_at"
    CHANGE: ClassVar = Change.ADDED

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        changed = t.copy()
        changed[_place(indices)] += value
        return changed

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        places = as_indices(indices)
        old = insert(tensor.ExtractOp(t, places, types.element_type(t.type))).result
        kind = arith.AddfOp if types.is_float(value.type) else arith.AddiOp
        return [insert(tensor.InsertOp(insert(kind(old, value)).result, t, places)).result]


# --- slices -----------------------------------------------------------------------------------------------------


@irdl_custom_directive
class SlicePlace(CustomDirective):
    """`[starts]`, followed by `[lengths]` where a slice has unknown sizes."""

    places: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        square = parser.Delimiter.SQUARE
        places = parser.parse_comma_separated_list(square, parser.parse_unresolved_operand)
        lengths = parser.parse_optional_comma_separated_list(square, parser.parse_unresolved_operand)
        self.places.set(state, [*places, *(lengths or ())])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        assert isinstance(op, ExtractSliceOp)
        for group in (op.starts, op.lengths) if op.lengths else (op.starts,):
            printer.print_string("[")
            printer.print_list(group, printer.print_ssa_value)
            printer.print_string("]")
        state.last_was_punctuation = False
        state.should_emit_space = True


def _check_slice(name: str, t: Attribute, starts: int, properties: Properties) -> tuple[TensorType, tuple[int, ...]]:
    array = _require_array(name, t, starts)
    sizes, strides = ints(properties["sizes"]), ints(properties["strides"])
    if len(sizes) != starts or len(strides) != starts or any(size < -1 for size in sizes):
        raise ShapeError(f"{name}: sizes {list(sizes)} and strides {list(strides)} for {t}")
    for size, stride, length in zip(sizes, strides, types.shape(t), strict=True):
        if stride == 0 or (length >= 0 and size > 0 and (size - 1) * abs(stride) >= length):
            raise ShapeError(f"{name}: sizes {list(sizes)} with strides {list(strides)} do not fit in {t}")
    return array, sizes


@dataclass(frozen=True)
class Slice(Subset):
    """array[start : : stride] of `sizes` elements along the axes. places: the starts; of a read also the lengths, which
    are the unknown sizes (-1). Those of a write are the sizes of its value."""

    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def _lengths(self) -> Sequence[SSAValue | tuple[SSAValue, int]]:
        """The unknown sizes, in the order of their axes."""
        if self.change is Change.NONE:
            return self.places[len(self.sizes) :]
        return [(self.part, axis) for axis, size in enumerate(self.sizes) if size < 0]

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        lengths = iter(self._lengths)
        starts = self.places[: len(self.sizes)]
        return tuple(
            Range(start, next(lengths) if size < 0 else size, stride)
            for start, size, stride in zip(starts, self.sizes, self.strides, strict=True)
        )

    @property
    def shape(self) -> Hashable:
        return self.sizes, self.strides, () if self.change is Change.NONE else tuple(self._lengths)

    @property
    def axes(self) -> tuple[int | None, ...]:
        return tuple(range(len(self.sizes)))

    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        if self.change is not Change.NONE:
            value = Expr(self.part) if like is None else like
            places = [*places, *(dim(value, axis) for axis, size in enumerate(self.sizes) if size < 0)]
        return emit(ExtractSliceOp, array, *places, sizes=self.sizes, strides=self.strides)

    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        starts = places[: len(self.sizes)]
        return emit(InsertSliceOp, part, array, *starts, sizes=self.sizes, strides=self.strides)


@op(cost=0, views=0, partial=(0,))
class ExtractSliceOp(LinearOp):
    """t[start : : stride] of `sizes` elements along the axes (-1: the next of the lengths); strides may be negative."""

    name = "nd.extract_slice"
    t = operand_def()
    places = var_operand_def(types.I64)
    sizes = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    result = result_def()
    custom_directives = (SlicePlace,)
    assembly_format = "$t custom<SlicePlace>($places) attr-dict `:` type($t) `->` type($result)"

    @property
    def starts(self) -> Sequence[SSAValue]:
        return self.places[: len(ints(self.sizes))]

    @property
    def lengths(self) -> Sequence[SSAValue]:
        """The unknown sizes, in the order of their axes."""
        return self.places[len(ints(self.sizes)) :]

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        unknown = ints(properties["sizes"]).count(-1)
        array, sizes = _check_slice(cls.name, operands[0], len(operands) - 1 - unknown, properties)
        return [types.tensor(sizes, array.element_type)]

    def reference(self, t: Any, *places: Any) -> Any:
        sizes = ints(self.sizes)
        lengths = iter(places[len(sizes) :])
        known = [int(next(lengths)) if size < 0 else size for size in sizes]
        return t[_slices(t.shape, places[: len(sizes)], known, ints(self.strides))].copy()

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return slice_text(source, 0, ints(self.sizes), list(self.starts), list(self.lengths), ints(self.strides))

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        if any(stacked[1:]):
            return None
        t, *places = operands
        sizes = ints(self.sizes)
        lengths = iter(places[len(sizes) :])
        known = [next(lengths) if size < 0 else size for size in sizes]
        starts = [constant(0, types.I64), *places[: len(sizes)]]
        return [extract_slice(t, starts, [lanes, *known], [1, *ints(self.strides)])]

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> At:
        starts = places[: len(ints(self.sizes))]

        def add(accumulator: Expr) -> Expr:
            return emit(AddSliceOp, g, accumulator, *starts, sizes=self.sizes, strides=self.strides)

        return At(add)

    def subset(self) -> Subset:
        return Slice(self.t, 0, self.result, tuple(self.places), sizes=ints(self.sizes), strides=ints(self.strides))

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        return self.lengths[ints(self.sizes)[:axis].count(-1)]

    def part_of(self, axis: int) -> tuple[SSAValue, int | None, int] | None:
        return self.t, axis, abs(ints(self.strides)[axis])

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, *places: SSAValue) -> Sequence[SSAValue]:
        sizes = ints(self.sizes)
        result = types.tensor(sizes, types.element_type(t.type))
        indices = as_indices(places)
        starts, lengths = indices[: len(sizes)], iter(indices[len(sizes) :])
        known = [next(lengths) if size < 0 else size for size in sizes]
        return [insert(upstream.extract_slice(t, starts, known, ints(self.strides), result)).result]


def extract_slice(
    t: Expr, starts: Sequence[Expr], sizes: Sequence[int | Expr], strides: Sequence[int] | None = None
) -> Expr:
    """The slice of t, from `starts` on, with `sizes` (an i64 where it is not static) elements along the axes."""
    lengths = [size for size in sizes if isinstance(size, Expr)]
    static = [-1 if isinstance(size, Expr) else size for size in sizes]
    return emit(ExtractSliceOp, t, *starts, *lengths, sizes=static, strides=strides or [1] * len(static))


def insert_slice(value: Expr, t: Expr, starts: Sequence[Expr], strides: Sequence[int] | None = None) -> Expr:
    """t with the slice from `starts` on, of the sizes of `value`, replaced by it."""
    return emit(InsertSliceOp, value, t, *starts, sizes=value.shape, strides=strides or [1] * len(value.shape))


def add_slice(value: Expr, t: Expr, starts: Sequence[Expr], strides: Sequence[int] | None = None) -> Expr:
    """t with `value` added to the slice from `starts` on, of its sizes."""
    return emit(AddSliceOp, value, t, *starts, sizes=value.shape, strides=strides or [1] * len(value.shape))


class SliceUpdateOp(UpdateOp):
    """`t` with a slice changed by the array `value`, whose shape is the slice's, unknown sizes (-1) included."""

    value = operand_def()
    t = operand_def(_T)
    starts = var_operand_def(types.I64)
    sizes = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $starts `]` attr-dict `:` type($value) `into` type($t)"

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        value, t, *starts = operands
        if any(stacked[2:]):
            return None
        value, t = (x if is_stacked else repeated(x, lanes) for x, is_stacked in zip((value, t), stacked, strict=False))
        update = insert_slice if self.CHANGE is Change.REPLACED else add_slice
        return [update(value, t, [constant(0, types.I64), *starts], [1, *ints(self.strides)])]

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        array, sizes = _check_slice(cls.name, operands[1], len(operands) - 2, properties)
        if operands[0] != types.tensor(sizes, array.element_type):
            raise ShapeError(f"{cls.name}: {operands[0]} into a slice {list(sizes)} of {array}")
        return [array]

    def subset(self) -> Subset:
        sizes, strides = ints(self.sizes), ints(self.strides)
        return Slice(self.t, 1, self.value, tuple(self.starts), self.CHANGE, sizes, strides)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value, t = source.operand(0), source.operand(1)
        sizes = ints(self.sizes)
        unknown = [(self.value, axis) for axis, size in enumerate(sizes) if size < 0]
        target = slice_text(source, 1, sizes, list(self.starts), unknown, ints(self.strides))
        assert target.thin is not None
        if value.thin is not None and value.thin[1] == target.thin[1]:
            target, value = target.thin[0], value.thin[0]
        if target.parts == t.parts:
            target = subscript(t, text(":"))
        value = value if value.lax is None else value.lax
        if self._is_overtaken(value, t):
            value = text(value.within(Rank.ATOM), ".copy()")
        self.write(source, target, value)
        return t

    def _is_overtaken(self, value: NumpyText, t: NumpyText) -> bool:
        """Whether NumPy may read what it has just written: of a view of t itself along one axis, in other steps."""
        own = {part for part in t.parts if not isinstance(part, str)}
        is_view = not value.is_new and not own.isdisjoint(part for part in value.parts if not isinstance(part, str))
        source = self.value.owner
        in_step = isinstance(source, ExtractSliceOp) and ints(source.strides) == ints(self.strides)
        return self.CHANGE is Change.REPLACED and is_view and not in_step

    def _reference_slices(self, value: Any, t: Any, starts: Sequence[Any]) -> tuple[slice, ...]:
        return _slices(t.shape, starts, value.shape, ints(self.strides))


@op(overwrites=1, partial=(1,))
class InsertSliceOp(SliceUpdateOp):
    """t with t[slice] = value."""

    name = "nd.insert_slice"
    CHANGE: ClassVar = Change.REPLACED

    def reference(self, value: Any, t: Any, *starts: Any) -> Any:
        changed = t.copy()
        changed[self._reference_slices(value, t, starts)] = value
        return changed

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, value: SSAValue, t: SSAValue, *starts: SSAValue) -> Sequence[SSAValue]:
        part, sizes = upstream.without_thin_axes(value), upstream.sizes_of(value)
        return [insert(upstream.insert_slice(part, t, as_indices(starts), sizes, ints(self.strides))).result]


@op(overwrites=1)
class AddSliceOp(SliceUpdateOp):
    """t with t[slice] += value."""

    name = "nd.add_slice"
    CHANGE: ClassVar = Change.ADDED

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [numbers(cls.name, type) for type in super().infer(operands, properties, result_type)]

    def reference(self, value: Any, t: Any, *starts: Any) -> Any:
        changed = t.copy()
        changed[self._reference_slices(value, t, starts)] += value
        return changed

    def loops(self) -> Composed:
        return Composed(self._parts)

    def _parts(self, value: Expr, t: Expr, *starts: Expr) -> Sequence[Expr]:
        part = _without_thin_axes(value)
        sizes = [size if size >= 0 else size_along(value.value, axis) for axis, size in enumerate(value.shape)]
        old = extract_slice(t, starts, sizes, ints(self.strides))
        total = reshape(old, part.type) + part
        return [emit(InsertSliceOp, reshape(total, value.type), t, *starts, sizes=self.sizes, strides=self.strides)]


def _without_thin_axes(value: Expr) -> Expr:
    """The array that a reshape has only given axes of size 1, for a slice's sake; else the value."""
    owner = value.value.owner
    if not isinstance(owner, ReshapeOp) or not 0 < len(types.shape(owner.x.type)) < len(value.shape):
        return value
    one, other = ([size for size in shape if size != 1] for shape in (types.shape(owner.x.type), value.shape))
    return Expr(owner.x) if one == other else value


# --- indices ----------------------------------------------------------------------------------------------------


@op(cost=0)
class WrapIndexOp(InertOp, PureOp):
    """i, or i + size if i is negative."""

    name = "nd.wrap_index"
    index = operand_def(types.I64)
    size = operand_def(types.I64)
    result = result_def(types.I64)
    assembly_format = "$index `,` $size attr-dict"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [i64]

    def reference(self, index: Any, size: Any) -> Any:
        return np.int64(index + size if index < 0 else index)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return wrapped_text(source)

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset({0})

    def loops(self) -> Upstream:
        return Upstream(wrap_index)

    def integer(self, *operands: Interval) -> Integer:
        return intervals.wrapped_index(*operands)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        position = proofs.sum_of(self.index)
        if proofs.is_never_negative(position):
            return [self.index]
        is_negative = proofs.is_never_negative(position.scaled(-1).shifted(-1))
        return [(Expr(self.index) + Expr(self.size)).value] if is_negative else None

    def established(self, proofs: Proofs) -> Sequence[Values]:
        """The result is in range, if the index is known to be."""
        length, result = proofs.sum_of(self.size), proofs.sum_of(self.result)
        is_known = is_in_range(proofs, proofs.sum_of(self.index), length)
        return (result, length.shifted(-1) - result) if is_known else ()


def wrapped_text(source: NumpySource) -> NumpyText:
    """The index of an op on an index and a size, counted from the beginning."""
    index, size = source.operands()
    is_negative = infix(index, "<", text("0", is_numpy=False), Rank.COMPARISON)
    return choice(is_negative, infix(index, "+", size, Rank.SUM), index)


def is_in_range(proofs: Proofs, position: Values, length: Values) -> bool:
    """Whether it is proved that -length <= position < length."""
    is_below = proofs.is_never_negative((length - position).shifted(-1))
    return is_below and (proofs.is_never_negative(position) or proofs.is_never_negative(position + length))


def wrap_index(index: SSAValue, size: SSAValue) -> Sequence[SSAValue]:
    wrapped = insert(arith.AddiOp(index, size)).result
    return [choose(compare("slt", index, number(0, i64)), wrapped, index)]
