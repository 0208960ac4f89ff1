"""The ops of a loop: one pass over its body, and the scf.for or scf.while built from the last pass.

Reads: a header. Writes: a block for each pass, then the op. Leaves: a Pass, or the Outcome of the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.dialects.scf import ConditionOp, ForOp, WhileOp, YieldOp
from xdsl.ir import Block, Region, SSAValue

from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, insert, where
from mlirad.frontend.interpreter import branches, dispatch
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import conditions
from mlirad.frontend.interpreter.loops import unrolling
from mlirad.frontend.join import value_names
from mlirad.frontend.join.carried.loop_header import INDEX, Header, Loop, Pass
from mlirad.frontend.join.join_columns import discard
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.join.steering import Bottom, NotEntered
from mlirad.frontend.join.widening import given
from mlirad.frontend.values import affine, known_facts
from mlirad.frontend.values.descriptions import describe_state
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Static

LoopOp = ForOp | WhileOp


def one_pass(context: Context, loop: Loop, header: Header) -> Pass:
    node, key, bind = loop.node, loop.key, loop.bind
    if isinstance(node, ast.While) and not loop.leaves and key not in context.impure:
        made = plain_while_pass(context, loop, header)
        if made is not None:
            return made
        context.impure.add(key)
    leading = [] if bind is None else [types.I64]
    if loop.leaves or bind is None:
        leading.append(types.I64)
    block = Block(arg_types=[*leading, *header.types()])

    def run() -> Outcome:
        if bind is None:
            outcome = tested_body(context, loop)
        else:
            number = Expr(block.args[0])
            length = loop.length
            assert length is not None
            affine.remember_iteration(number, length.expr if isinstance(length, Traced) else length)
            bind(Traced(number, weak=True, origins=frozenset({header.numbering.mark(INDEX)})))
            outcome = dispatch.block(context, node.body)
        return branches.relabelled(context, outcome, {Exit.CONTINUE: Exit.NEXT}, unrolling.header_live(context, loop))

    carried = block.args[len(leading) :]
    value_names.name_carried(carried, header.column_keys(), list(header.columns.columns.values()))
    state = header.bound_to(carried)
    start = given(state)
    outcome = branches.run_in(context, block, state, run)
    exits = tuple(exit for exit in outcome.states if exit != Exit.NEXT)
    if Exit.NEXT not in outcome.states:
        return Pass(block, outcome, start, exits, appended=outcome.appended)
    code = outcome.operand()
    with building(block), known_facts.scope():
        joined = branches.relabelled(
            context, outcome, dict.fromkeys(exits, Exit.NEXT), unrolling.header_live(context, loop)
        )
    return Pass(block, joined, start, exits, code, appended=outcome.appended)


def tested_body(context: Context, loop: Loop) -> Outcome:
    """`if test: body, else: the loop is exhausted`."""
    node, truth = loop.node, tested(context, loop)
    if isinstance(truth, bool):
        return dispatch.block(context, node.body) if truth else Outcome({Exit.EXHAUSTED: context.state})
    live = unrolling.header_live(context, loop)
    return branches.branch(
        context,
        truth,
        lambda: dispatch.block(context, node.body),
        lambda: Outcome({Exit.EXHAUSTED: context.state}),
        live,
    )


def tested(context: Context, loop: Loop) -> bool | Traced:
    """Evaluate a while's condition."""
    assert loop.test is not None
    with context.at(loop.test):
        return conditions.condition(context, loop.test)


def plain_while_pass(context: Context, loop: Loop, header: Header) -> Pass | None:
    """A pass over a while that ends only by its condition; None if the condition has side effects."""
    before, block = Block(arg_types=header.types()), Block(arg_types=header.types())
    conditions: list[bool | Traced] = []

    def test() -> Outcome:
        conditions.append(tested(context, loop))
        return Outcome({Exit.NEXT: context.state})

    def identity(value: SSAValue) -> Hashable:
        return value

    for carried in (before.args, block.args):
        value_names.name_carried(carried, header.column_keys(), list(header.columns.columns.values()))
    state = header.bound_to(before.args)
    expected = describe_state(state, identity)
    outcome = branches.run_in(context, before, state, test)
    if not outcome.states or describe_state(outcome.states[Exit.NEXT], identity) != expected:
        discard(before)
        return None
    (truth,) = conditions
    if truth is False and not header.columns.columns:
        discard(before)
        raise NotEntered
    with building(before):
        condition = truth.expr if isinstance(truth, Traced) else constant(truth, types.I1)

    def run() -> Outcome:
        return branches.relabelled(
            context,
            dispatch.block(context, loop.node.body),
            {Exit.CONTINUE: Exit.NEXT},
            unrolling.header_live(context, loop),
        )

    state = header.bound_to(block.args)
    start = given(state)
    try:
        outcome = branches.run_in(context, block, state, run)
    except BaseException:
        discard(before)
        raise
    return Pass(block, outcome, start, (), None, before, condition, outcome.appended)


def first_only(context: Context, loop: Loop) -> Outcome:
    """A body without a further iteration after it: the loop is an if around its first one."""

    def first() -> Outcome:
        if loop.bind is not None:
            loop.bind(Static(0))
        return unrolling.ended(context, dispatch.block(context, loop.node.body))

    return if_entered(context, loop, first)


def if_entered(context: Context, loop: Loop, first: Callable[[], Outcome]) -> Outcome:
    """The outcome of a loop that starts with `first` if it has an iteration."""
    if isinstance(loop.node, ast.While):
        again = tested(context, loop)
    else:
        length = loop.length
        assert length is not None
        again = length > 0 if not isinstance(length, Traced) else _positive(length)
    if isinstance(again, bool):
        return first() if again else unrolling.exhausted(context, loop)
    return branches.branch(
        context, again, first, lambda: unrolling.exhausted(context, loop), context.frame.loops[-1][0]
    )


def emit(context: Context, loop: Loop, header: Header, merged: Header, made: Pass) -> Outcome:
    """Emit the op of a loop with a known header: `made` is a pass from it, `merged` the resulting merge."""
    outer, columns = context.current_block, merged.columns
    inits: list[SSAValue] = []
    yields: list[SSAValue] = []
    arguments = made.block.args[len(made.block.args) - len(header.column_keys()) :]
    for key, argument in zip(header.column_keys(), arguments, strict=True):
        column = columns.columns[key]
        inits.append(columns.value_of(column, column.left, outer))
        yields.append(argument if column.right is None else columns.value_of(column, column.right, made.block))
    in_order = [columns.columns[key] for key in header.column_keys()]
    if made.before is not None:
        assert made.condition is not None
        with building(made.before):
            insert(ConditionOp(made.condition.value, *made.before.args))
        with building(made.block):
            insert(YieldOp(*yields))
        op = _marked(insert(WhileOp(inits, header.types(), [made.before], [made.block])), loop)
        for values in (made.before.args, made.block.args, op.results):
            value_names.name_carried(values, header.column_keys(), in_order)
        context.state = header.after(op.results)
        return unrolling.exhausted(context, loop)
    zero = constant(0, types.I64)
    trips, length = None, loop.length
    if length is not None:
        trips = length.expr if isinstance(length, Traced) else constant(length, types.I64)
    if trips is not None and not loop.leaves:
        with building(made.block):
            insert(YieldOp(*yields))
        one = constant(1, types.I64)
        op = _marked(insert(ForOp(zero.value, trips.value, one.value, inits, Region([made.block]))), loop)
        value_names.name_index(loop.node, made.block.args[0])
        for values in (made.block.args[1:], op.results):
            value_names.name_carried(values, header.column_keys(), in_order)
        # A known trip count is not 0 here.
        context.state = header.after(op.results, None if isinstance(length, Traced) else columns)
        if isinstance(length, int):  # and its numbers are the body's
            context.state.decide(made.outcome.states[Exit.NEXT])
        return unrolling.exhausted(context, loop)
    return emit_leaving(context, loop, header, made, trips, inits, yields)


def emit_leaving(
    context: Context,
    loop: Loop,
    header: Header,
    made: Pass,
    trips: Expr | None,
    inits: list[SSAValue],
    yields: list[SSAValue],
) -> Outcome:
    """A loop that is left from inside: it carries a counter (for a `for`) and the code of its exit, 0 for none yet."""
    zero = constant(0, types.I64)
    counters = [] if trips is None else [zero.value]
    before = Block(arg_types=[argument.type for argument in made.block.args])
    with building(before):
        code = Expr(before.args[len(counters)])
        go = code == int(Exit.NEXT)
        if trips is not None:
            go = (Expr(before.args[0]) < trips) & go
        insert(ConditionOp(go.value, *before.args))
    with building(made.block):
        ended = made.code if isinstance(made.code, Expr) else constant(made.code or 0, types.I64)
        counted = [] if trips is None else [(Expr(made.block.args[0]) + 1).value]
        insert(YieldOp(*counted, ended.value, *yields))
    result_types = [argument.type for argument in made.block.args]
    op = _marked(insert(WhileOp([*counters, zero.value, *inits], result_types, [before], [made.block])), loop)
    results = op.results[len(counters) + 1 :]
    in_order = [header.columns.columns[key] for key in header.column_keys()]
    if counters:
        value_names.name_index(loop.node, made.block.args[0], (before.args[0], op.results[0]))
    for values in (before.args, made.block.args, op.results):
        value_names.name_carried(values[len(counters) + 1 :], header.column_keys(), in_order)
    exits = set(made.exits)
    code = Expr(op.results[len(counters)])
    if trips is not None:
        exits.add(Exit.EXHAUSTED)
        code = where(code == int(Exit.NEXT), constant(int(Exit.EXHAUSTED), types.I64), code)
    if not exits:
        raise Bottom  # it never ends
    states = {exit: header.after(results) for exit in sorted(exits)}
    for exit, state in states.items():
        if exit != Exit.EXHAUSTED or trips is None or isinstance(loop.length, int):  # after at least one iteration
            state.decide(made.outcome.states[Exit.NEXT])
    outcome = Outcome(states, code if len(states) > 1 else None)
    return after_exits(context, loop, outcome)


def after_exits(context: Context, loop: Loop, outcome: Outcome) -> Outcome:
    """The outcome after a loop: an exhausted loop continues with its else clause, and a break becomes NEXT."""
    if Exit.EXHAUSTED in outcome.states and loop.node.orelse:
        states = {exit: state for exit, state in outcome.states.items() if exit != Exit.EXHAUSTED}
        own = outcome.states[Exit.EXHAUSTED]
        if not states:
            context.state = own
            return unrolling.exhausted(context, loop)
        assert outcome.code is not None
        left = Outcome(states, outcome.code if len(states) > 1 else None)
        left = unrolling.ended(context, left)

        def orelse() -> Outcome:
            context.state = own.fork()
            return unrolling.exhausted(context, loop)

        return branches.branch(
            context, outcome.code == int(Exit.EXHAUSTED), orelse, lambda: left, context.frame.loops[-1][0]
        )
    return branches.relabelled(
        context, outcome, {Exit.EXHAUSTED: Exit.NEXT, Exit.BREAK: Exit.NEXT}, context.frame.loops[-1][0]
    )


def _marked(op: LoopOp, loop: Loop) -> LoopOp:
    """The loop's op, with the user's choice of checkpoints."""
    match loop.checkpoint:
        case str() as word:
            op.attributes[CHECKPOINT] = StringAttr(word)
        case int() as states:
            op.attributes[CHECKPOINT] = IntegerAttr(states, 64)
    return op


def _positive(length: Traced) -> Traced:
    return Traced(length.expr > 0, weak=True, origins=length.origins)
