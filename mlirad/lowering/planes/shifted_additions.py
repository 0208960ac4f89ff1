"""Stores what the trips of a loop add to an array, and adds it after the loop.

Reads: scf and nd. Writes: a loop that stores the added planes, and additions of all planes at once. Leaves: carries
that are also read, that are written otherwise, or whose places move along several axes.

If a trip adds a plane both to rows i and to rows i + 1 of an array, no row of the array can be computed apart. The rows
of the planes can:

    for k in range(levels):                            for k in range(levels):
        plane = x[:, :, k] * y[:, :, k]      ->            planes[:, :, k] = x[:, :, k] * y[:, :, k]
        w[:-1, :, k] += plane                          w[:-1] += planes
        w[1:, :, k] += plane                           w[1:] += planes

Each element of the array gets the same numbers in the same order. If several additions reach an element, they do so in
different trips, so they are sorted by the trip in which they reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.constants import holds_one_number
from mlirad.analysis.loops import Carry, Loop, add_yields, terminator, trip_count
from mlirad.analysis.trip_forms import Trip, linear, of_term
from mlirad.dialect.ad.tape import TapeOp
from mlirad.dialect.arrays.slices import add_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.core.op import written_subset
from mlirad.dialect.core.subset import Change
from mlirad.dialect.ops.movement import reshape
from mlirad.lowering.rewriting import in_place_of, replace


@dataclass(frozen=True)
class Addition:
    """An op that adds a plane: in trip 0 at `starts`, in each later trip one index further along `axis`, up or down."""

    op: Operation
    part: SSAValue
    axis: int
    is_upwards: bool
    starts: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def planes(self) -> tuple[SSAValue, int, bool]:
        """A key of the stored planes: additions of the same planes share them."""
        return self.part, self.axis, self.is_upwards

    @property
    def delay(self) -> int:
        """How many trips later it reaches an element than an addition that starts at index 0."""
        first = self.starts[self.axis]
        return -first if self.is_upwards else first


def additions_of(loop: scf.ForOp, carry: Carry) -> list[Addition] | None:
    """The additions to a carry, in program order; None if trips use it otherwise, or if additions move apart."""
    found: list[Addition] = []
    value: SSAValue = carry.arg
    while value is not carry.yielded:
        op = value.get_user_of_unique_use()
        addition = None if op is None else _addition(loop, op, value)
        if op is None or addition is None:
            return None
        found.append(addition)
        value = op.results[0]
    if carry.yielded.get_user_of_unique_use() is None:
        return None
    is_alike = len({(each.axis, each.is_upwards) for each in found}) == 1
    return found if is_alike and trip_count(loop) else None


def _addition(loop: scf.ForOp, op: Operation, array: SSAValue) -> Addition | None:
    subset = written_subset(op)
    if subset is None or subset.array is not array or subset.change is not Change.ADDED:
        return None
    is_slice = subset.axes == tuple(range(len(subset.ranges))) and types.is_static(subset.part.type)
    if not is_slice or holds_one_number(subset.part):
        return None
    trip, starts, moving = Trip(loop), [], []
    for axis, place in enumerate(subset.ranges):
        if place is None or not isinstance(place.start, SSAValue):
            return None
        form = linear(place.start)
        step = form.terms.get(trip, 0)
        at_first = form.plus(of_term(trip), -step).value
        if at_first is None:
            return None
        starts.append(at_first)
        if step:
            moving.append((axis, step, place.length, place.stride))
    if len(moving) != 1 or moving[0][1] not in (1, -1) or moving[0][2] != 1:
        return None
    axis, step, _, _ = moving[0]
    strides = tuple(1 if place is None else place.stride for place in subset.ranges)
    return Addition(op, subset.part, axis, step == 1, tuple(starts), strides)


def store_additions(loop: scf.ForOp, carries: Sequence[Carry]) -> None:
    """Move the additions to these carries, which have `additions_of`, behind the loop, which is changed in place."""
    count = trip_count(loop)
    assert count is not None
    following = loop.next_op
    assert following is not None
    dropped = {carry.result for carry in carries}
    stored: dict[tuple[SSAValue, int, bool], SSAValue] = {}
    for carry in carries:
        additions = additions_of(loop, carry)
        assert additions is not None
        for each in additions:
            if each.planes not in stored:
                stored[each.planes] = _store(loop, each, count)
        with in_place_of(following):
            total = Expr(carry.init)
            for each in sorted(additions, key=lambda each: each.delay):
                starts = list(each.starts)
                starts[each.axis] -= 0 if each.is_upwards else count - 1
                strides = [1 if axis == each.axis else stride for axis, stride in enumerate(each.strides)]
                places = [constant(start, types.I64) for start in starts]
                total = add_slice(Expr(stored[each.planes]), total, places, strides)
        total.value.name_hint = carry.result.name_hint
        carry.result.replace_all_uses_with(total.value)
        for each in reversed(additions):
            replace(each.op, [each.op.operands[_number(each.op)]])
    Loop(loop).keep(lambda number: loop.results[number] not in dropped)


def _number(op: Operation) -> int:
    subset = written_subset(op)
    assert subset is not None
    return subset.number


def _store(loop: scf.ForOp, addition: Addition, count: int) -> SSAValue:
    """Make the loop store the planes of an addition, in the order of the array that they are added to."""
    part, axis = addition.part, addition.axis
    shape = list(types.shape(part.type))
    elements = prod(shape)
    shape[axis] = count
    element = types.element_type(part.type)
    with in_place_of(loop):
        tape = emit(TapeOp, result_type=types.tensor([elements * count], element))
        planes = reshape(tape, types.tensor(shape, element))
        last = constant(count - 1, types.I64)
    ((arg,), (result,)) = Loop(loop).add([planes.value])
    with in_place_of(terminator(loop.body.block)):
        trip = Expr(loop.body.block.args[0])
        zero = constant(0, types.I64)
        starts = [zero] * len(shape)
        starts[axis] = trip if addition.is_upwards else last - trip
        new = insert_slice(Expr(part), Expr(arg), starts)
    add_yields(loop.body.block, [new.value])
    return result
