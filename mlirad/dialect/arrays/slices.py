"""Reads and updates of slices. Starts are i64, already checked, and not negative.

The tensors are values: an update returns a new tensor. Bufferization turns it into a write in place.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
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

from mlirad.dialect.arrays.update_op import UpdateOp, require_array
from mlirad.dialect.core import types, upstream
from mlirad.dialect.core.answers import At, Composed, Upstream
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import LinearOp
from mlirad.dialect.core.expr import Expr, constant, dim, emit, insert
from mlirad.dialect.core.numpy_slices import slice_text
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, subscript, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.core.upstream import as_indices
from mlirad.dialect.ops.elementwise import numbers
from mlirad.dialect.ops.movement import ReshapeOp, repeated, reshape, size_along
from mlirad.errors import ShapeError

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


def _slices(
    shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int], strides: Sequence[int]
) -> tuple[slice, ...]:
    """The NumPy slices of starts, sizes and strides in an array of that shape (an end before index 0 becomes None)."""
    result = []
    for length, start, size, stride in zip(shape, map(int, starts), sizes, strides, strict=True):
        last = start + (size - 1) * stride
        if size < 0 or (size > 0 and not (0 <= start < length and 0 <= last < length)):
            raise IndexError(f"{size} elements from {start}, step {stride}, do not fit in {length}: not checked")
        end = start + size * stride
        result.append(slice(start, end if end >= 0 else None, stride) if size else slice(0, 0, stride))
    return tuple(result)


@irdl_custom_directive
class SlicePlace(CustomDirective):
    """`[starts]`, followed by `[lengths]` if a slice has unknown sizes."""

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
    array = require_array(name, t, starts)
    sizes, strides = ints(properties["sizes"]), ints(properties["strides"])
    if len(sizes) != starts or len(strides) != starts or any(size < -1 for size in sizes):
        raise ShapeError(f"{name}: sizes {list(sizes)} and strides {list(strides)} for {t}")
    for size, stride, length in zip(sizes, strides, types.shape(t), strict=True):
        if stride == 0 or (length >= 0 and size > 0 and (size - 1) * abs(stride) >= length):
            raise ShapeError(f"{name}: sizes {list(sizes)} with strides {list(strides)} do not fit in {t}")
    return array, sizes


@dataclass(frozen=True)
class Slice(Subset):
    """array[start : : stride], with `sizes` elements along the axes. places: the starts; for a read also the lengths,
    which are the unknown sizes (-1). The lengths of a write are the sizes of its value."""

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


@op(cost=0, views=0, partial=(0,), complex=True)
class ExtractSliceOp(LinearOp):
    """t[start : : stride], with `sizes` elements along the axes (-1: the next of the lengths). Strides may be
    negative."""

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
    """The slice of t that begins at `starts` and has `sizes` elements along the axes (an i64 if the size is not
    static)."""
    lengths = [size for size in sizes if isinstance(size, Expr)]
    static = [-1 if isinstance(size, Expr) else size for size in sizes]
    return emit(ExtractSliceOp, t, *starts, *lengths, sizes=static, strides=strides or [1] * len(static))


def insert_slice(value: Expr, t: Expr, starts: Sequence[Expr], strides: Sequence[int] | None = None) -> Expr:
    """t with the slice that begins at `starts`, with the sizes of `value`, replaced by `value`."""
    return emit(InsertSliceOp, value, t, *starts, sizes=value.shape, strides=strides or [1] * len(value.shape))


def add_slice(value: Expr, t: Expr, starts: Sequence[Expr], strides: Sequence[int] | None = None) -> Expr:
    """t with `value` added to the slice that begins at `starts` and has the sizes of `value`."""
    return emit(AddSliceOp, value, t, *starts, sizes=value.shape, strides=strides or [1] * len(value.shape))


class SliceUpdateOp(UpdateOp):
    """`t` with a slice changed, using the array `value`. They have the same shape, including unknown sizes (-1)."""

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
        """Whether NumPy may read elements just written: `value` is a view of t along one axis, with a different
        stride."""
        own = {part for part in t.parts if not isinstance(part, str)}
        is_view = not value.is_new and not own.isdisjoint(part for part in value.parts if not isinstance(part, str))
        source = self.value.owner
        in_step = isinstance(source, ExtractSliceOp) and ints(source.strides) == ints(self.strides)
        return self.CHANGE is Change.REPLACED and is_view and not in_step

    def _reference_slices(self, value: Any, t: Any, starts: Sequence[Any]) -> tuple[slice, ...]:
        return _slices(t.shape, starts, value.shape, ints(self.strides))


@op(overwrites=1, partial=(1,), complex=True)
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


@op(overwrites=1, complex=True)
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
        part = without_thin_axes(value)
        sizes = [size if size >= 0 else size_along(value.value, axis) for axis, size in enumerate(value.shape)]
        old = extract_slice(t, starts, sizes, ints(self.strides))
        total = reshape(old, part.type) + part
        return [emit(InsertSliceOp, reshape(total, value.type), t, *starts, sizes=self.sizes, strides=self.strides)]


def without_thin_axes(value: Expr) -> Expr:
    """The array before a reshape that only adds axes of size 1 for a slice; other values unchanged."""
    owner = value.value.owner
    if not isinstance(owner, ReshapeOp) or not 0 < len(types.shape(owner.x.type)) < len(value.shape):
        return value
    one, other = ([size for size in shape if size != 1] for shape in (types.shape(owner.x.type), value.shape))
    return Expr(owner.x) if one == other else value
