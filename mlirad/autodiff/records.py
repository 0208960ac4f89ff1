"""The record that each call of a forward sweep appends to two tapes, for its pullback.

Reads: the values that the pullback needs. Writes: code that stores them on the tapes and loads them. Leaves: offsets
that depend only on the values' types.

The integer tape holds the record's offset on the float tape, the lengths of arrays of unknown length, and all values
that are not floats. The float tape holds the floats. Arrays of unknown length come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from mlirad.autodiff.callees import Reversed
from mlirad.dialect.ad.tape import GrowOp, TapeOp
from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import ExtractSliceOp, InsertSliceOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, current_location, dim, emit, insert
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DifferentiationError

RECORDED = "ad.recorded"
"""On a function: its forward sweep and its pullback are still joined, and the first writes a record for the second."""


def recorded_attribute(made: Reversed) -> DictionaryAttr:
    """All data that `mlirad-split` needs about the two functions."""
    numbers = {
        "kept": list(made.kept),
        "forward_written": [number for pair in made.forward_written.items() for number in pair],
        "pullback_written": [number for pair in made.pullback_written(3).items() for number in pair],
    }
    names = {"forward": StringAttr(made.forward), "pullback": StringAttr(made.pullback)}
    return DictionaryAttr({**names, **{key: DenseArrayBase.from_list(i64, value) for key, value in numbers.items()}})


@dataclass(frozen=True)
class Lane:
    """The part of a record on one tape: the indices of its values among all values, and their offsets. `size`: their
    total size without the arrays of unknown length (`growing`)."""

    element: Attribute
    offsets: dict[int, int]
    size: int
    growing: tuple[int, ...]


@dataclass(frozen=True)
class RecordOffsets:
    """The offsets of the values of a record."""

    floats: Lane
    integers: Lane

    @staticmethod
    def of(value_types: Sequence[Attribute]) -> RecordOffsets:
        for type in value_types:
            if types.is_complex(type):
                message = "a function that calls itself would have to keep complex numbers"
                raise DifferentiationError(message, types.from_location(current_location()))
            if len(types.shape(type)) > 1 and not types.is_static(type):
                message = f"a function that calls itself would have to keep an array of unknown size, {type}"
                raise DifferentiationError(message, types.from_location(current_location()))
        is_float = [types.is_float(type) for type in value_types]
        growing = sum(not types.is_static(type) for type in value_types)
        return RecordOffsets(
            _lane(types.F64, value_types, [k for k, yes in enumerate(is_float) if yes], 0),
            _lane(types.I64, value_types, [k for k, yes in enumerate(is_float) if not yes], 1 + growing),
        )

    @property
    def growing(self) -> list[int]:
        return sorted((*self.floats.growing, *self.integers.growing))


def _lane(element: Attribute, value_types: Sequence[Attribute], places: Sequence[int], header: int) -> Lane:
    offsets: dict[int, int] = {}
    size = header
    for place in places:
        if types.is_static(value_types[place]):
            offsets[place] = size
            size += prod(types.shape(value_types[place]))
    return Lane(element, offsets, size, tuple(p for p in places if p not in offsets))


def write_record(values: Sequence[SSAValue], state: Sequence[SSAValue]) -> tuple[list[SSAValue], SSAValue]:
    """Append a record to the tapes, at the insertion point. Returns the new state of the tapes, and the record's
    offset."""
    floats, begun, integers, base = (Expr(value) for value in state)
    offsets = RecordOffsets.of([value.type for value in values])
    lengths = {place: dim(Expr(values[place]), 0) for place in offsets.growing}
    integers = emit(GrowOp, integers, _end(base, offsets.integers, lengths) - 1)
    for offset, number in enumerate((begun, *lengths.values())):
        integers = emit(InsertOp, number, integers, base + offset)
    integers = _write(values, offsets.integers, integers, base, lengths)
    if offsets.floats.size or offsets.floats.growing:
        floats = emit(GrowOp, floats, _end(begun, offsets.floats, lengths) - 1)
        floats = _write(values, offsets.floats, floats, begun, lengths)
    ends = _end(begun, offsets.floats, lengths), _end(base, offsets.integers, lengths)
    return [floats.value, ends[0].value, integers.value, ends[1].value], base.value


def _end(start: Expr, lane: Lane, lengths: dict[int, Expr]) -> Expr:
    end = start + lane.size if lane.size else start
    for place in lane.growing:
        end = end + lengths[place]
    return end


def _write(values: Sequence[SSAValue], lane: Lane, tape: Expr, start: Expr, lengths: dict[int, Expr]) -> Expr:
    for place, offset in lane.offsets.items():
        value, at = cast(Expr(values[place]), lane.element), start + offset
        if value.is_tensor:
            size = prod(value.shape)
            flat = reshape(value, types.tensor([size], lane.element))
            tape = emit(InsertSliceOp, flat, tape, at, sizes=[size], strides=[1])
        else:
            tape = emit(InsertOp, value, tape, at)
    at = start + lane.size
    for place in lane.growing:
        tape = _copied(Expr(values[place]), constant(0, types.I64), tape, at, lengths[place])
        at = at + lengths[place]
    return tape


def read_record(
    value_types: Sequence[Attribute], floats: SSAValue, integers: SSAValue, base: SSAValue
) -> list[SSAValue]:
    """Load the values of a record, at the insertion point."""
    offsets = RecordOffsets.of(value_types)
    start = Expr(base)
    begun = emit(ExtractOp, Expr(integers), start)
    lengths = {place: emit(ExtractOp, Expr(integers), start + 1 + k) for k, place in enumerate(offsets.growing)}
    found: dict[int, SSAValue] = {}
    for lane, tape, first in ((offsets.floats, floats, begun), (offsets.integers, integers, start)):
        for place, offset in lane.offsets.items():
            type, at = value_types[place], first + offset
            if types.is_tensor(type):
                flat = emit(ExtractSliceOp, Expr(tape), at, sizes=[prod(types.shape(type))], strides=[1])
                value = reshape(flat, types.with_element(type, lane.element))
            else:
                value = emit(ExtractOp, Expr(tape), at)
            found[place] = cast(value, types.element_type(type)).value
        at = first + lane.size
        for place in lane.growing:
            empty = emit(TapeOp, lengths[place], result_type=value_types[place])
            found[place] = _copied(Expr(tape), at, empty, constant(0, types.I64), lengths[place]).value
            at = at + lengths[place]
    return [found[place] for place in range(len(value_types))]


def _copied(source: Expr, first: Expr, destination: Expr, at: Expr, length: Expr) -> Expr:
    """Copy `length` elements of `source`, from `first` on, to position `at` of `destination`."""
    body = Block(arg_types=[types.I64, destination.type])
    with building(body):
        trip = Expr(body.args[0])
        element = cast(emit(ExtractOp, source, first + trip), destination.element)
        insert(scf.YieldOp(emit(InsertOp, element, Expr(body.args[1]), at + trip).value))
    zero, one = constant(0, types.I64), constant(1, types.I64)
    loop = insert(scf.ForOp(zero.value, length.value, one.value, [destination.value], Region(body)))
    return Expr(loop.results[0])
