"""Stores only one slice of an array whose slices along an axis are all equal.

Reads: nd and scf. Writes: the same reads and writes, of arrays with one element along that axis; each read is
broadcast. Leaves: arrays that an op uses as a whole or by single elements, and arrays that do not begin as filled.

The factors of a tridiagonal matrix, computed for many right-hand sides at once, are the same for all of them:
`p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)`. An array has equal slices if it begins as a filled one and all values
that are written to it have equal slices: broadcast numbers, reads of such arrays, and what elementwise ops compute
from these. Elements that no op reads may be anything; here these are the first and the last row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from mlirad.analysis.constants import is_number, known_number
from mlirad.dialect.arrays.elements import AddAtOp, ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.expr import Expr, constant, emit, full
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.subset import Change, Subset
from mlirad.dialect.ops.movement import broadcast, reshape
from mlirad.lowering.layouts.sliced_arrays import SlicedArray, SlicedArrays, filled_as, is_element, slice_at
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.effects import only_computes


@dataclass(frozen=True)
class NarrowArrays(ModulePass):
    """Store equal slices once.

    Before:

        func.func @f(%x: f64, %j: i64) -> tensor<9x1xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %p = nd.full %x : f64 to tensor<9x7xf64>
          %part = nd.broadcast %x {dims = array<i64>} : f64 to tensor<9x1xf64>
          %q = nd.insert_slice %part, %p[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
              : tensor<9x1xf64> into tensor<9x7xf64>
          %y = nd.extract_slice %q[%c0, %c0] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
              : tensor<9x7xf64> -> tensor<9x1xf64>
          func.return %y : tensor<9x1xf64>
        }

    After `mlirad-narrow-arrays`:

        func.func @f(%x: f64, %j: i64) -> tensor<9x1xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %0 = nd.broadcast %x {dims = array<i64>} : f64 to tensor<1x1xf64>
          %part = nd.broadcast %x {dims = array<i64>} : f64 to tensor<9x1xf64>
          %p = nd.full %x : f64 to tensor<1x7xf64>
          %1 = nd.reshape %0 : tensor<1x1xf64> to f64
          %q = nd.insert %1, %p[%c0, %j] : f64 into tensor<1x7xf64>
          %2 = nd.extract %q[%c0, %c0] : tensor<1x7xf64> -> f64
          %y = nd.full %2 : f64 to tensor<9x1xf64>
          func.return %y : tensor<9x1xf64>
        }
    """

    name = "mlirad-narrow-arrays"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        narrow_arrays(op)


def narrow_arrays(module: ModuleOp) -> bool:
    """Run the pass. Returns whether it found an array."""
    found = _EqualSlices(list(filter(_is_seen_by_slices, SlicedArrays(module).found())))
    arrays = [(array, axes) for array in found.arrays if (axes := found.axes_of(array))]
    for array, axes in arrays:
        _narrow_values(array, axes)
    # Written values are computed from values that are read, so narrow the reads first.
    for array, axes in arrays:
        for op in array.accesses:
            if slice_at(op).change is Change.NONE:
                _narrow_read(op, axes)
    for array, axes in arrays:
        for op in array.accesses:
            if slice_at(op).change is not Change.NONE:
                _narrow_write(op, axes)
    return bool(arrays)


# --- which arrays -------------------------------------------------------------------------------------------------


def _is_seen_by_slices(array: SlicedArray) -> bool:
    has_elements = any(is_element(slice_at(op)) for op in array.accesses)
    return bool(array.accesses) and not has_elements and not array.made and not array.uses


@dataclass
class _EqualSlices:
    """The axes along which the slices of arrays are equal.

    They are found by a fixpoint: at first all axes that the places allow, without those that are refuted.
    """

    arrays: list[SlicedArray]
    _axes: dict[int, set[int]] = field(default_factory=dict)
    _of_read: dict[SSAValue, SlicedArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in self.arrays:
            places = [slice_at(op) for op in array.accesses]
            rank = len(types.shape(array.values[0].type))
            self._axes[id(array)] = {axis for axis in range(rank) if _covers(places, axis)}
            self._of_read |= {place.part: array for place in places if place.change is Change.NONE}
        changed = True
        while changed:
            changed = sum(map(self._drop_unequal, self.arrays)) > 0

    def axes_of(self, array: SlicedArray) -> list[int]:
        return sorted(self._axes[id(array)])

    def _drop_unequal(self, array: SlicedArray) -> bool:
        """Drop the axes along which a written value is not constant. Returns whether there were any."""
        axes = self._axes[id(array)]
        written = [place.part for op in array.accesses if (place := slice_at(op)).change is not Change.NONE]
        unequal = {axis for axis in axes for part in written if not self._is_constant(part, axis)}
        axes -= unequal
        return bool(unequal)

    def _is_constant(self, value: SSAValue, axis: int) -> bool:
        """Whether the elements of a value are constant along an axis."""
        pending, seen = [(value, axis)], set[tuple[SSAValue, int]]()
        while pending:
            value, axis = pending.pop()
            if (value, axis) in seen:
                continue
            seen.add((value, axis))
            array = self._of_read.get(value)
            if array is not None:
                if axis not in self._axes[id(array)]:
                    return False
                continue
            sources, op = _sources(value, axis), value.owner
            if sources is None or isinstance(op, Block):
                return False
            pending += [(op.operands[number], place) for number, place in sources]
        return True


def _covers(places: Sequence[Subset], axis: int) -> bool:
    """Whether each write changes all elements along an axis that any op reads, and these are at least two."""
    spans = {id(place): _span(place, axis) for place in places}
    reads = [span for place in places if place.change is Change.NONE and (span := spans[id(place)])]
    writes = [span for place in places if place.change is not Change.NONE and (span := spans[id(place)])]
    if not reads or not writes or None in spans.values():
        return False
    first, last = min(span[0] for span in reads), max(span[1] for span in reads)
    return first < last and all(low <= first and last <= high and is_whole for low, high, is_whole in writes)


def _span(place: Subset, axis: int) -> tuple[int, int, bool] | None:
    """The first and the last index of a slice along an axis, and whether all between them belong to it."""
    along, start = place.ranges[axis], known_number(place.places[axis])
    if along is None or start is None or not isinstance(along.length, int) or along.length == 0:
        return None
    ends = int(start), int(start) + (along.length - 1) * along.stride
    return min(ends), max(ends), abs(along.stride) == 1


def _sources(value: SSAValue, axis: int) -> list[tuple[int, int]] | None:
    """The operands, by number and axis, that must be constant for a value to be so; None if that is not enough."""
    op = value.owner
    if not isinstance(op, NdOp) or len(op.results) != 1 or not types.is_static(value.type):
        return None
    if op.repeats(axis):
        return []
    if op.is_reshape():
        place = _axis_before(op, axis)
        return None if place is None else [(0, place)]
    answer = op.loops()
    if not only_computes(op.__class__) or not isinstance(answer, Generic) or answer.start is not None:
        return None
    *reads, write = answer.maps
    if write[axis] in answer.counters or not all(map(types.is_static, op.operand_types[: len(reads)])):
        return None
    return [
        (number, place) for number, read in enumerate(reads) for place, loop in enumerate(read) if loop == write[axis]
    ]


def _axis_before(op: NdOp, axis: int) -> int | None:
    """The operand's axis that becomes an axis of a reshape, if only axes of size 1 are added or dropped."""
    before, after = (types.shape(value.type) for value in (op.operands[0], op.results[0]))
    long = [place for place, size in enumerate(before) if size != 1]
    if after[axis] == 1 or [before[place] for place in long] != [size for size in after if size != 1]:
        return None
    return long[sum(size != 1 for size in after[:axis])]


# --- one slice ----------------------------------------------------------------------------------------------------


def _narrow_values(array: SlicedArray, axes: Iterable[int]) -> None:
    for op, index in array.filled:
        with in_place_of(op):
            old = op.operands[index]
            op.operands[index] = filled_as(old, _narrow(types.shape(old.type), axes))
            if isinstance(old.owner, NdOp) and not any(old.uses):
                erase(old.owner)
    for value in array.values:
        shape = _narrow(types.shape(value.type), axes)
        Rewriter.replace_value_with_new_type(value, types.tensor(shape, types.element_type(value.type)))


def _narrow(shape: Sequence[int], axes: Iterable[int]) -> list[int]:
    return [1 if axis in axes else size for axis, size in enumerate(shape)]


def _narrow_read(op: Operation, axes: Sequence[int]) -> None:
    subset = slice_at(op)
    shape = types.shape(subset.part.type)
    narrow = _narrow(shape, axes)
    with in_place_of(op):
        array, starts, strides = _place(subset, axes)
        if all(size == 1 for size in narrow):
            whole = full(emit(ExtractOp, array, *starts), shape)
        else:
            kept = [axis for axis in range(len(shape)) if axis not in axes]
            part = extract_slice(array, starts, narrow, strides)
            thin = reshape(part, types.tensor([shape[axis] for axis in kept], part.element))
            whole = broadcast(thin, kept, shape)
        whole.value.name_hint = subset.part.name_hint
        replace(op, [whole.value])


def _narrow_write(op: Operation, axes: Sequence[int]) -> None:
    subset = slice_at(op)
    part = subset.part
    for axis in axes:
        part = _one_of(part, axis, {})
    is_put = subset.change is Change.REPLACED
    with in_place_of(op):
        array, starts, strides = _place(subset, axes)
        if all(size == 1 for size in types.shape(part.type)):
            element = reshape(Expr(part), types.element_type(part.type))
            new = emit(InsertOp if is_put else AddAtOp, element, array, *starts)
        else:
            new = (insert_slice if is_put else add_slice)(Expr(part), array, starts, strides)
        new.value.name_hint = op.results[0].name_hint
        replace(op, [new.value])


def _place(subset: Subset, axes: Iterable[int]) -> tuple[Expr, list[Expr], list[int]]:
    starts = list(map(Expr, subset.places))
    for axis in axes:
        if not is_number(subset.places[axis], 0):
            starts[axis] = constant(0, types.I64)
    strides = [1 if axis in axes or each is None else each.stride for axis, each in enumerate(subset.ranges)]
    return Expr(subset.array), starts, strides


def _one_of(value: SSAValue, axis: int, found: dict[tuple[SSAValue, int], SSAValue]) -> SSAValue:
    """The first slice of a value that is constant along an axis, computed from first slices."""
    if types.shape(value.type)[axis] == 1:
        return value
    if (value, axis) not in found:
        op, sources = value.owner, _sources(value, axis)
        assert isinstance(op, NdOp) and sources is not None
        answer = op.loops()
        operands = list(op.operands[: len(answer.maps) - 1 if isinstance(answer, Generic) else 1])
        for number, place in sources:
            operands[number] = _one_of(operands[number], place, found)
        with in_place_of(op):
            found[value, axis] = op.resized(list(map(Expr, operands)), axis, 1).value
    return found[value, axis]
