"""Emits the stores of the forward sweep, and reads and writes of tape entries.

Reads: tape plans. Writes: tapes, threaded through the loops and branches around the stored values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import add_results, add_yields, branches
from mlirad.autodiff.sizes import size_value, unknown_axes, zeros
from mlirad.autodiff.tape.decision.forward_values import Base, ForwardValue, Overwritten, Size
from mlirad.autodiff.tape.decision.nests import Step
from mlirad.autodiff.tape.decision.plans import TapeEntry, TapePlan
from mlirad.autodiff.tape.rows import AllRows, Rows, Update, forward_counter, thread
from mlirad.autodiff.trip_counters import trips_of
from mlirad.autodiff.updates import subset_of
from mlirad.dialect.ad.tape import FIRST_CAPACITY, GrowOp, new_tape
from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, full, located, where
from mlirad.dialect.ops.bits import BitAndOp, BitOrOp, ShiftLeftOp, ShiftRightOp
from mlirad.dialect.ops.movement import reshape


def read_entry(entry: TapeEntry, tape: SSAValue, row: Expr, type: Attribute, sizes: Sequence[Expr]) -> SSAValue:
    """The value of type `type` at an entry of a row; `sizes` are its unknown sizes."""
    start = _start(entry, row)
    if not types.is_tensor(type):
        element = emit(ExtractOp, Expr(tape), start)
        bits = entry.tape.bits_of(entry.offset)
        return _unpacked(element, bits, entry.place).value if bits else element.value
    bounds, element = entry.tape.bounds, types.element_type(type)
    if sizes and _is_flat(type):
        return reshape(extract_slice(Expr(tape), [start], sizes), type).value
    flat = extract_slice(Expr(tape), [start], [prod(bounds)])
    whole = reshape(flat, types.tensor(bounds, element))
    if not sizes:
        return whole.value
    given = iter(sizes)
    shape = [next(given) if size < 0 else size for size in types.shape(type)]
    return extract_slice(whole, [constant(0, types.I64)] * len(shape), shape).value


def write_entry(entry: TapeEntry, tape: SSAValue, row: Expr, value: SSAValue) -> SSAValue:
    """The tape, with the value written to an entry of a row. An array of unknown sizes fills the beginning of its
    entry."""
    start, stored, bounds = _start(entry, row), Expr(value), entry.tape.bounds
    if not stored.is_tensor:
        return emit(InsertOp, stored, Expr(tape), start).value
    if types.is_static(value.type) or _is_flat(value.type):
        length = -1 if -1 in stored.shape else prod(stored.shape)
    else:
        length, room = prod(bounds), full(constant(0, stored.element), bounds)
        stored = insert_slice(stored, room, [constant(0, types.I64)] * len(bounds))
    flat = reshape(stored, types.tensor([length], stored.element))
    return insert_slice(flat, Expr(tape), [start]).value


def _packed(values: Sequence[SSAValue], bits: int) -> SSAValue:
    """Integers side by side in one of 64 bits. The bits that do not fit are cut off."""
    low = constant((1 << bits) - 1, types.I64)
    word = emit(BitAndOp, Expr(values[0]), low)
    for place, value in enumerate(values[1:], 1):
        part = emit(BitAndOp, Expr(value), low)
        word = emit(BitOrOp, word, emit(ShiftLeftOp, part, constant(bits * place, types.I64)))
    return word.value


def _unpacked(word: Expr, bits: int, place: int) -> Expr:
    """One of these integers, with its sign."""
    upper = emit(ShiftLeftOp, word, constant(64 - bits * (place + 1), types.I64))
    return emit(ShiftRightOp, upper, constant(64 - bits, types.I64))


def _start(entry: TapeEntry, row: Expr) -> Expr:
    start = row if entry.tape.width == 1 else row * entry.tape.width
    return start + entry.offset if entry.offset else start


def _is_flat(type: Attribute) -> bool:
    """Whether at most one axis of an array has a size other than 1."""
    return sum(size != 1 for size in types.shape(type)) == 1


@dataclass
class Tapes:
    """The tapes of one function, emitted on first use."""

    rows: AllRows = field(default_factory=AllRows)
    _emitted: dict[TapePlan, Sequence[SSAValue]] = field(default_factory=dict)
    _values: dict[ForwardValue, SSAValue] = field(default_factory=dict)

    def stored(self, entry: TapeEntry) -> SSAValue:
        """The SSA value of an entry for the reverse sweep: the final tape, or without a nest the value itself."""
        return self.emit(entry.tape)[0 if entry.tape.nest is not None else entry.offset]

    def emit(self, plan: TapePlan) -> Sequence[SSAValue]:
        """Emit the stores of a tape. Returns the tape; without a nest, a result of ifs for each value."""
        if plan not in self._emitted:
            values = [self.value(value) for value in plan.values]
            with located(location_of(values[0])):
                if plan.nest is not None:
                    self._emitted[plan] = [self._emit_tape(plan, values)]
                else:
                    self._emitted[plan] = [_result_of_ifs(value, plan.path) for value in values]
        return self._emitted[plan]

    def value(self, value: ForwardValue) -> SSAValue:
        """The SSA value of a forward value; emits it if necessary."""
        if isinstance(value, SSAValue):
            return value
        if value not in self._values:
            self._values[value] = self._emit_value(value)
        return self._values[value]

    def _emit_value(self, value: Overwritten | Size | Base) -> SSAValue:
        match value:
            case Overwritten(write=write):
                subset = subset_of(write)
                with building(InsertPoint.before(write)), located(write.location):
                    return subset.read(Expr(subset.array), [Expr(place) for place in subset.places]).value
            case Size(array=array, axis=axis):
                return size_value(self.value(array), axis)
            case Base():
                return self.rows.base(value)

    def _emit_tape(self, plan: TapePlan, values: Sequence[SSAValue]) -> SSAValue:
        nest, width = plan.nest, plan.width
        assert nest is not None
        rows = self.rows.of(nest, plan.path)
        empty = self._empty_tape(plan, rows, types.element_type(values[0].type))
        counters = [forward_counter(loop) for loop in nest.loops]
        words = [[self.value(value) for value in word] for word in plan.words]
        points = [_after(word[-1]) for word in words]
        grow = _growth(rows, width)
        grows_here = nest.grows == len(nest.loops) and isinstance(nest.loops[-1].op, scf.WhileOp)

        def write(current: SSAValue) -> SSAValue:
            with building(points[0]):
                current = grow(current) if grows_here else current
                row = rows.number(counters, rows.base)
            for offset, word in enumerate(words):
                with building(points[offset]), located(location_of(word[-1])):
                    value = _packed(word, plan.bits_of(offset)) if len(word) > 1 else word[0]
                    current = write_entry(TapeEntry(plan, offset), current, row, value)
            return current

        before, inside = {}, {}
        if nest.grows and not grows_here:
            # The trip count of a for is known before it, so no check is needed in its body.
            loop = nest.loops[nest.grows - 1].op
            (before if isinstance(loop, scf.ForOp) else inside)[loop] = grow
        tape = thread(plan.path, empty, write, before, inside)
        tape.name_hint = "tape"
        return tape

    def _empty_tape(self, plan: TapePlan, rows: Rows, element: Attribute) -> SSAValue:
        """A tape above the nest, in its final length if that is known."""
        nest, width, outermost = plan.nest, plan.width, plan.path[0][0]
        assert nest is not None
        with building(InsertPoint.before(outermost)):
            if rows.capacity is None:
                size = constant(max(FIRST_CAPACITY, width), types.I64)
            elif (known := constant_int(rows.capacity.value)) is not None:
                return new_tape(types.tensor([known * width], element), width).value
            else:
                size = rows.capacity if width == 1 else rows.capacity * width
                for op, block in nest.branches:
                    # The tape is empty if the other branch is taken.
                    assert isinstance(op, scf.IfOp)
                    taken = Expr(self.rows.hoist(op.cond, outermost))
                    size = where(taken, size, 0) if block is branches(op)[0] else where(taken, 0, size)
            return new_tape(types.tensor([-1], element), width, size).value


def _growth(rows: Rows, width: int) -> Update:
    """Makes a tape long enough for one trip of the loop whose count is unknown."""

    def grow(tape: SSAValue) -> SSAValue:
        loop = rows.nest.loops[rows.nest.grows - 1]
        with located(loop.op.location):
            trips = trips_of(loop) if isinstance(loop.op, scf.ForOp) else Expr(forward_counter(loop)) + 1
            end = rows.end(trips, rows.base)
            last = (end if width == 1 else end * width) - 1
            return emit(GrowOp, Expr(tape), last).value

    return grow


def _result_of_ifs(value: SSAValue, path: Sequence[Step]) -> SSAValue:
    """The value as a result of the ifs around it; zeros if the other branch is taken."""
    for op, block in reversed(path):
        assert isinstance(op, scf.IfOp)
        for branch in branches(op):
            end = branch.last_op
            assert end is not None
            if branch is block:
                add_yields(branch, [value])
            else:
                with building(InsertPoint.before(end)):
                    nothing = [constant(0, types.I64) for _ in unknown_axes(value)]
                    add_yields(branch, [zeros(value, nothing).value])
        (value,) = add_results(op, [value])
    return value


def location_of(value: SSAValue) -> LocationAttr:
    """The location of the op that computes a value, or whose block has it as an argument."""
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        assert parent is not None
        owner = parent
    return owner.location


def _after(value: SSAValue) -> InsertPoint:
    owner = value.owner
    return InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
