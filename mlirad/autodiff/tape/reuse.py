"""Reuses values of the forward sweep, where the reverse sweep would compute the same function again.

Reads: functions with residual markers. Writes: residuals of forward values, added to the records, in place of functions
of residuals. Leaves: arrays, and ops that cost no more than a few additions.

The derivative of `sin(x)` needs `cos(x)`. If the program also computes `cos(x)`, CSE finds it in straight code. But a
reverse branch or loop does not see the values of its forward block, so CSE misses it there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis import cost
from mlirad.analysis.constants import contents_of
from mlirad.autodiff.tape.decision.recovery import ROUNDED_EXACTLY
from mlirad.dialect.ad.sweep_markers import RecordOp, ReplayOp, ResidualOp
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import Verb, may
from mlirad.dialect.core.op import NdOp


def reuse(entry: Block) -> None:
    """Reuse values in the function whose own block is `entry`."""
    records = {op.block.value.data: op for op in entry.walk() if isinstance(op, RecordOp)}
    functions = [op for op in entry.walk() if _is_costly_function(op)]
    forward: dict[Hashable, list[Operation]] = {}
    for op in functions:
        if not any(map(_trip_of, op.operands)):
            forward.setdefault(_key(op, op.operands), []).append(op)
    for op in functions:
        trips = [trip for operand in op.operands if (trip := _trip_of(operand)) is not None]
        if not trips:
            continue
        for same in forward.get(_key(op, [_meaning(operand, records) for operand in op.operands]), ()):
            if (trip := _trip_in(same, trips, records)) is not None:
                _replace(op, same, trip, records)
                break


def _is_costly_function(op: Operation) -> bool:
    """Whether an op is a costly function of numbers, with one result."""
    if not isinstance(op, NdOp) or len(op.results) != 1 or op.regions or not may(op, Verb.RECOMPUTE):
        return False
    is_array = any(types.is_tensor(value.type) for value in (*op.operands, *op.results))
    return not is_array and cost.of_op(op) > ROUNDED_EXACTLY


def _trip_of(value: SSAValue) -> ReplayOp | None:
    """The trip that a residual belongs to."""
    trip = value.owner.trip.owner if isinstance(value.owner, ResidualOp) else None
    return trip if isinstance(trip, ReplayOp) else None


def _meaning(value: SSAValue, records: Mapping[int, RecordOp]) -> SSAValue:
    """The forward value of a residual."""
    trip = _trip_of(value)
    if trip is None or not isinstance(value.owner, ResidualOp):
        return value
    return records[trip.block.value.data].values[value.owner.number.value.data]


def _key(op: Operation, operands: Sequence[SSAValue]) -> Hashable:
    """A key that is equal for two ops that compute the same. Constants are compared by their values."""
    values: list[SSAValue | Attribute] = [contents_of(value) or value for value in operands]
    return type(op), tuple(values), op.results[0].type, tuple(op.properties.items())


def _trip_in(op: Operation, trips: list[ReplayOp], records: Mapping[int, RecordOp]) -> ReplayOp | None:
    """The trip, among these and those around them, whose forward block contains an op."""
    for trip in trips:
        around: Operation | Block | None = trip
        while isinstance(around, ReplayOp):
            if records[around.block.value.data].parent is op.parent:
                return around
            around = around.outer.owner if around.outer is not None else None
    return None


def _replace(op: Operation, same: Operation, trip: ReplayOp, records: Mapping[int, RecordOp]) -> None:
    (value,), record = same.results, records[trip.block.value.data]
    if value not in record.values:
        record.operands = [*record.operands, value]
    residual = ResidualOp.of(trip.trip, list(record.values).index(value), value.type)
    residual.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(residual, op)
    residual.result.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(residual.result)
    op.detach()
    op.erase()
