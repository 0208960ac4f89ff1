"""Expands the innermost requests: those whose callee contains no further request.

Reads: func, scf, nd and ad requests. Writes: one private function per request (and callee, wrt, outs), and a call of
it. Leaves: residual markers for the tape; `ad.forward` and `ad.pullback`, whose joined function `mlirad-split` cuts in
two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from mlirad.analysis.call_graph import APART, SHARED, functions_of, set_written
from mlirad.analysis.loops import terminator
from mlirad.analysis.rule_attributes import own_rule
from mlirad.analysis.varying import varying
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.call_adjoint import record
from mlirad.autodiff.callees import (
    FLOATS,
    INTEGERS,
    TAPES,
    Callees,
    Halved,
    Pushed,
    Reversed,
    Signature,
    define,
    returned_by,
)
from mlirad.autodiff.naming import hint_cotangent
from mlirad.autodiff.records import RECORDED, recorded_attribute
from mlirad.autodiff.requests.batch import all_at_once
from mlirad.autodiff.requests.budget import budget_of, keep_within
from mlirad.autodiff.requests.by_own_rules import halved_by_rule, series_by_rule, tangent_by_rule
from mlirad.autodiff.requests.calls_on_paths import inline_calls
from mlirad.autodiff.requests.halves import halved
from mlirad.autodiff.requests.lane_blocks import block_by_block
from mlirad.autodiff.requests.lane_loop import lane_by_lane
from mlirad.autodiff.requests.paths import PathCounts, take_both_sides
from mlirad.autodiff.requests.reverse_sweep import copied, reverse, set_results
from mlirad.autodiff.requests.series_of_tangents import series_of_loop
from mlirad.autodiff.tangent import Tangent
from mlirad.autodiff.taylor import Taylor
from mlirad.dialect.ad.derivative_ops import ForwardOp, JetOp, JvpOp, PathsOp, PullbackOp, TransposeRequestOp, VjpOp
from mlirad.dialect.ad.notes import BUDGET, CHECKPOINT
from mlirad.dialect.ad.request_op import RequestOp
from mlirad.dialect.ad.sweep_markers import TurnOp
from mlirad.dialect.ad.vmap_op import VmapOp
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, building, insert, located
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.traversal import find

JOINED = "ad.joined"
"""On a function: its forward sweep and its pullback are still joined; the residuals have this type."""

Key = tuple[type[RequestOp], Attribute, tuple[Attribute, ...], Attribute | None]


def has_requests(module: ModuleOp) -> bool:
    """Whether the module contains a request for a derivative that is not expanded yet."""
    return bool(find(module, RequestOp))


@dataclass(frozen=True)
class Differentiate(ModulePass):
    """Expand the innermost requests. Equal requests share one function.

    Before:

        func.func private @f(%x: f64) -> f64 {
          %y = nd.sin %x : f64
          func.return %y : f64
        }
        func.func @gradient(%x: f64, %g: f64) -> f64 {
          %y, %d_x = ad.vjp @f(%x)(%g) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
          func.return %d_x : f64
        }

    After `mlirad-differentiate`:

        func.func @gradient(%x: f64, %g: f64) -> f64 {
          %y, %d_x = func.call @f.vjp(%x, %g) : (f64, f64) -> (f64, f64)
          func.return %d_x : f64
        }
        func.func private @f.vjp(%x: f64, %d_y: f64) -> (f64, f64) {
          %y = nd.sin %x : f64
          %0 = nd.cos %x : f64
          %d_x = nd.mul %d_y, %0 : f64
          func.return %y, %d_x : f64, f64
        }
    """

    name = "mlirad-differentiate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        requests = find(op, RequestOp)
        asking = _callers(op, {function for request in requests if (function := _function_of(request)) is not None})
        derivatives: dict[Key, func.FuncOp] = {}
        callees = Callees(op, _halved)
        innermost = [(r, callee) for r in requests if (callee := _callee(op, r)) not in asking]
        if requests and not innermost:
            name = requests[0].callee.root_reference.data
            raise DifferentiationError(
                f"@{name} asks for a derivative of itself", types.from_location(requests[0].location)
            )
        for request, callee in innermost:
            with located(request.location):
                _expand(callees, request, callee, derivatives)
        while callees.pending:
            wanted = callees.pending.pop()
            with located(callees.functions[wanted.part.callee].location):
                _CALLED[type(wanted)](callees, wanted)


def _callers(module: ModuleOp, functions: set[func.FuncOp]) -> set[func.FuncOp]:
    """The functions and their callers, direct or indirect."""
    found = set(functions)
    while True:
        names = {function.sym_name.data for function in found}
        calls = [call for call in find(module, func.CallOp) if call.callee.string_value() in names]
        more = {function for call in calls if (function := _function_of(call)) is not None}
        more = (more | {each for each in functions_of(module).values() if names & _rule_functions(each)}) - found
        if not more:
            return found
        found |= more


def _rule_functions(function: func.FuncOp) -> set[str]:
    rule = own_rule(function)
    return set() if rule is None else set(rule.functions)


def _function_of(op: Operation) -> func.FuncOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent


def _callee(module: ModuleOp, request: RequestOp) -> func.FuncOp:
    callee = SymbolTable.lookup_symbol(module, request.callee)
    assert isinstance(callee, func.FuncOp), "the request verifies"
    return callee


def _expand(callees: Callees, request: RequestOp, callee: func.FuncOp, derivatives: dict[Key, func.FuncOp]) -> None:
    kind = ForwardOp if isinstance(request, PullbackOp) else type(request)
    key = (kind, request.residuals, request.variant, request.attributes.get(BUDGET))
    if key not in derivatives:
        derivatives[key] = _BUILDERS[kind](callees, request, callee)
    if kind is not ForwardOp:
        derivative = derivatives[key]
        operands = [*request.primals, *request.others]
        call = func.CallOp(derivative.sym_name.data, operands, derivative.function_type.outputs.data)
        call.location = request.location
        missing = len(request.results) - len(call.results)
        Rewriter.replace_op(request, call, [*[None] * missing, *call.results])


# --- one derivative ---------------------------------------------------------------------------------------------


def _vjp(callees: Callees, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    function, wrt, live = _prepared(callees, request, callee, "vjp")
    live = keep_within(callees, function, ints(request.wrt), ints(request.outs), live, budget_of(request))
    recorded = record(callees, function, live)
    returned = returned_by(function)
    outs = [returned[number] for number in ints(request.outs)]

    def cotangents() -> Sequence[SSAValue]:
        return [_add_argument(function, out) for out in outs]

    gradients = reverse(function, live, wrt, outs, cotangents, recorded)
    if BUDGET in request.attributes and any(types.is_tensor(gradient.type) for gradient in gradients):
        # For the trips of a checkpointed loop. Calling such a function frees what it allocates, also for higher orders.
        function.attributes[APART] = function.attributes[CHECKPOINT] = UnitAttr()
        set_results(function, gradients)
        set_written(function, {len(request.primals) + number: number for number in range(len(gradients))})
    else:
        set_results(function, [*returned, *gradients])
    return function


def _transpose(callees: Callees, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    function, wrt, live = _prepared(callees, request, callee, "transpose")
    recorded = record(callees, function, live)
    outs = [returned_by(function)[number] for number in ints(request.outs)]

    def cotangents() -> Sequence[SSAValue]:
        return [_add_argument(function, out) for out in outs]

    # A zero tangent, like the cotangent of an element that is not needed, annihilates its factor.
    set_results(function, reverse(function, live, wrt, outs, cotangents, recorded, may_need=False))
    return function


def _joined(callees: Callees, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    """The forward sweep, `ad.turn` with its results, and the pullback, in one function."""
    function, wrt, live = _prepared(callees, request, callee, "joined")
    live = keep_within(callees, function, ints(request.wrt), ints(request.outs), live, budget_of(request))
    recorded = record(callees, function, live)
    returned = returned_by(function)
    outs = [returned[number] for number in ints(request.outs)]

    def cotangents() -> Sequence[SSAValue]:
        return insert(TurnOp.of(returned, [out.type for out in outs])).cotangents

    gradients = reverse(function, live, wrt, outs, cotangents, recorded)
    set_results(function, gradients)
    function.attributes[JOINED] = request.residuals
    return function


def _jvp(callees: Callees, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    function, wrt, live = _prepared(callees, request, callee, "jvp")
    _push(callees, function, live, wrt, ints(request.outs))
    return function


def _paths(callees: Callees, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    function, wrt, _ = _prepared(callees, request, callee, "paths")
    inline_calls(callees, function, ints(request.wrt), ints(request.outs))
    block = function.body.block
    take_both_sides(block, wrt)
    live = callees.active_in(function, ints(request.wrt), ints(request.outs))
    paths = PathCounts(live, decided=varying(block, wrt))
    paths.tangents.update((arg, Expr(_add_argument(function, arg))) for arg in wrt)
    paths.block(block)
    returned = returned_by(function)
    with building(InsertPoint.before(terminator(block))):
        counts = [paths.of(returned[number]).value for number in ints(request.outs)]
    set_results(function, [*returned, *counts])
    return function


def _jet(callees: Callees, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    assert isinstance(request, JetOp)
    function, wrt, live = _prepared(callees, request, callee, "jet")
    _expand_series(callees, function, live, wrt, ints(request.outs), request.order)
    return function


def _vmap(callees: Callees, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    given = [operand.type for operand in request.primals], ints(request.wrt)
    ways = (all_at_once, block_by_block, lane_by_lane)
    return next(made for way in ways if (made := way(callees.module, callee, *given)) is not None)


def _push(
    callees: Callees, function: func.FuncOp, live: Activity, wrt: Sequence[SSAValue], outs: Sequence[int]
) -> None:
    """Extend a function: it also takes the tangents of `wrt`, and returns the tangents of `outs` after its own
    results."""
    parts = callees.parts(function, live)
    tangent = Tangent(live, {name: callees.pushed(part) for name, part in parts.items()})
    tangent.tangents.update((arg, Expr(_add_argument(function, arg))) for arg in wrt)
    tangent.block(function.body.block)
    returned = returned_by(function)
    with building(InsertPoint.before(terminator(function.body.block))):
        tangents = [tangent.of(returned[number]).value for number in outs]
    set_results(function, [*returned, *tangents])


def _expand_series(
    callees: Callees,
    function: func.FuncOp,
    live: Activity,
    wrt: Sequence[SSAValue],
    outs: Sequence[int],
    order: int,
) -> None:
    """Extend a function: it also takes the Taylor coefficients of `wrt`, and returns those of `outs`."""
    parts = callees.parts(function, live)
    called = {name: callees.pushed(part, order) for name, part in parts.items()}
    taylor = Taylor(live, order, called, partial(series_of_loop, callees.module))
    for arg in wrt:
        taylor.give(arg, [Expr(_add_argument(function, arg)) for _ in range(order)])
    taylor.block(function.body.block)
    returned = returned_by(function)
    with building(InsertPoint.before(terminator(function.body.block))):
        coefficients = [each.value for number in outs for each in taylor.of(returned[number])]
    set_results(function, [*returned, *coefficients])


_BUILDERS: dict[type[RequestOp], Callable[[Callees, RequestOp, func.FuncOp], func.FuncOp]] = {
    VjpOp: _vjp,
    JvpOp: _jvp,
    PathsOp: _paths,
    JetOp: _jet,
    ForwardOp: _joined,
    TransposeRequestOp: _transpose,
    VmapOp: _vmap,
}


# --- functions that are called ----------------------------------------------------------------------------------


def _halved(callees: Callees, wanted: Signature) -> Halved:
    has_rule = own_rule(callees.functions[wanted.part.callee]) is not None
    return halved_by_rule(callees, wanted) if has_rule else halved(callees, wanted)


def _called_jvp(callees: Callees, wanted: Signature) -> None:
    assert isinstance(wanted, Pushed)
    if own_rule(callees.functions[wanted.part.callee]) is not None:
        by_rule = series_by_rule if wanted.order else tangent_by_rule
        define(callees.module, wanted.name, by_rule(callees, wanted))
        return
    function, live = copied(callees, wanted.part.callee, wanted.name, wanted.part.wrt, wanted.part.outs)
    args = function.body.block.args
    wrt = [args[number] for number in wanted.part.wrt]
    if wanted.order:
        _expand_series(callees, function, live, wrt, wanted.part.outs, wanted.order)
    else:
        _push(callees, function, live, wrt, wanted.part.outs)
    set_written(function, wanted.tangent_written)
    define(callees.module, wanted.name, function)


def _called_joined(callees: Callees, wanted: Signature) -> None:
    """The forward sweep and pullback of a called function, joined in one function; `mlirad-split` cuts it in two."""
    assert isinstance(wanted, Reversed)
    part = wanted.part
    name = f"{wanted.forward}.joined"
    function, live = copied(callees, part.callee, name, part.wrt, part.outs, part)
    block = function.body.block
    wrt = [block.args[number] for number in part.wrt]
    accumulated = [block.args[number] for number in wanted.accumulated]
    state = [block.insert_arg(type, len(block.args)) for type in TAPES]
    recorded = record(callees, function, live, state)
    returned = returned_by(function)
    outs = [returned[number] for number in part.outs]

    def cotangents() -> Sequence[SSAValue]:
        given = [FLOATS, INTEGERS, *(value.type for value in (*outs, *accumulated))]
        turn = insert(TurnOp.of([*returned, *recorded.state], given))
        recorded.tapes = (turn.cotangents[0], turn.cotangents[1])
        return turn.cotangents[2:]

    gradients = reverse(function, live, wrt, outs, cotangents, recorded, accumulated)
    set_results(function, gradients)
    function.attributes[RECORDED] = recorded_attribute(wanted)
    set_written(function, wanted.written)


_CALLED: dict[type[Signature], Callable[[Callees, Signature], None]] = {Pushed: _called_jvp, Reversed: _called_joined}


Prepared = tuple[func.FuncOp, list[SSAValue], Activity]


def _prepared(callees: Callees, request: RequestOp, callee: func.FuncOp, kind: str) -> Prepared:
    """A private copy of the callee, its arguments `wrt`, and its activity."""
    name = callee.sym_name.data
    if callee.is_declaration:
        raise DifferentiationError(f"@{name} has no body", types.from_location(request.location))
    args, returned = callee.body.block.args, returned_by(callee)
    _require_floats(request, "input", ints(request.wrt), [args[number] for number in ints(request.wrt)])
    _require_floats(request, "output", ints(request.outs), [returned[number] for number in ints(request.outs)])
    function, live = copied(callees, name, f"{name}.{kind}", ints(request.wrt), ints(request.outs))
    for hint in (SHARED, APART, CHECKPOINT, BUDGET):
        function.attributes.pop(hint, None)
    return function, [function.body.block.args[number] for number in ints(request.wrt)], live


def _require_floats(request: RequestOp, what: str, numbers: Sequence[int], values: Sequence[SSAValue]) -> None:
    for number, value in zip(numbers, values, strict=True):
        if not types.is_inexact(value.type):
            raise DifferentiationError(
                f"{what} {number} of @{request.callee.root_reference.data} is {value.type}, and only floats have a "
                "derivative",
                types.from_location(request.location),
            )


def _add_argument(function: func.FuncOp, like: SSAValue) -> SSAValue:
    block = function.body.block
    arg = block.insert_arg(like.type, len(block.args))
    hint_cotangent(arg, like)
    return arg
