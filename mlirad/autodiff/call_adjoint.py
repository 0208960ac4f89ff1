"""The adjoint of a call: the callee's pullback, applied to the values that its forward sweep saved.

Reads: functions with live calls. Writes: calls of forward sweeps; later, in the reverse sweep, calls of pullbacks.
Leaves: no live call without its forward sweep.

The forward sweep of a function that does not call itself returns what its pullback needs, and the caller stores it like
its own values. A function that calls itself appends a record to two tapes, one of floats and one of integers, which are
threaded through the calls. Each forward sweep returns the offset of its record. Records never change, so a pullback
reads the tapes in their final state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import LoopOp, add_results, add_results_of
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.callees import FLOATS, INTEGERS, Callees, Halved, Reversed, live_calls, retarget
from mlirad.autodiff.cotangents import Cotangents, Reverse
from mlirad.autodiff.naming import Mirror
from mlirad.autodiff.replays import PLACES, ReplayedLoops, State, recording, threaded
from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.ad.tape import FIRST_CAPACITY, new_tape
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, insert, located
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.traversal import ops_inside


@dataclass
class Recorded:
    """The calls of forward sweeps in one function, and its loops that are replayed. state: the tapes at the end; tapes:
    the tapes that pullbacks read. begins: the offset of each call's record."""

    loops: ReplayedLoops
    sites: dict[Operation, Reversed | Halved] = field(default_factory=dict)
    state: State = ()
    tapes: tuple[SSAValue, SSAValue] | None = None
    begins: dict[Operation, State] = field(default_factory=dict)


def record(
    callees: Callees, function: func.FuncOp, live: Activity, state: Sequence[SSAValue] | None = None
) -> Recorded:
    """Make the live calls, and the loops that are replayed, record what their reverse needs. state: the tapes, if the
    function receives them."""
    recorded = Recorded(loops := ReplayedLoops(callees))
    for op in ops_inside(function):
        if isinstance(op, LoopOp) and CHECKPOINT in op.attributes and live.is_live(op):
            loops.add(op)
    calls = [call for call in live_calls(function, live) if call not in loops.inside]
    if state is None and not calls and not loops.sites:
        return recorded
    parts = callees.parts(function, live)
    threading: set[Operation] = set(loops.sites)
    for call in calls:
        if (halved := callees.halved(parts[call.callee.string_value()])) is None:
            _require_plain(callees.functions[call.callee.string_value()])
            threading.add(call)
            continue
        recorded.sites[call] = halved
        if halved.is_replayed:
            threading.add(call)
        else:
            retarget(call, halved.forward, ())
            add_results_of(call, halved.more)
    if state is None and not threading:
        return recorded
    entry = function.body.block
    if state is None:
        state = _new_tapes(entry)

    def forward(op: Operation, current: State) -> State:
        if op in loops.sites:
            return recording(callees, op, current)
        assert isinstance(op, func.CallOp)
        site = recorded.sites.get(op)
        if site is not None:
            recorded.begins[op] = tuple(current[place] for place in PLACES)
            retarget(op, site.forward, current)
            return add_results(op, current)
        recorded.sites[op] = site = callees.reversed(parts[op.callee.string_value()])
        retarget(op, site.forward, current)
        return add_results(op, [*current, current[1]])[:4]  # the last result is the record's offset

    recorded.state = threaded(entry, tuple(state), threading, forward)
    recorded.tapes = recorded.state[0], recorded.state[2]
    return recorded


def _require_plain(function: func.FuncOp) -> None:
    if CHECKPOINT in function.attributes:
        raise DifferentiationError(
            "a function that calls itself is checkpointed, and its calls share a record",
            types.from_location(function.location),
            "checkpoint what it computes between the calls",
        )


def _new_tapes(entry: Block) -> State:
    first = entry.first_op
    assert first is not None
    with building(InsertPoint.before(first)), located(first.location):
        size, zero = constant(FIRST_CAPACITY, types.I64), constant(0, types.I64)
        floats, integers = (new_tape(type, 0, size) for type in (FLOATS, INTEGERS))
    return floats.value, zero.value, integers.value, zero.value


def reverse_call(adjoint: Reverse, op: func.CallOp, recorded: Recorded, cotangents: Cotangents, at: Mirror) -> None:
    """Call the pullback. The cotangents of arrays that the callee only reads are threaded through it, as through a
    loop."""
    site = recorded.sites[op]
    part, live = site.part, adjoint.activity.live
    gs = [cotangents.pop(op.results[number], None) for number in part.outs]
    gs = [adjoint.zeros_like(op.results[n], at) if g is None else g for n, g in zip(part.outs, gs, strict=True)]
    so_far: list[Expr] = []
    for number in site.accumulated:
        value = op.operands[number]
        g = cotangents.pop(value, None) if value in live else None
        so_far.append(adjoint.zeros_like(value, at) if g is None else g)
    given = [each.value for each in (*gs, *so_far)]
    if isinstance(site, Halved):
        crossing = [(op.operands if each.is_operand else op.results)[each.number] for each in site.crossing]
        if site.is_replayed:
            assert recorded.tapes is not None
            crossing += [*recorded.tapes, *recorded.begins[op]]
        operands = [*(adjoint.name(value, at).value for value in crossing), *given]
    else:
        assert recorded.tapes is not None
        kept = [adjoint.name(op.operands[number], at).value for number in site.kept]
        operands = [*recorded.tapes, adjoint.name(op.results[-1], at).value, *given, *kept]
    call = insert(func.CallOp(site.pullback, operands, [site.inputs[number] for number in part.wrt]))
    for number, gradient in zip(part.wrt, call.results, strict=True):
        adjoint.add(cotangents, op.operands[number], Expr(gradient), at)
