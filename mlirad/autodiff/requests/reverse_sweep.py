"""Copies a function and appends its reverse sweep.

Reads: a function of the module, and the arguments and results through which a derivative flows. Writes: a private copy,
with the ops of the reverse sweep. Leaves: the cotangents of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, StringAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import terminator
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.adjoint import Adjoint
from mlirad.autodiff.call_adjoint import Recorded
from mlirad.autodiff.callees import Callees, Part
from mlirad.autodiff.cotangents import Cotangents
from mlirad.autodiff.naming import Mirror
from mlirad.autodiff.needed import needed
from mlirad.autodiff.private_functions import free_name
from mlirad.autodiff.requests.linear_rules import spell_linearly
from mlirad.autodiff.trip_counters import count_trips
from mlirad.dialect.ad.notes import LINEARIZED, TRANSPOSED
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, located
from mlirad.xdsl_support.traversal import find


def copied(
    callees: Callees, callee: str, name: str, wrt: Sequence[int], outs: Sequence[int], part: Part | None = None
) -> tuple[func.FuncOp, Activity]:
    """A private copy of a function at the module's end, and its activity. part: if called, how it is differentiated."""
    original = callees.functions[callee]
    function = original.clone()
    if part is not None and part.is_linearized:
        function.attributes[LINEARIZED] = UnitAttr()
    if part is not None and part.is_transposed:
        function.attributes[TRANSPOSED] = UnitAttr()
        spell_linearly(function, wrt)
    function.location = original.location
    function.properties["sym_name"] = StringAttr(free_name(callees.module, name))
    function.properties["sym_visibility"] = StringAttr("private")
    function.properties.pop("arg_attrs", None)
    function.properties.pop("res_attrs", None)
    callees.module.body.block.add_op(function)
    live = callees.active_in(function, wrt, outs)
    for loop in find(function, scf.WhileOp):
        if live.is_live(loop):
            count_trips(loop)
    return function, live


def reverse(
    function: func.FuncOp,
    live: Activity,
    wrt: Sequence[SSAValue],
    outs: Sequence[SSAValue],
    cotangents_of_outs: Callable[[], Sequence[SSAValue]],
    recorded: Recorded,
    accumulated: Sequence[SSAValue] = (),
    may_need: bool = True,
) -> list[SSAValue]:
    """Append the reverse sweep to the function's body. Returns the cotangents of `wrt`.

    cotangents_of_outs also returns, after those, the cotangents so far of the arguments `accumulated`. may_need: if
    False, the cotangent of an output may be 0 at elements that are not needed.
    """
    block = function.body.block
    end = terminator(block)
    last = end.prev_op
    is_scalar = may_need and len(outs) == 1 and not types.is_tensor(outs[0].type) and not accumulated
    needs = needed(function, live, outs) if is_scalar else frozenset()
    is_linearized = LINEARIZED in function.attributes
    adjoint = Adjoint(live, needs, recorded=recorded, annihilates=not is_linearized)
    at, cotangents = Mirror(block), Cotangents()
    with building(InsertPoint.before(end)), located(end.location):
        given = cotangents_of_outs()
        last_reverse = end.prev_op  # an `ad.turn` belongs to neither sweep
        so_far = dict(zip(accumulated, given[len(outs) :], strict=True))
        for value, g in (*zip(outs, given, strict=False), *so_far.items()):
            adjoint.add(cotangents, value, Expr(g), at)
        if last is not None:
            adjoint.block(block, last, cotangents, at)
        for arg in wrt:
            if arg not in cotangents:
                cotangents[arg] = Expr(so_far[arg]) if arg in so_far else adjoint.zeros_like(arg, at)
        gradients = [cotangents[arg] for arg in wrt]
    recorded.loops.erase()
    end.operands = [g.value for g in gradients]
    adjoint.naming.close(block, last_reverse)
    return list(end.operands)


def set_results(function: func.FuncOp, results: Sequence[SSAValue]) -> None:
    block = function.body.block
    terminator(block).operands = results
    function.function_type = FunctionType.from_lists([arg.type for arg in block.args], [r.type for r in results])
