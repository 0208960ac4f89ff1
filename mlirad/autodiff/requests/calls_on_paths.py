"""Inlines the calls in a function whose paths are counted.

Reads: a function that calls others. Writes: the same function with these calls inlined. Leaves: calls of recursive
functions.

For a function with a derivative rule, the paths are those of its tangents, which are linear in the tangents of its
arguments: y = f(x) becomes y = f(s) + tangent(s, x - s), where s = stop(x) cuts all paths. A rule for reverse mode is
transposed first.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mlirad.analysis.call_graph import calls_in, functions_of
from mlirad.analysis.loops import terminator
from mlirad.analysis.rule_attributes import own_rule
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.callees import Callees, Part, require_covered
from mlirad.autodiff.requests.by_own_rules import tangent_by_rule
from mlirad.dialect.ad.tape import StopOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, emit, located

Step = tuple[str, bool]
"""The name of an inlined function, and whether it computes tangents."""
Within = dict[Operation, frozenset[Step]]
"""The chain of calls that led to a call in an inlined body."""


def inline_calls(callees: Callees, function: func.FuncOp, wrt: Sequence[int], outs: Sequence[int]) -> None:
    """Inline all calls in a function, except recursive ones. `wrt` and `outs` say which paths are counted."""
    within: Within = {}
    tangents: dict[Part, func.FuncOp] = {}
    while True:
        live = callees.active_in(function, wrt, outs)
        functions = functions_of(callees.module)
        # Find all of them before inlining one: activity is known only for the values that exist now.
        # A function without a body does not exist yet: it is a half of a recursive function.
        there = [call for call in calls_in(function) if _name(call) in functions]
        planned = [(call, _part(callees, call, functions[_name(call)], live)) for call in there]
        planned = [(call, part) for call, part in planned if (_name(call), bool(part)) not in within.get(call, ())]
        if not planned:
            return
        for call, part in planned:
            inside = within.pop(call, frozenset()) | {(_name(call), bool(part))}
            if part is None:
                results = _inlined(call, functions[_name(call)], call.operands, inside, within)
            else:
                if part not in tangents:
                    tangents[part] = tangent_by_rule(callees, callees.signature(part))
                results = _by_tangent(call, part, tangents[part], inside, within)
            Rewriter.replace_op(call, [], results)


def _name(call: func.CallOp) -> str:
    return call.callee.string_value()


def _part(callees: Callees, call: func.CallOp, callee: func.FuncOp, live: Activity) -> Part | None:
    """The part of a function with a rule through which derivatives flow in a call; None without a rule or a flow."""
    rule = own_rule(callee)
    if rule is None or not live.is_live(call):
        return None
    flowing = [
        (i, o)
        for i, o in callees.dependence[_name(call)]
        if call.operands[i] in live.live and call.results[o] in live.live
    ]
    wrt, outs = (tuple(sorted({pair[place] for pair in flowing})) for place in (0, 1))
    require_covered(rule, wrt, call)
    return Part(_name(call), wrt, outs)


def _inlined(
    call: func.CallOp, callee: func.FuncOp, operands: Sequence[SSAValue], inside: frozenset[Step], within: Within
) -> list[SSAValue]:
    """Insert a copy of the callee's body before a call. Returns the values that it would return."""
    block = callee.clone().body.detach_block(0)
    within.update((inner, inside) for inner in block.walk() if isinstance(inner, func.CallOp))
    end = terminator(block)
    Rewriter.inline_block(block, InsertPoint.before(call), operands)
    returned = list(end.operands)
    end.detach()
    end.erase()
    return returned


def _by_tangent(
    call: func.CallOp, part: Part, tangent: func.FuncOp, inside: frozenset[Step], within: Within
) -> list[SSAValue]:
    """The results of a call, rewritten so that they depend on its arguments through its tangents."""
    with building(InsertPoint.before(call)), located(call.location):
        stopped = [emit(StopOp, Expr(x)).value if types.is_inexact(x.type) else x for x in call.operands]
        moved = [(Expr(call.operands[number]) - Expr(stopped[number])).value for number in part.wrt]
    results = _inlined(call, tangent, [*stopped, *moved], inside, within)
    with building(InsertPoint.before(call)), located(call.location):
        for number, added in zip(part.outs, results[len(call.results) :], strict=True):
            results[number] = (Expr(results[number]) + Expr(added)).value
    return results[: len(call.results)]
