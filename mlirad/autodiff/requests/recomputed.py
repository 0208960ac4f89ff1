"""The pullback of a checkpointed function, which reruns the function from its arguments.

Reads: a function with the attribute `ad.checkpoint`. Writes: its pullback, a private function that is not inlined.
Leaves: the function, which is its own forward sweep (or its recording version is: see `replays.py`), and a Halved: the
operands of the call cross to the pullback.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import SSAValue

from mlirad.analysis.call_graph import APART, SHARED, set_written
from mlirad.autodiff.call_adjoint import record
from mlirad.autodiff.callees import Callees, Crossing, Halved, Signature, returned_by
from mlirad.autodiff.checkpoint import require_repeatable
from mlirad.autodiff.naming import erase_dead, hint_cotangent
from mlirad.autodiff.replays import drop_unrepeatable, is_recorded, recording_function, replaying_function
from mlirad.autodiff.requests.budget import keep_within
from mlirad.autodiff.requests.reverse_sweep import copied, reverse, set_results
from mlirad.dialect.ad.notes import BUDGET, CHECKPOINT
from mlirad.dialect.core.expr import located


def is_checkpointed(function: func.FuncOp) -> bool:
    return CHECKPOINT in function.attributes


def recomputed(callees: Callees, wanted: Signature) -> Halved:
    """A function and its pullback, which takes the operands that it needs, and the cotangents. The pullback is also
    checkpointed, so the next order stores as little."""
    part = wanted.part
    is_replayed = is_recorded(callees, part.callee)
    forward = recording_function(callees, part.callee) if is_replayed else part.callee
    again = replaying_function(callees, part.callee) if is_replayed else part.callee
    require_repeatable(callees.functions[again], set(), "the derivative of a checkpointed function runs it again")
    name = f"{part.callee}.pullback"
    function, live = copied(callees, again, name, part.wrt, part.outs, part)
    drop_unrepeatable(function.body.block)
    own = callees.functions[part.callee].attributes.get(BUDGET)
    live = keep_within(
        callees, function, part.wrt, part.outs, live, own.value.data if isinstance(own, IntegerAttr) else None
    )
    entry = function.body.block
    args = list(entry.args)[: len(wanted.inputs)]
    recorded, returned = record(callees, function, live), returned_by(function)
    outs = [returned[number] for number in part.outs]

    def cotangents() -> Sequence[SSAValue]:
        given = [*outs, *(args[number] for number in wanted.accumulated)]
        made = [entry.insert_arg(value.type, len(entry.args)) for value in given]
        for arg, value in zip(made, given, strict=True):
            hint_cotangent(arg, value)
        return made

    with located(function.location):
        wrt, accumulated = ([args[number] for number in which] for which in (part.wrt, wanted.accumulated))
        set_results(function, reverse(function, live, wrt, outs, cotangents, recorded, accumulated))
    erase_dead(entry, None)
    for arg in args:
        if arg.first_use is None:
            entry.erase_arg(arg)
    needed = [number for number, arg in enumerate(args) if arg in entry.args]
    set_results(function, returned_by(function))
    taken = len(entry.args) - len(outs) - len(wanted.accumulated)
    set_written(function, wanted.pullback_written(taken))
    function.attributes.pop(SHARED, None)
    function.attributes[APART] = UnitAttr()
    crossing = tuple(Crossing(True, number) for number in needed)
    names = forward, function.sym_name.data
    return Halved(part, wanted.inputs, wanted.outputs, wanted.written, *names, crossing, is_replayed=is_replayed)
