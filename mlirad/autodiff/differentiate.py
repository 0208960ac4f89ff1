"""The pass `mlirad-differentiate`: expands the innermost requests, those whose callee contains no further request.

Reads: func, scf, nd and ad requests. Writes: one private function per request (and callee, wrt, outs), and a call of
it. Leaves: residual markers for the tape, and `ad.forward`/`ad.pullback`, whose function `mlirad-split` cuts in two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from mlirad.autodiff.activity import Activity, activity
from mlirad.autodiff.adjoint import Adjoint, Cotangents
from mlirad.autodiff.carries import count_trips, terminator
from mlirad.autodiff.functions import free_name
from mlirad.autodiff.naming import Mirror, hint_cotangent
from mlirad.autodiff.tangent import Tangent
from mlirad.dialect import types
from mlirad.dialect.expr import Expr, building, insert, located
from mlirad.dialect.op import ints
from mlirad.dialect.request import ForwardOp, JvpOp, PullbackOp, RequestOp, TurnOp, VjpOp
from mlirad.errors import DifferentiationError

JOINED = "ad.joined"
"""On a function: its forward sweep and its pullback are still one, for the residuals of this type."""

Key = tuple[type[RequestOp], Attribute]


def has_requests(module: ModuleOp) -> bool:
    """Whether the module asks for a derivative that has not been expanded."""
    return any(isinstance(op, RequestOp) for op in module.walk())


@dataclass(frozen=True)
class Differentiate(ModulePass):
    """Expand the innermost requests; each is differentiated once however often it is asked for."""

    name = "mlirad-differentiate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        requests = [request for request in op.walk() if isinstance(request, RequestOp)]
        asking = {function for request in requests if (function := _function_of(request)) is not None}
        derivatives: dict[Key, func.FuncOp] = {}
        innermost = [(r, callee) for r in requests if (callee := _callee(op, r)) not in asking]
        if requests and not innermost:
            name = requests[0].callee.root_reference.data
            raise DifferentiationError(
                f"@{name} asks for a derivative of itself", types.from_location(requests[0].location)
            )
        for request, callee in innermost:
            with located(request.location):
                _expand(op, request, callee, derivatives)


def _function_of(op: Operation) -> func.FuncOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent


def _callee(module: ModuleOp, request: RequestOp) -> func.FuncOp:
    callee = SymbolTable.lookup_symbol(module, request.callee)
    assert isinstance(callee, func.FuncOp), "the request verifies"
    return callee


def _expand(module: ModuleOp, request: RequestOp, callee: func.FuncOp, derivatives: dict[Key, func.FuncOp]) -> None:
    kind = ForwardOp if isinstance(request, PullbackOp) else type(request)
    key = (kind, request.residuals)
    if key not in derivatives:
        derivatives[key] = _BUILDERS[kind](module, request, callee)
    if kind is not ForwardOp:
        derivative = derivatives[key]
        operands = [*request.primals, *request.others]
        call = func.CallOp(derivative.sym_name.data, operands, derivative.function_type.outputs.data)
        call.location = request.location
        Rewriter.replace_op(request, call)


# --- one derivative ---------------------------------------------------------------------------------------------


def _vjp(module: ModuleOp, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    function, wrt, returned, live = _prepared(module, request, callee, "vjp")
    outs = [returned[number] for number in ints(request.outs)]

    def cotangents() -> Sequence[SSAValue]:
        return [_add_argument(function, out) for out in outs]

    gradients = _reverse(function, live, wrt, outs, cotangents)
    _set_results(function, [*returned, *gradients])
    return function


def _joined(module: ModuleOp, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    """The forward sweep, `ad.turn` with its results, and the pullback, in one function."""
    function, wrt, returned, live = _prepared(module, request, callee, "joined")
    outs = [returned[number] for number in ints(request.outs)]

    def cotangents() -> Sequence[SSAValue]:
        return insert(TurnOp.of(returned, [out.type for out in outs])).cotangents

    gradients = _reverse(function, live, wrt, outs, cotangents)
    _set_results(function, gradients)
    function.attributes[JOINED] = request.residuals
    return function


def _jvp(module: ModuleOp, request: RequestOp, callee: func.FuncOp) -> func.FuncOp:
    function, wrt, returned, live = _prepared(module, request, callee, "jvp")
    tangent = Tangent(live)
    tangent.tangents.update((arg, Expr(_add_argument(function, arg))) for arg in wrt)
    tangent.block(function.body.block)
    with building(InsertPoint.before(terminator(function.body.block))):
        tangents = [tangent.of(returned[number]).value for number in ints(request.outs)]
    _set_results(function, [*returned, *tangents])
    return function


_BUILDERS: dict[type[RequestOp], Callable[[ModuleOp, RequestOp, func.FuncOp], func.FuncOp]] = {
    VjpOp: _vjp,
    JvpOp: _jvp,
    ForwardOp: _joined,
}

Prepared = tuple[func.FuncOp, list[SSAValue], list[SSAValue], Activity]


def _prepared(module: ModuleOp, request: RequestOp, callee: func.FuncOp, kind: str) -> Prepared:
    """A private copy of the callee at the module's end, its arguments `wrt`, what it returns, and its activity."""
    if callee.is_declaration:
        raise DifferentiationError(f"@{callee.sym_name.data} has no body", types.from_location(request.location))
    function = callee.clone()
    function.location = callee.location
    function.properties["sym_name"] = StringAttr(free_name(module, f"{callee.sym_name.data}.{kind}"))
    function.properties["sym_visibility"] = StringAttr("private")
    function.properties.pop("arg_attrs", None)
    function.properties.pop("res_attrs", None)
    module.body.block.add_op(function)
    wrt: list[SSAValue] = [function.body.block.args[number] for number in ints(request.wrt)]
    returned = list(terminator(function.body.block).operands)
    outs = [returned[number] for number in ints(request.outs)]
    _require_floats(request, "input", ints(request.wrt), wrt)
    _require_floats(request, "output", ints(request.outs), outs)
    live = activity(function, wrt, outs)
    for op in list(function.walk()):
        if isinstance(op, scf.WhileOp) and live.is_live(op):
            count_trips(op)
    return function, wrt, returned, live


def _require_floats(request: RequestOp, what: str, numbers: Sequence[int], values: Sequence[SSAValue]) -> None:
    for number, value in zip(numbers, values, strict=True):
        if not types.is_float(value.type):
            raise DifferentiationError(
                f"{what} {number} of @{request.callee.root_reference.data} is {value.type}, and only floats have a "
                "derivative",
                types.from_location(request.location),
            )


def _reverse(
    function: func.FuncOp,
    live: Activity,
    wrt: Sequence[SSAValue],
    outs: Sequence[SSAValue],
    cotangents_of_outs: Callable[[], Sequence[SSAValue]],
) -> list[SSAValue]:
    """Append the reverse sweep to the function's body and give the cotangents of `wrt`."""
    block = function.body.block
    end = terminator(block)
    last = end.prev_op
    adjoint, at, cotangents = Adjoint(live), Mirror(block), Cotangents()
    with building(InsertPoint.before(end)), located(end.location):
        given = cotangents_of_outs()
        last_reverse = end.prev_op  # an `ad.turn` belongs to neither sweep
        for out, g in zip(outs, given, strict=True):
            adjoint.add(cotangents, out, Expr(g), at)
        if last is not None:
            adjoint.block(block, last, cotangents, at)
        gradients = [cotangents[arg] if arg in cotangents else adjoint.zeros_like(arg, at) for arg in wrt]
    end.operands = [g.value for g in gradients]
    adjoint.naming.close(block, last_reverse)
    return list(end.operands)


def _add_argument(function: func.FuncOp, like: SSAValue) -> SSAValue:
    block = function.body.block
    arg = block.insert_arg(like.type, len(block.args))
    hint_cotangent(arg, like)
    return arg


def _set_results(function: func.FuncOp, results: Sequence[SSAValue]) -> None:
    block = function.body.block
    terminator(block).operands = results
    function.function_type = FunctionType.from_lists([arg.type for arg in block.args], [r.type for r in results])
