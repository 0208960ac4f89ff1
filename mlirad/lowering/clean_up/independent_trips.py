"""Finds loops with independent trips; the trips may also add to sums.

Reads: scf and nd. Writes: nothing. Gives: for such a loop, the roles of its carries, and the places its trips access.

Carried numbers may be the largest or smallest so far (`running_extremes.py`).

A trip may read what it has written itself, and what a later trip will write: it then reads the value from before the
loop. It must not read what an earlier trip wrote, and no two trips may write to the same place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeGuard

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.cost import of_op
from mlirad.analysis.integers import largest
from mlirad.analysis.loops import Carry, Loop, counts_from_zero, loops_around, trip_count
from mlirad.analysis.trip_forms import Form, Trip, linear
from mlirad.analysis.varying import varying
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.dialect.core.op import NdOp, accessed_subset, read_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.lowering.clean_up.hoist_checks import LONGEST_STEP, stays
from mlirad.lowering.clean_up.running_extremes import Companion, RunningExtreme, running_extremes
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import ops_inside, ops_of

_FEWEST = 16
"""The fewest trips that are faster in vectors than one by one."""
_FEWEST_CALLS = 8
"""The same for trips that compute a function, and for trips with a running extreme if the loop is differentiated: the
extreme's derivative may cancel."""
_FEWEST_COMPARED = 64
"""The same for trips that only compare numbers, if the loop is not differentiated: processors overlap short loops."""
_FUNCTION = 10
"""The cost from which on an op counts as a function; vector functions are several times as fast. LLVM vectorises other
loops."""
_PRODUCT = 2
"""The ops on floats in a trip that adds a product to a sum."""
_PASS = 15
"""The cost of one more pass over an array, for each further place where a trip reads it: its cotangent also has one."""


@dataclass(frozen=True)
class MovingPlace:
    """The index of an element of an array. It moves along `axis` by `step` in each trip; None: it does not move."""

    indices: tuple[Form, ...]
    axis: int | None
    step: int


class _Apart(Enum):
    APART = "no two trips access the same place"


_Lead = int | Literal[_Apart.APART] | None
"""By how many trips one place is ahead of another; None: unknown."""


@dataclass(frozen=True)
class Writes:
    """A carried array that trips write to. versions: the array before and after each write of a trip."""

    carry: Carry
    writes: tuple[Operation, ...]
    versions: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Sum:
    """A carried number: in each trip `op` adds its operand `index` to it."""

    carry: Carry
    op: NdOp
    index: int


Role = Writes | Sum | RunningExtreme | Companion


@dataclass(frozen=True)
class IndependentTrips:
    """A loop with independent trips. varying: the values that differ between trips. places: of its reads and writes;
    None if an index is not a multiple of the loop's counter."""

    loop: scf.ForOp
    carries: tuple[Role, ...]
    varying: set[SSAValue]
    places: Mapping[Operation, MovingPlace | None]

    @property
    def is_reversed(self) -> bool:
        """Whether the last trip writes to the lowest address, and the order of the trips does not matter."""
        writes = [op for each in self.carries if isinstance(each, Writes) for op in each.writes]
        steps = [place.step for op in writes if (place := self.places[op]) is not None]
        return bool(steps) and max(steps) < 0 and all(isinstance(each, Writes) for each in self.carries)


def unlike(loop: scf.ForOp, *, is_derived: bool) -> str | None:
    """Why a loop is not raised, whatever it checks, reads and writes; None if it may be.

    is_derived: its derivatives will be needed. They pay for loops that only do arithmetic, too: such a loop has a tape,
    where ops on arrays have none.
    """
    count = trip_count(loop)
    if not counts_from_zero(loop) or loop.ub.type != types.I64 or not loop.results:
        return "it does not count from 0 to a number, or computes nothing"
    extremes = running_extremes(loop, Loop(loop).carries)
    if count is not None:
        calls = any(_pays(op, False) for op in ops_inside(loop))
        fewest = _FEWEST_CALLS if calls or (extremes and is_derived) else _FEWEST if is_derived else _FEWEST_COMPARED
        if count < fewest:
            return f"it makes fewer than {fewest} trips"
    if not all(map(_is_straight, ops_of(loop.body.block))):
        return "there is a loop in it, or a branch that does more than choose numbers"
    if not extremes and not any(_pays(op, is_derived) for op in ops_inside(loop)):
        return "it only does arithmetic, which needs no ops on arrays to be vectorised"
    return None


def independent_trips(loop: scf.ForOp, *, is_derived: bool) -> IndependentTrips | str:
    """The description of a loop, if its trips are independent and raising it pays; otherwise why it stays."""
    inside = ops_inside(loop)
    if (reason := unlike(loop, is_derived=is_derived)) is not None:
        return reason
    if not all(map(is_harmless, inside)):
        return "one of its trips may fail, or has an effect"
    differing = varying(loop.body.block, loop.body.block.args)
    extremes = running_extremes(loop, Loop(loop).carries)
    paying = [op for op in inside if _pays(op, is_derived) and not differing.isdisjoint(op.operands)]
    if not paying and not extremes:
        return "all trips compute the same"
    extreme_of = {each.carry.arg: each for each in extremes}
    found = [extreme_of.get(carry.arg) or _writes(loop, carry) or _sum(loop, carry) for carry in Loop(loop).carries]
    carries = [each for each in found if each is not None]
    writes = [each for each in carries if isinstance(each, Writes)]
    if len(carries) < len(found):
        return "each trip needs a value of the one before it, which is not just a sum or the largest so far"
    chosen = [each.value for each in extremes if isinstance(each, Companion)]
    if trip_count(loop) is None and not all(is_counted(value, loop) for value in chosen):
        return "it chooses a value with the largest number so far, and may make no trip"
    places = {op: _place(subset.places, loop) for op in inside if (subset := accessed_subset(op)) is not None}
    if not is_derived and _gain(loop, paying) < _PASS * _further_places(places):
        return "passes over arrays that it reads at many places would cost more than its functions"
    if not any(_pays(op, False) for op in paying):
        if None in places.values():
            return "it only does arithmetic, which does not pay for gathers"
        is_product = not writes and not extremes and sum(accessed_subset(op) is None for op in paying) <= _PRODUCT
        if is_product and loops_around(loop.parent):
            return "it is an inner loop that only adds up products, which needs no tape"
    trips = IndependentTrips(loop, tuple(carries), differing, places)
    reading = _Reading(trips, {version: each for each in writes for version in each.versions})
    if all(map(reading.is_known, inside)) and all(map(reading.are_in_step, writes)):
        return trips
    return "a trip may need what another trip writes, or may read out of range, or does not write neighbouring elements"


# --- ops --------------------------------------------------------------------------------------------------------


def _pays(op: Operation, is_derived: bool) -> bool:
    """Whether an op computes a function of floats; any op on floats, if the derivatives of the loop will be needed."""
    results = op.results
    if not results or not types.is_float(results[0].type) or not isinstance(op, NdOp):
        return False
    return op.memory.cost >= (1 if is_derived else _FUNCTION)


def is_function(op: Operation) -> TypeGuard[NdOp]:
    """Whether an op computes a function of numbers, for which there are faster vector functions."""
    return _pays(op, False) and not any(types.is_tensor(value.type) for value in (*op.operands, *op.results))


def _is_straight(op: Operation) -> bool:
    """Whether an op of a body may be computed for all trips; an op with regions must only select numbers."""
    if not isinstance(op, scf.IfOp):
        return not op.regions
    are_numbers = not any(types.is_tensor(result.type) for result in op.results)
    return are_numbers and bool(op.results) and not any(inner.regions for inner in ops_inside(op))


def is_harmless(op: Operation) -> bool:
    """Whether an op neither fails nor has an effect, because trips have no order."""
    return bool(op.regions) or is_terminator(op.__class__) or (isinstance(op, NdOp) and has_no_effect(op))


def _gain(loop: scf.ForOp, functions: Sequence[Operation]) -> float:
    """The cost that vectors save in each trip; for a branch, the trips that take the other side count against it."""
    return sum(of_op(op) if op.parent is loop.body.block else of_op(op) / 2 for op in functions)


def _further_places(places: Mapping[Operation, MovingPlace | None]) -> int:
    """The number of places at which trips read arrays, without the first one of each array."""
    read = {(subset.array, place) for op, place in places.items() if (subset := read_subset(op)) is not None}
    return len(read) - len({array for array, _ in read})


# --- carries ----------------------------------------------------------------------------------------------------


def _writes(loop: scf.ForOp, carry: Carry) -> Writes | None:
    """The carry as an array that each trip writes elements of."""
    writes: list[Operation] = []
    versions = [carry.yielded]
    while versions[-1] is not carry.arg:
        op = versions[-1].owner
        write = written_subset(op)
        is_element = write is not None and not types.is_tensor(write.part.type)
        if write is None or not is_element or write.change is Change.OTHER or op.parent is not loop.body.block:
            return None
        assert isinstance(op, Operation)
        writes.append(op)
        versions.append(write.array)
    return Writes(carry, tuple(reversed(writes)), tuple(reversed(versions))) if writes else None


def _sum(loop: scf.ForOp, carry: Carry) -> Sum | None:
    """The carry as a number that each trip adds to."""
    op, type = carry.yielded.owner, carry.arg.type
    if (type not in (types.F32, types.F64) and not isinstance(type, IntegerType)) or types.is_bool(type):
        return None
    if not isinstance(op, NdOp) or op.parent is not loop.body.block:
        return None
    if carry.arg.uses.get_length() != 1 or carry.yielded.uses.get_length() != 1 or carry.arg not in op.operands:
        return None
    index = list(op.operands).index(carry.arg)
    with building(Block()):
        return None if op.addend(index, [Expr(operand) for operand in op.operands]) is None else Sum(carry, op, index)


# --- places -----------------------------------------------------------------------------------------------------


def _place(indices: Sequence[SSAValue], loop: scf.ForOp) -> MovingPlace | None:
    """The place given by indices, if only one of them moves, by the same step in each trip."""
    if any(types.is_tensor(index.type) for index in indices):
        return None
    own, forms = Trip(loop), tuple(map(linear, indices))
    moving = [axis for axis, form in enumerate(forms) if own in form.terms]
    others = (term for form in forms for term in form.terms if term != own)
    if len(moving) > 1 or not all(stays(term, loop) for term in others):
        return None
    step = forms[moving[0]].terms[own] if moving else 0
    return MovingPlace(forms, moving[0] if moving else None, step) if abs(step) < LONGEST_STEP else None


def _lead(one: MovingPlace, other: MovingPlace) -> _Lead:
    """By how many trips `one` is ahead of `other`: `other` reaches the same element that many trips later."""
    differences = [(a - b).value for a, b in zip(one.indices, other.indices, strict=True)]
    for axis, difference in enumerate(differences):
        if axis not in (one.axis, other.axis) and difference:
            return _Apart.APART
    if one.axis is None or one.axis != other.axis or one.step != other.step:
        return None
    difference = differences[one.axis]
    if difference is None:
        return None
    return _Apart.APART if difference % one.step else difference // one.step


def is_counted(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value is an i64 that moves by the same step in each trip."""
    own = Trip(loop)
    return value.type == types.I64 and all(term == own or stays(term, loop) for term in linear(value).terms)


def _is_contiguous(place: MovingPlace | None) -> bool:
    """Whether neighbouring trips access neighbouring elements, so that vectors can be stored."""
    return place is not None and place.axis == len(place.indices) - 1 and abs(place.step) == 1


@dataclass(frozen=True)
class _Reading:
    """arrays: the arrays that change in the loop, with their writes."""

    trips: IndependentTrips
    arrays: Mapping[SSAValue, Writes]

    def is_known(self, op: Operation) -> bool:
        """Whether an op can be computed for all trips at once, or once for all trips."""
        if op.regions or is_terminator(op.__class__):
            return True
        subset, differing = accessed_subset(op), self.trips.varying
        if subset is None or types.is_tensor(subset.part.type):
            is_once = differing.isdisjoint(op.results) and read_subset(op) is None and self._leaves_loops
            return is_once or not any(types.is_tensor(value.type) for value in (*op.operands, *op.results))
        if subset.array in self.arrays:
            return subset.change is Change.NONE or op in self.arrays[subset.array].writes
        return subset.array not in differing and subset.change is Change.NONE and self._is_in_range(op, subset)

    @property
    def _leaves_loops(self) -> bool:
        """Whether an array that all trips share is created before all loops; otherwise each outer trip had its
        cotangent."""
        around = loops_around(self.trips.loop.parent)
        return all(isinstance(each.op, scf.ForOp) and trip_count(each.op) for each in around)

    def _is_in_range(self, op: Operation, subset: Subset) -> bool:
        """Whether an element may be read for every trip, even if the loop makes none, or a branch is around the
        read."""
        place, body = self.trips.places[op], self.trips.loop.body.block
        if op.parent is body and (place is None or place.axis is not None):
            return True
        if place is None:
            return False
        if self._is_static(place, types.shape(subset.array.type)):
            return True
        if trip_count(self.trips.loop) is None and place.axis is None:
            return False
        return any(
            other.parent is body and self.trips.places[other] == place and read.array is subset.array
            for other in ops_of(body)
            if (read := read_subset(other)) is not None
        )

    def _is_static(self, place: MovingPlace, shape: Sequence[int]) -> bool:
        """Whether all numbers are known that keep the place inside an array of that shape."""
        count, own = trip_count(self.trips.loop), Trip(self.trips.loop)
        for form, size in zip(place.indices, shape, strict=True):
            moved = form.terms.get(own, 0)
            if len(form.terms) > bool(moved) or (moved and count is None):
                return False
            ends = form.constant, form.constant + moved * ((count or 1) - 1)
            if not (min(ends) >= 0 and max(ends) < size):
                return False
        return True

    def are_in_step(self, writes: Writes) -> bool:
        """Whether no trip needs a value that an earlier trip has overwritten or written."""
        places = [self.trips.places[op] for op in writes.writes]
        for number, version in enumerate(writes.versions):
            for use in version.uses:
                if (read := read_subset(use.operation)) is None:
                    continue
                for earlier, place in enumerate(places):
                    lead = self._lead_of(use.operation, place)
                    if lead is None or (lead is not _Apart.APART and (lead < 0 or (lead > 0 and earlier < number))):
                        return False
                if use.operation.parent is not self.trips.loop.body.block and not self._is_in_range(
                    use.operation, read
                ):
                    return False
        return all(map(_is_contiguous, places)) and all(
            self._lead_of(op, place) in (0, _Apart.APART) for op in writes.writes for place in places
        )

    def _lead_of(self, op: Operation, other: MovingPlace | None) -> _Lead:
        place, most = self.trips.places[op], largest(self.trips.loop.ub)
        lead = None if place is None or other is None else _lead(place, other)
        # Places that are further apart than the loop has trips, such as those of two views of one array.
        return _Apart.APART if isinstance(lead, int) and abs(lead) >= most else lead
