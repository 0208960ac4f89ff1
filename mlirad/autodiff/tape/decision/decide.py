"""Decides which values the tape stores, which are recomputed, and which writes are undone, at the least total cost.

Reads: the forward sweep, and the forward values that the reverse sweep names. Writes: nothing. Gives: the decision.
The decision is one minimum cut of a network. Storing a value costs bytes times trips. Undoing the writes of an array
costs the bytes of the overwritten elements times trips.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from types import MappingProxyType
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import Carry, Loop, LoopOp, StructuredOp, block_of
from mlirad.autodiff.final import FinalArrays
from mlirad.autodiff.tape.decision.cut import Network
from mlirad.autodiff.tape.decision.entries import Entries
from mlirad.autodiff.tape.decision.forward_values import ForwardValue, op_of
from mlirad.autodiff.tape.decision.histories import Histories
from mlirad.autodiff.tape.decision.in_time import Timing, reverse_of
from mlirad.autodiff.tape.decision.narrow_indices import narrow_indices
from mlirad.autodiff.tape.decision.plans import Decision, Plan, Reread, Undoing
from mlirad.autodiff.tape.decision.reach import Reach, Reached
from mlirad.autodiff.tape.decision.recovery import Recovery
from mlirad.dialect.ad.sweep_markers import ReplayOp, ResidualOp
from mlirad.dialect.core import types
from mlirad.errors import DifferentiationError

Key = TypeVar("Key")
Value = TypeVar("Value")


def decide(entry: Block, replays: Mapping[Block, ReplayOp], needed: Mapping[ResidualOp, SSAValue]) -> Decision:
    """The recovery plans of the function whose own block is `entry`.

    replays: for each block that has a reverse. needed: the forward value of each residual.
    Raises DifferentiationError if a needed value can neither be stored nor be recovered.
    """
    histories, final = Histories(entry), FinalArrays(entry)
    timing = Timing(histories, final, replays, needed)
    reach = Reach(Recovery(entry, final, histories.readings), histories, list(dict.fromkeys(needed.values())))
    reached = reach.reach(())
    while bad := {*timing.impossible(reach, reached), *timing.too_late(reached)}:
        reach = replace(reach, recovery=reach.recovery.without(bad))
        reached = reach.reach(())
    stored = _cut(reach, reached)
    if carried := _carried(reach.recovery, reached, stored, replays):
        reach = replace(reach, recovery=reach.recovery.carrying(carried))
        stored = _cut(reach, reach.reach(()))
    return _decision(reach, timing, stored)


def _decision(reach: Reach, timing: Timing, stored: set[ForwardValue]) -> Decision:
    """The decision that follows from the stored values."""
    recovery, final = reach.recovery, reach.reach(stored)
    plans: dict[ForwardValue, Plan] = {}
    for value in final.users:
        if isinstance(value, SSAValue) and value not in stored and not recovery.is_visible(value):
            plan = recovery.plan(value)
            assert plan is not None, "a value that cannot be recomputed is stored"
            plans[value] = plan
    kept = [value for value in final.users if value in stored and not recovery.is_visible(value)]
    entries = Entries(recovery, plans, narrow_indices(final.users, kept, reach.needed))
    entries.store(kept)
    return Decision(MappingProxyType(plans), tuple(entries.tapes), _undoing(reach, timing, final))


def _undoing(reach: Reach, timing: Timing, final: Reached) -> Undoing:
    """How the reverse sweep restores the versions that are re-read."""
    finals: dict[StructuredOp, dict[SSAValue, None]] = {}
    at_head: dict[Block, list[tuple[SSAValue, SSAValue]]] = {}
    through: dict[Operation, list[tuple[SSAValue, SSAValue]]] = {}
    in_place: dict[SSAValue, Reread] = {}
    for value, reading in final.readings.items():
        history = reach.histories.history(reading)
        finals.setdefault(history.root, {}).update(dict.fromkeys(history.finals))
        if reading.through is not None:
            through.setdefault(reading.through, []).append((value, reading.version))
        elif timing.is_at_head(reading):
            assert reading.origin.head is not None
            at_head.setdefault(block_of(value), []).append((value, reading.origin.head))
        else:
            plan = reach.recovery.plan(value)
            assert isinstance(plan, Reread)
            in_place[value] = plan
    findings = reach.histories.findings
    return Undoing(
        finals=_frozen(finals),
        threaded=MappingProxyType(dict(findings.threaded)),
        exchanging=frozenset(findings.exchanging),
        restored=MappingProxyType(dict(findings.restored)),
        undone=MappingProxyType(dict(final.undone)),
        at_head=_frozen(at_head),
        through=_frozen(through),
        in_place=MappingProxyType(in_place),
    )


def _frozen(lists: Mapping[Key, Iterable[Value]]) -> Mapping[Key, tuple[Value, ...]]:
    return MappingProxyType({key: tuple(values) for key, values in lists.items()})


# --- what a loop carries ------------------------------------------------------------------------------------------


def _carried(
    recovery: Recovery, reached: Reached, stored: set[ForwardValue], replays: Mapping[Block, ReplayOp]
) -> dict[SSAValue, Carry]:
    """Numbers yielded for a carry whose argument is stored: each is the argument in the next trip.

    After the last trip the number is the loop's result, which is visible if the loop is not inside another.
    """
    carried: dict[SSAValue, Carry] = {}
    for op in recovery.entry.ops:
        if not isinstance(op, LoopOp) or reverse_of(op, replays) is None:
            continue
        for carry in Loop(op).carries:
            value = carry.yielded
            is_wanted = value in reached.users and block_of(value) is Loop(op).body
            if is_wanted and carry.arg in stored and value not in carried and not types.is_tensor(value.type):
                if recovery.plan(carry.arg) is None and not _comes_back(carry.arg, value, carried):
                    carried[value] = carry
    return carried


def _comes_back(arg: SSAValue, value: SSAValue, carried: Mapping[SSAValue, Carry]) -> bool:
    """Whether an argument comes, through the trips, from `value` itself, for example if two carries are exchanged."""
    while arg is not value and arg in carried:
        arg = carried[arg].arg
    return arg is value


# --- the cut ------------------------------------------------------------------------------------------------------


def _cut(reach: Reach, reached: Reached) -> set[ForwardValue]:
    """Which values to store so that all other needed values can be recovered, at the least cost.

    Each value is an edge whose capacity is the cost of storing it; a source edge adds the cost of recomputing it. Edges
    between values cannot be cut. Example: y = sin(x), which a residual needs:

        source --inf--> (x, in) --price--> (x, out) --inf--> (y, in) --price--> (y, out) --inf--> sink
        source --cost of sin-----------------------------------^
    """
    recovery, network = reach.recovery, Network("source", "sink")
    overwritten = set(reached.undone.values())
    for value in reach.needed:
        if not recovery.is_free(value):
            network.edge((value, "out"), "sink", inf)
    values = [value for value in reached.users if not recovery.is_free(value)]
    for value in values:
        network.edge((value, "in"), (value, "out"), recovery.price(value))
        is_needed_itself = recovery.is_visible(value) or value in overwritten
        plan = recovery.plan(value) if isinstance(value, SSAValue) and not is_needed_itself else None
        if plan is None or not isinstance(value, SSAValue):
            network.edge("source", (value, "in"), inf)
            continue
        network.edge("source", (value, "in"), plan.cost * recovery.trips(block_of(value)))
        for operand in reach.operands(value):
            if not recovery.is_free(operand):
                network.edge((operand, "out"), (value, "in"), inf)
    side = network.cut()
    if side is None:
        raise _not_recoverable(values)
    return {value for value in values if (value, "in") in side and (value, "out") not in side}


def _not_recoverable(values: Iterable[ForwardValue]) -> DifferentiationError:
    arrays = [value for value in values if not types.is_static(value.type)]
    ops = [op for value in arrays if (op := op_of(value)) is not None]
    place = types.from_location(ops[0].location) if ops else None
    return DifferentiationError(
        "the derivative needs this array again in every trip, and its size has no bound that is known before the call",
        place,
        "take a slice of an array whose shape is known",
    )
