"""Derivatives of functions with custom rules, in both modes, whichever mode the rule is for.

Reads: the functions of a rule. Writes: private functions of the module. Leaves: a Halved, or the function that computes
tangents or Taylor coefficients.

A rule for one mode gives the other mode by transposition. The tangents of the results are a linear function of the
tangents of the arguments. The pullback of this linear function is the wanted pullback. It is the same at every point;
we take zero. Likewise, the cotangents of the arguments are a linear function of those of the results. A rule is not
linear if its transpose needs the value of the variable in which it should be linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.call_graph import functions_of
from mlirad.analysis.loops import terminator, yields
from mlirad.analysis.rule_attributes import NamedRule, float_results, own_rule
from mlirad.autodiff.callees import Callees, Crossing, Halved, Part, Pushed, Signature
from mlirad.autodiff.private_functions import add_function
from mlirad.autodiff.requests.halves import halved
from mlirad.autodiff.requests.linear_rules import require_linear, spell_linearly
from mlirad.autodiff.requests.series_of_tangents import series_along
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import Effect, effect_of
from mlirad.dialect.core.expr import Expr, building, insert, located, zeros_like
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import ops_inside, ops_of


def halved_by_rule(callees: Callees, wanted: Signature) -> Halved:
    """The forward sweep and the pullback of a part of a function with a rule."""
    rule = _rule_of(callees, wanted)
    with located(callees.functions[wanted.part.callee].location):
        if rule.pullback is None:
            return _by_transposed_tangent(callees, wanted)
        return _by_pullback(callees, wanted, rule)


def tangent_by_rule(callees: Callees, wanted: Signature) -> func.FuncOp:
    """A function that also takes the tangents of the part's arguments, and returns the tangents of its results."""
    rule = _rule_of(callees, wanted)
    with located(callees.functions[wanted.part.callee].location):
        return _tangent(callees, wanted, rule) if rule.tangent else _by_transposed_pullback(callees, wanted, rule)


def series_by_rule(callees: Callees, wanted: Pushed) -> func.FuncOp:
    """A function that also takes the Taylor coefficients of the part's arguments, and returns those of its results."""
    part, order, count = wanted.part, wanted.order, len(wanted.inputs)
    tangent = tangent_by_rule(callees, wanted)
    body = Block(arg_types=[*wanted.inputs, *(wanted.inputs[number] for number in part.wrt for _ in range(order))])
    with located(callees.functions[part.callee].location), building(body):
        series = [body.args[first : first + order] for first in range(count, len(body.args), order)]
        results, found = series_along(tangent, body.args[:count], part.wrt, series, len(wanted.outputs))
    ends = [*results, *(each for one in found for each in one)]
    return _function(callees, f"{part.callee}.jet", body, ends, ends=False)


def _rule_of(callees: Callees, wanted: Signature) -> NamedRule:
    rule = own_rule(callees.functions[wanted.part.callee])
    assert rule is not None, "the function has a rule"
    return rule


# --- reverse mode -----------------------------------------------------------------------------------------------


def _by_pullback(callees: Callees, wanted: Signature, rule: NamedRule) -> Halved:
    assert rule.forward is not None
    part, count = wanted.part, len(wanted.inputs)
    more = callees.functions[rule.forward].function_type.outputs.data[len(wanted.outputs) :]
    block = _restricted_pullback(callees, wanted, rule, count + len(more))
    returned = yields(callees.functions[rule.forward].body.block)[len(wanted.outputs) :]
    crossing: list[Crossing] = []
    for number, arg in reversed(list(enumerate(block.args[: count + len(more)]))):
        kept = returned[number - count] if number >= count else None
        if not arg.uses:
            block.erase_arg(arg)
        elif number < count:
            crossing.insert(0, Crossing(True, number))
        elif isinstance(kept, BlockArgument):  # the caller has the argument already
            crossing.insert(0, Crossing(True, kept.index))
        else:
            crossing.insert(0, Crossing(False, len(wanted.outputs) + number - count))
    ends = list(yields(block))
    with building(InsertPoint.before(terminator(block))):
        for number in wanted.accumulated:
            so_far = block.insert_arg(wanted.inputs[number], len(block.args))
            place = part.wrt.index(number)
            ends[place] = (Expr(so_far) + Expr(ends[place])).value
    made = _function(callees, f"{part.callee}.pullback", block, ends)
    return Halved(
        part,
        wanted.inputs,
        wanted.outputs,
        wanted.written,
        rule.forward,
        made.sym_name.data,
        tuple(crossing),
        tuple(more),
    )


def _by_transposed_tangent(callees: Callees, wanted: Signature) -> Halved:
    """The pullback of the tangents at zero; they are linear, so any point would do."""
    part, count = wanted.part, len(wanted.inputs)
    transposed = _transposed(callees, tangent_by_rule(callees, wanted), count, len(wanted.outputs), wanted)
    body = Block(arg_types=wanted.inputs)
    with building(body):
        zeros = [zeros_like(Expr(body.args[number])).value for number in part.wrt]
        swept = _call(callees, transposed.forward, [*body.args, *zeros])
    results, crossing = list(swept[: len(wanted.outputs)]), list[Crossing]()
    for each in transposed.crossing:
        if each.is_operand and each.number < count:
            crossing.append(each)
            continue
        value = zeros[each.number - count] if each.is_operand else swept[each.number]
        if value not in results:
            results.append(value)
        crossing.append(Crossing(False, results.index(value)))
    made = _function(callees, f"{part.callee}.forward", body, results, ends=False)
    more = tuple(value.type for value in results[len(wanted.outputs) :])
    names = made.sym_name.data, transposed.pullback
    return Halved(part, wanted.inputs, wanted.outputs, wanted.written, *names, tuple(crossing), more)


# --- forward mode -----------------------------------------------------------------------------------------------


def _tangent(callees: Callees, wanted: Signature, rule: NamedRule) -> func.FuncOp:
    """The rule, applied to the tangents of the part; all others are zeros."""
    assert rule.tangent is not None
    part, function = wanted.part, callees.functions[rule.tangent]
    block = _copied(function)
    given = block.args[len(wanted.inputs) :]
    for number, tangent in reversed(list(zip(rule.wrt, given, strict=True))):
        if number not in part.wrt:
            _set_zero(block, tangent, block.args[number])
    results, tangents = yields(block)[: len(wanted.outputs)], yields(block)[len(wanted.outputs) :]
    of_result = dict(zip(float_results(callees.functions[part.callee]), tangents, strict=True))
    return _function(callees, f"{part.callee}.jvp", block, [*results, *(of_result[number] for number in part.outs)])


def _by_transposed_pullback(callees: Callees, wanted: Signature, rule: NamedRule) -> func.FuncOp:
    """Cotangents of the arguments are linear in those of the results: their pullback maps tangents to tangents."""
    assert rule.forward is not None
    part, count = wanted.part, len(wanted.inputs)
    more = callees.functions[rule.forward].function_type.outputs.data[len(wanted.outputs) :]
    block = _restricted_pullback(callees, wanted, rule, count + len(more), keeps_results=True)
    # Its further arguments are the results; they give the sizes of zeros.
    linear = _function(callees, f"{part.callee}.back", block, yields(block))
    transposed = _transposed(callees, linear, len(block.args) - len(part.outs), 0, wanted)
    body = Block(arg_types=[*wanted.inputs, *(wanted.inputs[number] for number in part.wrt)])
    with building(body):
        swept = _call(callees, rule.forward, body.args[:count])
        results, residuals = swept[: len(wanted.outputs)], swept[len(wanted.outputs) :]
        gs = [zeros_like(Expr(results[number])).value for number in part.outs]
        operands = [*body.args[:count], *residuals, *results, *gs]
        back = _call(callees, transposed.forward, operands)
        crossing = [operands[each.number] if each.is_operand else back[each.number] for each in transposed.crossing]
        so_far = [g for g in gs if types.is_tensor(g.type)]
        found = _call(callees, transposed.pullback, [*crossing, *body.args[count:], *so_far])
    return _function(callees, f"{part.callee}.jvp", body, [*results, *found], ends=False)


# --- what both have in common -----------------------------------------------------------------------------------


def _restricted_pullback(
    callees: Callees, wanted: Signature, rule: NamedRule, before: int, keeps_results: bool = False
) -> Block:
    """The rule's pullback, restricted to the cotangents of the part, in and out. before: how many arguments precede the
    cotangents. keeps_results: the function's results are arguments after these."""
    assert rule.pullback is not None
    part, function = wanted.part, callees.functions[rule.pullback]
    block = _copied(function)
    own = list(block.args[before:])
    of_result = dict(zip(float_results(callees.functions[part.callee]), own, strict=True))
    results: dict[int, SSAValue] = {}
    if keeps_results:
        for number, type in enumerate(wanted.outputs):
            results[number] = block.insert_arg(type, before + number)
    for number, g in of_result.items():
        if number not in part.outs:
            if not types.is_static(g.type) and number not in results:
                raise DifferentiationError(
                    "a function with a rule returns several arrays, one of a data-dependent size, and not all of "
                    "them are used",
                    types.from_location(function.location),
                    "return arrays of fixed sizes",
                )
            _set_zero(block, g, results.get(number, g))
    ends = dict(zip(rule.wrt, yields(block), strict=True))
    terminator(block).operands = [ends[number] for number in part.wrt]
    _erase_unasked(block, callees.functions)
    return block


def _transposed(callees: Callees, function: func.FuncOp, first: int, out: int, wanted: Signature) -> Halved:
    """The halves of a function that is linear in its arguments from `first` on. Its results from `out` on are taken."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    name = function.sym_name.data
    spell_linearly(function, range(first, len(inputs)))
    _erase_unasked(function.body.block, callees.functions)
    callees.functions[name] = function
    part = Part(name, tuple(range(first, len(inputs))), tuple(range(out, len(outputs))), is_transposed=True)
    made = halved(callees, Signature(part, tuple(inputs), tuple(outputs), {}))
    there = functions_of(callees.module)
    require_linear(there[made.forward], there[made.pullback], made, first, callees.functions[wanted.part.callee])
    return made


def _erase_unasked(block: Block, functions: Mapping[str, func.FuncOp]) -> None:
    """Erase what a rule computes for unrequested results, with its checks and those of the functions it calls."""
    for op in reversed(ops_of(block)):
        if op.results and not any(result.uses for result in op.results) and _may_be_left(op, functions, set()):
            op.detach()
            op.erase()


def _may_be_left(op: Operation, functions: Mapping[str, func.FuncOp], seen: set[str]) -> bool:
    """Whether an op can be erased if its results are unused: it has no ordered effect."""
    if isinstance(op, func.CallOp):
        name = op.callee.string_value()
        if name in seen:
            return True
        seen.add(name)
        return name in functions and all(_may_be_left(each, functions, seen) for each in ops_inside(functions[name]))
    if op.regions:
        return all(_may_be_left(inner, functions, seen) for inner in ops_inside(op))
    return is_terminator(op.__class__) or effect_of(op) is not Effect.ORDERED


def _copied(function: func.FuncOp) -> Block:
    return function.clone().body.detach_block(0)


def _set_zero(block: Block, value: BlockArgument, like: SSAValue) -> None:
    """Replace an argument by zeros, with the size of `like`."""
    first = block.first_op
    assert first is not None
    with building(InsertPoint.before(first)):
        zeros = zeros_like(Expr(like))
    value.replace_all_uses_with(zeros.value)
    block.erase_arg(value)


def _call(callees: Callees, name: str, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    functions: Mapping[str, func.FuncOp] = functions_of(callees.module)
    return insert(func.CallOp(name, operands, functions[name].function_type.outputs.data)).results


def _function(callees: Callees, name: str, block: Block, results: Sequence[SSAValue], ends: bool = True) -> func.FuncOp:
    """A private function made of a block, returning these results. ends: the block has a terminator."""
    if ends:
        terminator(block).operands = results
    else:
        with building(block):
            insert(func.ReturnOp(*results))
    location = terminator(block).location
    return add_function(callees.module, name, block, [value.type for value in results], location)
