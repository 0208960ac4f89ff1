"""for and while: one op with loop-carried values (fixpoint.py), after the first iteration if that one differs
(peeling.py), or the body repeated for each iteration.

Reads: ast and the state. Writes: scf.for if the body never leaves the loop, else scf.while; or the unrolled body.
Leaves: an Outcome.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable

from mlirad.errors import CompileError
from mlirad.frontend.interpreter import attempts, consuming, dispatch, iteration, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import runs
from mlirad.frontend.interpreter.loops import comprehensions, fixpoint, loops_over_generators, peeling, unrolling
from mlirad.frontend.interpreter.loops.fixpoint import NoFixpoint
from mlirad.frontend.interpreter.loops.unrolling import KINDS, Reason, UnknownTrips
from mlirad.frontend.interpreter.statements import assigning
from mlirad.frontend.join.carried.loop_header import Loop
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.program.scope import Names
from mlirad.frontend.values.poison import Poison, PoisonUsed
from mlirad.frontend.values.traced import NeedStatic
from mlirad.frontend.values.values import Lazy, Object, Static, Value, bare
from mlirad.requests import marks_in_programs
from mlirad.requests.marks_in_programs import require_checkpointing


@runs(ast.For)
def for_statement(context: Context, node: ast.For, after: Names) -> Outcome:
    over, checkpoint = checkpointed(context, node.iter)
    if isinstance(over, ast.GeneratorExp):
        with context.at(over):
            iterable = comprehensions.generator(context, over)
    else:
        iterable = dispatch.expression(context, over)
    with context.at(node.iter):
        consuming.require_no_generator(context, iterable)
        iterable = consuming.opened(context, iterable)
        if isinstance(iterable, Lazy) and iteration.is_running(iterable):
            if checkpoint is not None:
                raise context.refusal("a loop over a generator cannot be checkpointed", "checkpoint the loop inside it")
            return loops_over_generators.loop_over_generator(context, node, iterable, after)
        context.push(consuming.consumed(context, iterable))
        length = iteration.length_of(context, context.top())
    position = len(context.state.temps) - 1

    def bind(index: Value) -> None:
        assigning.assign(context, node.target, iteration.element(context, context.state.temps[position], index))

    def require_unchanged() -> None:
        if iteration.length_of(context, context.state.temps[position]) != length:
            with context.at(node.iter):
                hint = "iterate over a copy: list(...)"
                raise context.refusal("this loop changes the length of the list or dict that it iterates over", hint)

    may_change = isinstance(context.top(), Object | Lazy) and isinstance(length, int)
    made = Loop(node, key_of(context, node), bind, length, None, checkpoint, require_unchanged if may_change else None)
    return loop(context, made, after)


@runs(ast.While)
def while_statement(context: Context, node: ast.While, after: Names) -> Outcome:
    test, checkpoint = checkpointed(context, node.test)
    context.push(Static(None))
    return loop(context, Loop(node, key_of(context, node), test=test, checkpoint=checkpoint), after)


def checkpointed(context: Context, node: ast.expr) -> tuple[ast.expr, str | int | None]:
    """The iterable or test of a loop, and how it is checkpointed if it is a call of `mlirad.checkpointed`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return node, None
    function = dispatch.expression(context, node.func)
    if not isinstance(function, Static) or function.value is not marks_in_programs.checkpointed:
        return node, None
    given = {**dict(zip(("loop", "how"), node.args, strict=False)), **{k.arg: k.value for k in node.keywords}}
    with context.at(node):
        if len(node.args) + len(node.keywords) != 2 or given.keys() != {"loop", "how"}:
            raise context.refusal("mlirad.checkpointed(loop, how) takes two arguments")
        how = storage.static(context, dispatch.expression(context, given["how"]), "how a loop is checkpointed")
        try:
            require_checkpointing(how)
        except ValueError as error:
            raise context.failed("ValueError", str(error)) from None
    return given["loop"], how


def loop(context: Context, loop: Loop, after: Names) -> Outcome:
    """A loop with its iterable on top of the operands."""
    length = loop.length
    base = len(context.state.temps) - 1
    frame = context.frame
    frame.loops.append((after, unrolling.header_live(context, loop)))
    try:
        if isinstance(length, int) and length == 0:
            outcome = unrolling.exhausted(context, loop)
        elif loop.key in context.unrolled:
            why = context.unrolled[loop.key]
            outcome = unrolling.unroll(context, loop, Reason(why.text, refusal=why.refusal))
        elif length is not None and unrolling.must_unroll(context, context.top(), length):
            outcome = unrolling.unroll(context, loop, Reason(KINDS))
        else:
            outcome = rolled_peeled_or_unrolled(context, loop)
    finally:
        frame.loops.pop()
    for state in outcome.states.values():
        state.temps = state.temps[:base]
    return outcome


def rolled_peeled_or_unrolled(context: Context, loop: Loop) -> Outcome:
    attempt, is_known = attempts.begin(context), loop.key in context.peeled
    try:
        outcome = peeling.peeled(context, loop) if is_known else fixpoint.rolled(context, loop)
        if is_known or not is_poisoned(context, loop, outcome):
            return outcome
        reason = None
    except (CompileError, NeedStatic, PoisonUsed, NoFixpoint) as error:
        if not is_known and not is_about(error, loop.key):
            raise
        reason = Reason.of(error)
    attempts.begin_again(context, attempt)
    if is_known:  # not in this state
        context.peeled.discard(loop.key)
        return rolled_peeled_or_unrolled(context, loop)
    if reason is None or (reason.poison is not None and peeling.is_worth_peeling(loop)):
        try:
            outcome = peeling.peeled(context, loop)
            context.peeled.add(loop.key)
            return outcome
        except (CompileError, NeedStatic, PoisonUsed, NoFixpoint):
            attempts.begin_again(context, attempt)
    if reason is None:
        return fixpoint.rolled(context, loop)
    context.unrolled[loop.key] = reason.kept
    try:
        return unrolling.unroll(context, loop, reason)
    except UnknownTrips as unknown:
        if unknown.key != loop.key or loop.key in context.decided_by_run:
            raise
    attempts.begin_again(context, attempt)
    del context.unrolled[loop.key]
    context.decided_by_run.add(loop.key)
    return rolled_peeled_or_unrolled(context, loop)


def is_poisoned(context: Context, loop: Loop, outcome: Outcome) -> bool:
    """Whether a name that is needed after a loop has no value there, since its kind has changed in the loop."""
    state = outcome.states.get(Exit.NEXT)
    names = {} if state is None else state.frames.get(context.frame.number, {})
    after = (bare(names[name]) for name in context.frame.loops[-1][0] if name in names)
    return any(isinstance(value, Poison) and value.loop == loop.key for value in after)


def key_of(context: Context, node: ast.AST) -> Hashable:
    """Identifies a loop on one path of calls."""
    path = tuple((frame.scope.node.lineno, frame.scope.node.col_offset) for frame in context.active)
    return (id(node), path)


def is_about(reason: Exception, key: Hashable) -> bool:
    """Whether an exception asks for unrolling this loop."""
    if isinstance(reason, NeedStatic):
        return ("loop", key) in reason.origins
    return isinstance(reason, NoFixpoint) or (isinstance(reason, PoisonUsed) and reason.poison.loop == key)
