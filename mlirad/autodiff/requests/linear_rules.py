"""Refuses nonlinear rules where they are transposed.

Reads: the forward sweep and the pullback of a rule's tangents, or of its pullback. Writes: an attribute. Leaves: no
such attribute, once `mlirad-split` has run.

The transpose of a linear function needs only the shapes of the variables in which it is linear. Recursive functions
pass values to their pullbacks on a record, whose contents are known only once they are cut in two, so their check
waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, i64

from mlirad.analysis.call_graph import calls_in, functions_of
from mlirad.analysis.loops import yields
from mlirad.analysis.rule_attributes import NamedRule, own_rule
from mlirad.analysis.varying import varying
from mlirad.autodiff.callees import Halved
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.op import NdOp
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.traversal import find

_LINEAR = "ad.linear"
"""On a forward sweep: which results may not depend on its arguments from `first` on, and whose rule this is."""


def require_linear(
    forward: func.FuncOp, pullback: func.FuncOp, made: Halved, first: int, function: func.FuncOp
) -> None:
    """Refuse a rule whose transpose needs the values in which it should be linear: arguments from `first` on."""
    rule = own_rule(function)
    assert rule is not None
    block = forward.body.block
    differing = varying(block, block.args[first:])
    needed = [
        each
        for each, arg in zip(made.crossing, pullback.body.block.args, strict=False)
        if not all(_asks_for_shape(use.operation, use.index) for use in arg.uses)
        and (block.args if each.is_operand else yields(block))[each.number] in differing
    ]
    if not needed:
        return
    name, by_pullback = function.sym_name.data.rpartition("_")[0], rule.pullback is not None
    if any(each.is_operand for each in needed) or not _waits(forward, set()):
        raise _refusal(name, by_pullback, _rule_function(forward, rule))
    forward.attributes[_LINEAR] = DictionaryAttr(
        {
            "first": IntegerAttr(first, i64),
            "results": DenseArrayBase.from_list(i64, [each.number for each in needed]),
            "rule": SymbolRefAttr(rule.pullback or rule.tangent or ""),
            "name": StringAttr(name),
            "by_pullback": IntegerAttr.from_bool(by_pullback),
        }
    )


def spell_linearly(function: func.FuncOp, args: Sequence[int]) -> None:
    """Make a function linear in some arguments also where they are 0: the transpose has factors of its own."""
    block = function.body.block
    differing = varying(block, [block.args[number] for number in args])
    for op in find(function, NdOp):
        if (part := op.linear_part()) is not None and part in differing:
            op.results[0].replace_all_uses_with(part)


def check_what_waited(module: ModuleOp) -> None:
    """Do the check that had to wait until all functions were cut in two."""
    functions = functions_of(module)
    for function in functions.values():
        asked = function.attributes.pop(_LINEAR, None)
        if asked is None:
            continue
        assert isinstance(asked, DictionaryAttr)
        first, results, rule, name, by_pullback = (
            asked.data[key] for key in ("first", "results", "rule", "name", "by_pullback")
        )
        assert isinstance(first, IntegerAttr) and isinstance(results, DenseArrayBase)
        assert isinstance(rule, SymbolRefAttr) and isinstance(name, StringAttr) and isinstance(by_pullback, IntegerAttr)
        block = function.body.block
        differing = varying(block, block.args[first.value.data :])
        if any(yields(block)[number] in differing for number in ints(results)):
            at = functions.get(rule.string_value(), function)
            raise _refusal(name.data, bool(by_pullback.value.data), at)


def _waits(function: func.FuncOp, seen: set[str]) -> bool:
    """Whether a function calls, directly or not, one that does not exist yet."""
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    named = {each.sym_name.data: each for each in module.ops if isinstance(each, func.FuncOp)}
    for call in calls_in(function):
        name = call.callee.string_value()
        if name not in seen:
            seen.add(name)
            if named[name].is_declaration or _waits(named[name], seen):
                return True
    return False


def _refusal(name: str, by_pullback: bool, at: func.FuncOp) -> DifferentiationError:
    kind, what = ("cotangents", "bwd") if by_pullback else ("tangents", "jvp")
    return DifferentiationError(
        f"the rule of {name} is not linear in the {kind}, and the other mode takes its transpose",
        types.from_location(at.location),
        f"let {what} only add {kind}, and multiply them by values that do not depend on them",
    )


def _rule_function(near: func.FuncOp, rule: NamedRule) -> func.FuncOp:
    module = near.parent_op()
    assert isinstance(module, ModuleOp)
    return functions_of(module)[rule.pullback or rule.tangent or ""]


def _asks_for_shape(op: object, index: int) -> bool:
    return isinstance(op, NdOp) and index in op.memory.shape_only
