"""Keeps the reverse sweep of a function within a memory budget: checkpoints its loops, cuts its straight code.

Reads: a function that will be reversed. Writes: `ad.checkpoint` on loops; checkpointed functions for straight code.
Leaves: a function that fits in the budget without any change. The memory of the plain reverse is measured: the tape is
decided on a copy.

Let a loop have a tape of `trip` bytes for each trip, and a state of `state` bytes. It gets half of the budget for
states, and half for the tape of a leg: of all such divisions, this one lets the most trips be rerun only once. If a
trip does not fit, or its size is known only at run time, the loop is undone trip by trip, each trip within half of the
budget: see `checkpoint.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import Loop, LoopOp, terminator
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.call_adjoint import record
from mlirad.autodiff.callees import Callees, returned_by
from mlirad.autodiff.checkpoint import Legs, Trips
from mlirad.autodiff.naming import erase_dead
from mlirad.autodiff.replays import bytes_recorded
from mlirad.autodiff.requests.reverse_sweep import reverse
from mlirad.autodiff.requests.segments import Line, cut_in_segments
from mlirad.autodiff.tape.decision.decide import decide
from mlirad.autodiff.tape.decision.plans import Decision, TapePlan
from mlirad.autodiff.tape.tape import find_markers
from mlirad.dialect.ad.notes import BUDGET, CHECKPOINT, RECOVERED, UNBOUNDED
from mlirad.dialect.ad.tape import FIRST_CAPACITY
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import located
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.traversal import ops_inside

SLOT = 8
"""The bytes of a state besides the state itself: the number of its leg."""


def budget_of(op: Operation) -> int | None:
    """The budget of a request or function, or of the module around it; None: no limit."""
    found: Attribute | None = None
    around: Operation | None = op
    while found is None and around is not None:
        found, around = around.attributes.get(BUDGET), around.parent_op()
    return found.value.data if isinstance(found, IntegerAttr) and found.value.data != UNBOUNDED else None


def keep_within(
    callees: Callees, function: func.FuncOp, wrt: Sequence[int], outs: Sequence[int], live: Activity, budget: int | None
) -> Activity:
    """Change a function so that its reverse stores at most `budget` bytes. Returns its activity.

    A function that already contains a reverse sweep is left unchanged: the budget is for first derivatives.
    """
    if budget is None or any(RECOVERED in op.attributes for op in ops_inside(function)):
        return live
    kept = kept_by(callees, function, wrt, outs)
    if kept.all is not None and kept.all <= budget:
        return live
    budget -= _recorded(callees, function)
    if kept.straight > budget // 2 and cut_in_segments(callees, function, kept.of_ops, budget):
        return callees.active_in(function, wrt, outs)
    _checkpoint_loops(callees, function, live, kept, budget)
    return live


def _recorded(callees: Callees, function: func.FuncOp) -> int:
    """An upper bound for the record of a function's draws. The record doubles when it grows."""
    size = bytes_recorded(callees, function.body.block)
    if size is None:
        raise DifferentiationError(
            "the reverse sweep stores the random numbers that are drawn here, and their count has no known bound",
            types.from_location(function.location),
            "draw the numbers before, and pass them in, or compile without a budget",
        )
    return 2 * max(size, 8 * FIRST_CAPACITY) if size else 0


# --- what is kept -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OfLoop:
    """The storage of the plain reverse for a loop: bytes per trip, and the trip count; None if known only at run
    time."""

    trip: int | None
    trips: int | None

    @property
    def all(self) -> int | None:
        return 0 if self.trip == 0 else None if self.trip is None or self.trips is None else self.trip * self.trips


@dataclass(frozen=True)
class Kept:
    """The forward values that the plain reverse of a function stores.

    values: the arrays of its own block, with their bytes. tapes: for each outermost loop.
    """

    values: Mapping[SSAValue, int]
    tapes: Mapping[Operation, OfLoop]

    @property
    def straight(self) -> int:
        return sum(self.values.values())

    @property
    def of_values(self) -> dict[Operation, int]:
        """The bytes of the arrays, by the ops that create them."""
        found: dict[Operation, int] = {}
        for value, size in self.values.items():
            assert isinstance(value.owner, Operation)
            found[value.owner] = found.get(value.owner, 0) + size
        return found

    @property
    def of_ops(self) -> dict[Operation, int]:
        """All bytes, by the ops of the function's own block."""
        found = self.of_values
        for op, tape in self.tapes.items():
            found[op] = found.get(op, 0) + (tape.all or 0)
        return found

    @property
    def all(self) -> int | None:
        """All bytes; None if they are known only at run time."""
        loops = [each.all for each in self.tapes.values()]
        known = [each for each in loops if each is not None]
        return self.straight + sum(known) if len(known) == len(loops) else None


def kept_by(callees: Callees, function: func.FuncOp, wrt: Sequence[int], outs: Sequence[int]) -> Kept:
    """The storage that the plain reverse needs, measured by reversing a copy."""
    copy = function.clone()
    copy.location = function.location
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    module.body.block.add_op(copy)
    own = dict(zip(_values(copy), _values(function), strict=True))
    ops = dict(zip(copy.walk(), function.walk(), strict=True))
    entry = copy.body.block
    last = terminator(entry).prev_op
    live = callees.active_in(copy, wrt, outs)
    recorded, returned = record(callees, copy, live), returned_by(copy)
    results = [returned[number] for number in outs]

    def cotangents() -> Sequence[SSAValue]:
        return [entry.insert_arg(out.type, len(entry.args)) for out in results]

    with located(copy.location):
        reverse(copy, live, [entry.args[number] for number in wrt], results, cotangents, recorded)
    erase_dead(entry, last)
    markers = find_markers(entry)
    decision = decide(entry, markers.reverse_blocks, markers.needed)
    values = {
        own.get(value, value): _bytes(value.type)
        for value in _used_later(entry, last, decision)
        if value not in returned
    }
    tapes = {ops[op]: found for op, found in _of_loops(decision) if op in ops}
    copy.detach()
    copy.erase(safe_erase=False)
    return Kept(values, tapes)


def _values(function: func.FuncOp) -> Iterator[SSAValue]:
    for op in function.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def _used_later(entry: Block, last: Operation | None, decision: Decision) -> dict[SSAValue, None]:
    """The arrays of the forward sweep's own block that the reverse sweep uses."""
    found: dict[SSAValue, None] = {}
    op = entry.first_op if last is None else last.next_op
    names = [operand for plan in decision.plans.values() for operand in plan.operands]
    names += [final for finals in decision.undoing.finals.values() for final in finals]
    while op is not None:
        names += [operand for inner in op.walk() for operand in inner.operands]
        op = op.next_op
    for value in names:
        if not isinstance(value, SSAValue) or not isinstance(op := value.owner, Operation) or op.parent is not entry:
            continue
        is_forward = last is not None and (op is last or op.is_before_in_block(last))
        if is_forward and types.is_tensor(value.type) and (op.operands or op.regions):
            found[value] = None
    return found


def _of_loops(decision: Decision) -> Iterator[tuple[Operation, OfLoop]]:
    """The tapes, by outermost loop."""
    plans: dict[LoopOp, list[TapePlan]] = {}
    for tape in decision.tapes:
        if tape.nest is not None:
            plans.setdefault(tape.nest.loops[0].op, []).append(tape)
    for op, tapes in plans.items():
        trips = [_bytes_of_a_trip(tape) for tape in tapes]
        known = [each for each in trips if each is not None]
        yield op, OfLoop(sum(known) if len(known) == len(trips) else None, _trips(Loop(op)))


def _bytes_of_a_trip(tape: TapePlan) -> int | None:
    """The bytes that a trip of the outermost loop appends to a tape."""
    assert tape.nest is not None
    counts = [_trips(loop) for loop in tape.nest.loops[1:]]
    row = tape.width * types.itemsize(tape.values[0].type)
    known = [count for count in counts if count is not None]
    return row * prod(known) if len(known) == len(counts) else None


def _trips(loop: Loop) -> int | None:
    return None if not isinstance(loop.op, scf.ForOp) or (n := constant_int(loop.op.ub)) is None else max(n, 0)


def _bytes(type: Attribute) -> int:
    """An array of a size known only at run time counts as 0."""
    return prod(types.shape(type)) * types.itemsize(type) if types.is_static(type) else 0


# --- loops --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpointed:
    """A loop that can be checkpointed. state: its bytes. trip: the bytes of a trip's tape; None if unknown. fixed:
    further bytes of a leg. least: the fewest bytes that the reverse of a single trip can store. initial: the bytes of
    the loop's initial arrays."""

    op: LoopOp
    state: int
    trip: int | None
    fixed: int
    least_of_trip: int
    initial: int

    @property
    def least(self) -> int:
        inside = self.least_of_trip if self.trip is None else min(self.least_of_trip, self.fixed + self.trip)
        return self.initial + self.state + SLOT + inside

    def legs(self, budget: int) -> Legs:
        """The legs for a budget of at least `least` bytes."""
        slot, budget = self.state + SLOT, budget - self.initial
        room = budget - self.fixed
        if self.trip is not None and slot + self.trip <= room:
            leg = max(min(room // 2, room - slot) // self.trip, 1)  # leaves room for one state, however long it is
            return Legs((room - leg * self.trip) // slot, leg, max((room - slot) // self.trip, leg))
        for_trip = min(max(self.least_of_trip, budget // 2), budget - slot)
        return Legs((budget - for_trip) // slot, budget=for_trip)


def _checkpoint_loops(callees: Callees, function: func.FuncOp, live: Activity, kept: Kept, budget: int) -> None:
    """Checkpoint the loops with the longest tapes, as many as necessary. They share the rest of the budget."""
    plain = {op: tape.all for op, tape in kept.tapes.items() if tape.all != 0}
    order = sorted(plain, key=lambda op: -inf if (size := plain[op]) is None else -size)
    loops: dict[Operation, Checkpointed] = {}
    for count, op in enumerate(order, 1):
        loops[op] = _checkpointed(callees, op, live)
        rest = [plain[each] for each in order[count:]]
        left = budget - kept.straight - sum(size or 0 for size in rest) - sum(each.least for each in loops.values())
        if None not in rest and left >= 0:
            for each in loops.values():
                each.op.attributes[CHECKPOINT] = each.legs(each.least + left // count).attribute
            return
    missing = least_of(function, kept, loops) - budget
    place = order[0] if order else max(kept.of_ops, key=lambda op: kept.of_ops[op], default=function)
    whole = budget_of(function.parent_op() or function)
    whole = budget if whole is None else whole
    raise DifferentiationError(
        f"the reverse sweep stores more than {whole:,} bytes of the forward sweep (checkpoint={whole})",
        types.from_location(place.location),
        f"the smallest possible budget is about {whole + max(missing, 1):,} bytes",
    )


def _checkpointed(callees: Callees, op: Operation, live: Activity) -> Checkpointed:
    assert isinstance(op, LoopOp)
    carries = Loop(op).carries
    carried = [n for n, carry in enumerate(carries) if carry.arg in live.live or carry.result in live.live]
    trips = Trips.of(op, carried, live.captured(op))
    kept = kept_by(callees, trips.run, trips.arguments(trips.run), trips.wrt)
    of_trip = [tape.trip for tape in kept.tapes.values()]
    known = [each for each in of_trip if each is not None]
    trip = max(sum(known), 1) if len(known) == len(of_trip) else None
    step = trips.step
    activity = callees.active_in(step, trips.arguments(step), trips.wrt)
    of_step = kept_by(callees, step, trips.arguments(step), trips.wrt)
    inner = {each: _checkpointed(callees, each, activity) for each, tape in of_step.tapes.items() if tape.all != 0}
    least = least_of(step, of_step, inner)
    for each in (trips.run, step):
        each.detach()
        each.erase(safe_erase=False)
    inits = [init for init in Loop(op).inits if isinstance(init.owner, Operation) and types.is_tensor(init.type)]
    return Checkpointed(op, _state_of(op), trip, kept.straight, least, sum(_bytes(init.type) for init in inits))


def least_of(function: func.FuncOp, kept: Kept, loops: Mapping[Operation, Checkpointed]) -> int:
    """The fewest bytes that the reverse of a function can store, approximately."""
    of_loops = {
        op: each.least if (plain := kept.tapes[op].all) is None else min(plain, each.least)
        for op, each in loops.items()
    }
    return Line.of(function.body.block, kept.of_values).least + sum(of_loops.values())


def _state_of(op: LoopOp) -> int:
    for arg in Loop(op).args:
        if not types.is_static(arg.type):
            raise DifferentiationError(
                f"the tape of this loop has no bound: it carries an array of unknown size, {arg.type}",
                types.from_location(op.location),
                "carry an array whose shape is known, or compile without a budget",
            )
    return sum(max(_bytes(arg.type), 8) for arg in Loop(op).args)
