"""The forward sweep and the pullback of a function that is called in several places.

Reads: a function that does not call itself. Writes: two private functions of the module. Leaves: a Halved, which lists
the values that a caller has to store between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from mlirad.analysis.call_graph import SHARED, set_written
from mlirad.autodiff.call_adjoint import record
from mlirad.autodiff.callees import Callees, Crossing, Halved, Signature, returned_by
from mlirad.autodiff.naming import erase_dead
from mlirad.autodiff.requests.cut_at_turn import halves_at_turn, private_function, second_half
from mlirad.autodiff.requests.recomputed import is_checkpointed, recomputed
from mlirad.autodiff.requests.reverse_sweep import copied, reverse, set_results
from mlirad.autodiff.tape.tape import close, has_markers
from mlirad.dialect.ad.sweep_markers import TurnOp
from mlirad.dialect.core.expr import insert, located


def halved(callees: Callees, wanted: Signature) -> Halved:
    """The forward sweep and pullback of a function that does not call itself. The tape is closed and the function cut
    here, so that a caller knows which values to store between the two."""
    part = wanted.part
    if is_checkpointed(callees.functions[part.callee]):
        return recomputed(callees, wanted)
    function, live = copied(callees, part.callee, f"{part.callee}.joined", part.wrt, part.outs, part)
    entry = function.body.block
    wrt = [entry.args[number] for number in part.wrt]
    accumulated = [entry.args[number] for number in wanted.accumulated]
    recorded = record(callees, function, live)
    returned = returned_by(function)
    outs = [returned[number] for number in part.outs]

    def cotangents() -> Sequence[SSAValue]:
        return insert(TurnOp.of(returned, [value.type for value in (*outs, *accumulated)])).cotangents

    with located(function.location):
        set_results(function, reverse(function, live, wrt, outs, cotangents, recorded, accumulated))
    erase_dead(entry, None)
    if has_markers(function):
        close(entry)
    turn, after, values, constants = halves_at_turn(entry)
    own: dict[SSAValue, Crossing] = {value: Crossing(True, value.index) for value in entry.args}
    more = [value for value in values if value not in own and value not in returned]
    results = [*turn.values, *more]
    crossing = tuple(own[value] if value in own else Crossing(False, results.index(value)) for value in values)
    pullback = private_function(
        callees.module, f"{part.callee}.pullback", second_half(after, constants, [*values, *turn.cotangents])
    )
    entry.insert_op_before(end := func.ReturnOp(*results), turn)
    end.location = turn.location
    turn.detach()
    turn.erase()
    function.detach()
    forward = private_function(callees.module, f"{part.callee}.forward", function.body.detach_block(entry))
    for half, written in ((forward, wanted.written), (pullback, wanted.pullback_written(len(values)))):
        set_written(half, written)
        half.attributes[SHARED] = UnitAttr()
    names = forward.sym_name.data, pullback.sym_name.data
    types_of_more = tuple(value.type for value in more)
    return Halved(part, wanted.inputs, wanted.outputs, wanted.written, *names, crossing, types_of_more)
