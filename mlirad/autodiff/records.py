"""The record that each call of a forward sweep appends to two tapes, for its pullback.

Reads: the values that the pullback needs. Writes: code that stores them on the tapes and loads them. Leaves: offsets
that depend only on the values' types.

The integer tape holds the record's offset on the float tape, the lengths of arrays of unknown length if the pullback
cannot compute them, and all values that are not floats. The float tape holds the floats. Arrays of unknown length come
last: first those that the function's loops write in place (`tapes_in_records.py`), then, after the records of the calls
in between, those that are copied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue

from mlirad.autodiff.callees import Reversed
from mlirad.dialect.ad.tape import GrowOp
from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, current_location, dim, emit
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
    total size without the arrays of unknown length, which are written in place (`placed`) or copied to the end."""

    element: Attribute
    offsets: dict[int, int]
    size: int
    placed: tuple[int, ...]
    copied: tuple[int, ...]


@dataclass(frozen=True)
class RecordOffsets:
    """The offsets of the values of a record. header: the arrays whose length is recorded; tails: the offsets on the
    integer tape of the places where copied arrays begin, on both tapes."""

    types: Sequence[Attribute]
    floats: Lane
    integers: Lane
    header: tuple[int, ...]
    tails: tuple[int, int]

    @staticmethod
    def of(value_types: Sequence[Attribute], known: Collection[int], placed: Collection[int]) -> RecordOffsets:
        """known: the arrays whose length the pullback computes; placed: those that are written in place."""
        for type in value_types:
            if types.is_complex(type):
                message = "a function that calls itself would have to keep complex numbers"
                raise DifferentiationError(message, types.from_location(current_location()))
            if len(types.shape(type)) > 1 and not types.is_static(type):
                message = f"a function that calls itself would have to keep an array of unknown size, {type}"
                raise DifferentiationError(message, types.from_location(current_location()))
        is_float = [types.is_float(type) for type in value_types]
        growing = [place for place, type in enumerate(value_types) if not types.is_static(type)]
        header = tuple(place for place in growing if place not in known)
        numbers = 1 + len(header)
        has_tail = any(place not in placed for place in growing)
        floats = [k for k, yes in enumerate(is_float) if yes]
        integers = [k for k, yes in enumerate(is_float) if not yes]
        return RecordOffsets(
            value_types,
            _lane(types.F64, value_types, floats, 0, placed),
            _lane(types.I64, value_types, integers, numbers + 2 * has_tail, placed),
            header,
            (numbers, numbers + 1),
        )

    @property
    def lanes(self) -> tuple[Lane, Lane]:
        return self.floats, self.integers

    @property
    def has_tail(self) -> bool:
        return bool(self.floats.copied or self.integers.copied)


def _lane(
    element: Attribute, value_types: Sequence[Attribute], numbers: Sequence[int], header: int, placed: Collection[int]
) -> Lane:
    offsets: dict[int, int] = {}
    size = header
    for number in numbers:
        if types.is_static(value_types[number]):
            offsets[number] = size
            size += prod(types.shape(value_types[number]))
    growing = [number for number in numbers if number not in offsets]
    in_place = tuple(number for number in growing if number in placed)
    return Lane(element, offsets, size, in_place, tuple(number for number in growing if number not in placed))


def reserve(
    offsets: RecordOffsets, state: Sequence[SSAValue], lengths: Mapping[int, Expr]
) -> tuple[list[SSAValue], dict[int, Expr]]:
    """Make room for a record at the end of the tapes, at the insertion point. Returns the new state of the tapes, and
    where the arrays that are written in place begin. lengths: theirs."""
    new: list[SSAValue] = []
    starts: dict[int, Expr] = {}
    for lane, tape, begin in zip(offsets.lanes, state[::2], state[1::2], strict=True):
        end = Expr(begin) + lane.size if lane.size else Expr(begin)
        for number in lane.placed:
            starts[number] = end
            end = end + lengths[number]
        is_longer = lane.size or lane.placed
        new += [emit(GrowOp, Expr(tape), end - 1).value if is_longer else tape, end.value]
    return new, starts


def write_record(
    offsets: RecordOffsets, values: Sequence[SSAValue], begins: Sequence[SSAValue], state: Sequence[SSAValue]
) -> list[SSAValue]:
    """Write a record into its room, but for the arrays in place, at the insertion point. Returns the new state of the
    tapes. begins: where the room begins on both tapes."""
    tapes, ends = [Expr(tape) for tape in state[::2]], [Expr(end) for end in state[1::2]]
    begun, base = map(Expr, begins)
    lengths = [dim(Expr(values[number]), 0) for number in offsets.header]
    numbers = dict(enumerate((begun, *lengths)))
    if offsets.has_tail:
        numbers |= dict(zip(offsets.tails, ends, strict=True))
    for offset, number in numbers.items():
        tapes[1] = emit(InsertOp, number, tapes[1], base + offset)
    for which, (lane, start) in enumerate(zip(offsets.lanes, (begun, base), strict=True)):
        for number, offset in lane.offsets.items():
            value, at = cast(Expr(values[number]), lane.element), start + offset
            if value.is_tensor:
                flat = reshape(value, types.tensor([prod(value.shape)], lane.element))
                tapes[which] = insert_slice(flat, tapes[which], [at])
            else:
                tapes[which] = emit(InsertOp, value, tapes[which], at)
        for number in lane.copied:
            value = Expr(values[number])
            end = ends[which] + dim(value, 0)
            grown = emit(GrowOp, tapes[which], end - 1)
            tapes[which] = insert_slice(cast(value, lane.element), grown, [ends[which]])
            ends[which] = end
    return [tapes[0].value, ends[0].value, tapes[1].value, ends[1].value]


@dataclass(frozen=True)
class Record:
    """A record as its pullback sees it: its offsets, the tapes, and where it begins."""

    offsets: RecordOffsets
    floats: SSAValue
    integers: SSAValue
    base: SSAValue

    def numbers(self) -> dict[int, SSAValue]:
        """Load the values of known size, at the insertion point."""
        found: dict[int, SSAValue] = {}
        for lane, tape, first in self._lanes():
            for number, offset in lane.offsets.items():
                type, at = self.offsets.types[number], first + offset
                if types.is_tensor(type):
                    flat = extract_slice(tape, [at], [prod(types.shape(type))])
                    value = reshape(flat, types.with_element(type, lane.element))
                else:
                    value = emit(ExtractOp, tape, at)
                found[number] = cast(value, types.element_type(type)).value
        return found

    def arrays(self, known: Mapping[int, SSAValue]) -> dict[int, Expr]:
        """The arrays of unknown length, as slices of the tapes (in the tapes' type), at the insertion point. known:
        the lengths that are not recorded."""
        lengths = {number: self._header(1 + k) for k, number in enumerate(self.offsets.header)}
        lengths |= {number: Expr(length) for number, length in known.items()}
        found: dict[int, Expr] = {}
        for (lane, tape, first), tail in zip(self._lanes(), self.offsets.tails, strict=True):
            at = first + lane.size if lane.size else first
            for number in lane.placed:
                found[number] = extract_slice(tape, [at], [lengths[number]])
                at = at + lengths[number]
            at = self._header(tail) if lane.copied else at
            for number in lane.copied:
                found[number] = extract_slice(tape, [at], [lengths[number]])
                at = at + lengths[number]
        return found

    def _header(self, offset: int) -> Expr:
        return emit(ExtractOp, Expr(self.integers), Expr(self.base) + offset)

    def _lanes(self) -> list[tuple[Lane, Expr, Expr]]:
        """Each part of the record, its tape, and where it begins on that."""
        integers = Expr(self.integers)
        begun = emit(ExtractOp, integers, Expr(self.base))
        return [(self.offsets.floats, Expr(self.floats), begun), (self.offsets.integers, integers, Expr(self.base))]
