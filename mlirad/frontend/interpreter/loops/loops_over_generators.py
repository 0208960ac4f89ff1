"""Generators: a loop over one runs the generator's body, which runs the loop's body where it yields.

Reads: ast and the state. Writes: the ops of both bodies. Leaves: an Outcome.
"""

from __future__ import annotations

import ast
from typing import Any

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.interpreter import branches, dispatch, storage
from mlirad.frontend.interpreter.calls import inlining
from mlirad.frontend.interpreter.consuming import taken_of
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import runs
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.program.generator_bodies import (
    EACH,
    LEFT,
    RETURNED,
    HandOn,
    as_body,
    as_function,
    may_break,
    names_in_body,
)
from mlirad.frontend.program.scope import RESULT, Names
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Closure, Entry, GeneratorKind, Lazy, Maybe, Static, Value


def loop_over_generator(context: Context, node: ast.For, generator: Lazy, after: Names) -> Outcome:
    """`for target in generator: body`."""
    frame = context.frame
    use_up(context, generator)
    body = Closure(as_body(node), frame.number, frame.source, (), ())
    live = frame.live
    frame.live = live | names_in_body(node)
    base = len(context.state.temps)
    try:
        with context.at(node):
            code = run(context, generator, body)
    finally:
        frame.live = live
    context.state.temps = context.state.temps[:base]

    def ended() -> Outcome:
        return dispatch.block(context, node.orelse) if node.orelse else left()

    def left() -> Outcome:
        return Outcome({Exit.NEXT: context.state})

    def returned() -> Outcome:
        names = context.state.frames[frame.number]
        if isinstance(result := names[RESULT], Maybe):
            names[RESULT] = result.value
        return Outcome({Exit.RETURN: context.state})

    def not_returned() -> Outcome:
        context.state.frames[frame.number].pop(RESULT, None)
        if not node.orelse or not may_break(node):
            return ended()
        assert isinstance(code, Traced)
        return branches.branch(context, code.expr == LEFT, left, ended, after)

    with context.at(node):
        if not isinstance(code, Traced):
            number = storage.static(context, code, "how a loop ends")
            return returned() if number == RETURNED else left() if number == LEFT else ended()
        if RESULT not in context.state.frames[frame.number]:
            return not_returned()
        condition: Expr = code.expr == RETURNED
        return branches.branch(context, condition, returned, not_returned, after)


def use_up(context: Context, generator: Lazy) -> None:
    taken_of(context, generator)
    assert generator.used is not None
    storage.change(context, generator.used, Entry.of_list((Static(None),)))


def run(context: Context, generator: Lazy, body: Closure) -> Value:
    """Run a generator with the body of the loop that consumes it; returns how the loop ends."""
    kind: Any = generator.kind
    assert isinstance(kind, GeneratorKind)
    arguments = generator.parts[len(generator.parts) - len(kind.names) :]
    bound = {**dict(zip(kind.names, arguments, strict=True)), EACH: body}
    return inlining.run_rewritten(context, as_function(kind.node), kind.source, kind.parent, bound)


@runs(HandOn)
def hand_on(context: Context, node: HandOn, _after: Names) -> Outcome:
    value = dispatch.expression(context, node.value)
    number = context.frame.number
    for _ in range(node.levels):
        parent = context.frames[number].parent
        assert parent is not None
        number = parent
    context.state.frames[number][RESULT] = value
    return Outcome({Exit.NEXT: context.state})
