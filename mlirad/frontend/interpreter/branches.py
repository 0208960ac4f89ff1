"""Blocks that are interpreted separately and joined: the two sides of an if, and a block of a loop.

Reads: the state. Writes: ops in blocks of their own, then the op that joins two. Leaves: an Outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from mlirad.analysis.constants import known_number
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.dialect.core.registry import op_of
from mlirad.frontend.interpreter import grown_lists
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.append_counts import AppendCounts
from mlirad.frontend.join.carried.value_pairs import value_pairs
from mlirad.frontend.join.disagreements import Disagreements
from mlirad.frontend.join.frames import Frame
from mlirad.frontend.join.join_columns import Columns, discard, emit_if
from mlirad.frontend.join.merging.joined_views import with_copies
from mlirad.frontend.join.merging.merge import Merge
from mlirad.frontend.join.numbering import Numbering, PlaceNumbering
from mlirad.frontend.join.outcomes import Chosen, Exit, Outcome
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.join.widening import leaves_of
from mlirad.frontend.program.scope import RESULT, Names
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.state import State, trim
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import OrNone, Value


def without_dead(context: Context, state: State, exit: Exit, live: Names | None = None) -> State:
    """The state without names that are dead after this exit; `live`: the names live after the block, for NEXT."""
    names: dict[int, Names | None] = {0: None}
    for frame in context.active:
        names[frame.number] = frame.live | frame.scope.captured
    if context.active:
        frame = context.frame
        names[frame.number] = live_after(frame, exit, live) | frame.scope.captured
    return trim(state, names, context.seen_by)


def live_after(frame: Frame, exit: Exit, live: Names | None) -> Names:
    match exit:
        case Exit.RETURN:
            return frozenset({RESULT})
        case Exit.BREAK:
            return frame.loops[-1][0]
        case Exit.CONTINUE | Exit.EXHAUSTED:
            return frame.loops[-1][1]
    return frame.live if live is None else live


def run_in(context: Context, block: Block, state: State, body: Callable[[], Outcome]) -> Outcome:
    """Run `body` from `state`, with its ops in `block`. Notes its appends in terms of values visible outside the
    block."""
    context.state = state
    active, appended = len(context.active), context.appended
    context.appended = AppendCounts()
    try:
        with known_facts.scope():
            with building(block):
                outcome = body()
            return replace(outcome, appended=context.appended.outside(block))
    except Bottom:
        del context.active[active:]
        return Outcome({})
    except BaseException:
        discard(block)
        raise
    finally:
        context.appended = appended


def branch(
    context: Context,
    condition: Traced | Expr,
    then: Callable[[], Outcome],
    otherwise: Callable[[], Outcome],
    live: Names | None = None,
    trimmed: bool = True,
) -> Outcome:
    """`if condition: then() else: otherwise()`, both from the current state."""
    start = context.state
    left, right = Block(), Block()
    expr = condition.expr if isinstance(condition, Traced) else condition
    a = run_in(context, left, with_known_presence(start.fork(), expr, True), then)
    try:
        b = run_in(context, right, with_known_presence(start.fork(), expr, False), otherwise)
    except BaseException:
        discard(left)
        raise
    sides = [side.appended for side in (a, b) if side.states] or [a.appended]
    context.appended = context.appended.then(sides[0].either(sides[-1]))
    origins = condition.origins if isinstance(condition, Traced) else frozenset()
    return join(context, expr, origins, (left, a), (right, b), live, trimmed)


def with_known_presence(state: State, condition: Expr, truth: bool) -> State:
    """The state on one side of an if, where its condition says of some names that they are not None."""
    places = [
        (names, name) for names in state.frames.values() for name, value in names.items() if isinstance(value, OrNone)
    ]
    true = set(_true_with(condition.value, truth)) if places else set[SSAValue]()
    for names, name in places:
        value = names[name]
        if isinstance(value, OrNone) and value.flag.value in true:
            names[name] = value.value
    return state


def _true_with(condition: SSAValue, truth: bool) -> Iterator[SSAValue]:
    """The values that are true if a condition is, or is not: those that `not`, `and` and `or` join in it."""
    owner = condition.owner
    if truth:
        yield condition
    if isinstance(owner, op_of(np.logical_not)):
        yield from _true_with(owner.operands[0], not truth)
    elif isinstance(owner, scf.IfOp):  # `a and b` is b if a holds, and otherwise False
        place = owner.results.index(condition)
        ends = [region.block.last_op for region in (owner.true_region, owner.false_region)]
        then, otherwise = (() if end is None else tuple(end.operands) for end in ends)
        for side, other, holds in ((then, otherwise, True), (otherwise, then, False)):
            if other and known_number(other[place]) == (not truth):
                yield from (result for result, value in zip(owner.results, side, strict=True) if known_number(value))
                yield from _true_with(owner.cond, holds)
                yield from _true_with(side[place], truth)


def join(
    context: Context,
    condition: Expr,
    origins: frozenset,
    left: tuple[Block, Outcome],
    right: tuple[Block, Outcome],
    live: Names | None,
    trimmed: bool,
) -> Outcome:
    columns = Columns(left[0], right[0])
    numbering = (
        Numbering(context.fresh) if context.chosen is None else PlaceNumbering(context.fresh, context.through_ifs)
    )
    merged: dict[Exit, State] = {}
    merges: dict[Exit, Merge] = {}
    for exit in Exit:
        sides = [outcome.states.get(exit) for _, outcome in (left, right)]
        if sides == [None, None]:
            continue
        if trimmed:
            sides = [None if side is None else without_dead(context, side, exit, live) for side in sides]
        both = [side for side in sides if side is not None]
        if len(both) == len(sides):
            why = Disagreements(context.location, None)
            sides = [*with_copies(both, (left[0], right[0]), context.fresh, why)]
        merges[exit] = Merge(
            sides[0],
            sides[1],
            columns,
            numbering,
            origins,
            location=context.location,
            fill=partial(grown_lists.filled_on_side, context),
            elsewhere=ends_elsewhere(sides, (left[1], right[1])),
        )
        merged[exit] = merges[exit].run()
    code: Expr | None = None
    if len(merged) > 1:
        code = columns.request("code", types.I64, left[1].operand(), right[1].operand())
    rename = emit_if(condition, columns)
    states = {exit: state.renamed(rename) for exit, state in merged.items()}
    if context.chosen is not None:
        for exit, state in states.items():
            note_chosen(context.chosen, merges[exit], state)
    if isinstance(numbering, PlaceNumbering):
        context.has_swapped = context.has_swapped or numbering.has_moved
    return Outcome(states, None if code is None else Expr(rename(code.value)))


def ends_elsewhere(sides: Sequence[State | None], outcomes: Sequence[Outcome]) -> list[State]:
    """The states of a side that does not end in this way, in the ways in which it ends."""
    return [
        state
        for side, outcome in zip(sides, outcomes, strict=True)
        if side is None
        for state in outcome.states.values()
    ]


def note_chosen(chosen: Chosen, merge: Merge, state: State) -> None:
    """Note the values of a state that the branches have chosen."""
    made = dict(leaves_of(state))
    for pair in value_pairs(merge.paired):
        value = made.get(pair.place)
        if value is not None and value is not pair.before and value is not pair.after:
            chosen[id(value)] = value, pair.before, pair.after


def relabelled(context: Context, outcome: Outcome, labels: dict[Exit, Exit], live: Names | None = None) -> Outcome:
    """The outcome with some exits renamed; two exits that get one name are merged. live: the names live after NEXT."""
    states = {exit: without_dead(context, state, exit, live) for exit, state in outcome.states.items()}
    outcome = Outcome(states, outcome.code)
    for exit, target in labels.items():
        if exit not in outcome.states or exit == target:
            continue
        rest = {other: state for other, state in outcome.states.items() if other != exit}
        own = outcome.states[exit]
        if not rest:
            return Outcome({target: own})
        code = outcome.code
        assert code is not None
        moved, left = Outcome({target: own}), Outcome(rest, code if len(rest) > 1 else None)
        outcome = branch(context, code == int(exit), lambda o=moved: o, lambda o=left: o, trimmed=False)
    return outcome


def value_outcome(context: Context, evaluate: Callable[[], Value]) -> Outcome:
    context.push(evaluate())
    return Outcome({Exit.NEXT: context.state})


def choose(context: Context, condition: Traced, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
    """The value of `then() if condition else otherwise()`."""
    context.proceed(
        branch(context, condition, lambda: value_outcome(context, then), lambda: value_outcome(context, otherwise))
    )
    return context.pop()
