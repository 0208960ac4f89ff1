"""A try in which only the run decides whether a statement raises what a handler catches.

Reads: ast and the state. Writes: an if for each statement that may raise: its test computes whether it does, one side
is the handler, the other one the statement and what follows it. Leaves: an Outcome.

    try:                                   failed = <whether cholesky(stopped K) fails>
        L = cholesky(K)                    if failed:
        s = L.sum()            ->              s = 0.0
    except LinAlgError:                    else:
        s = 0.0                                L = cholesky(K); s = L.sum()

The test computes with `ad.stop` of its operands, so it stays apart from the statement until all derivatives are
expanded: no cotangent, not even zero, flows back through a factorization that failed. Then the two become one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.constants import known_number
from mlirad.dialect.ad.tape import StopOp
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import Effect, effect_of
from mlirad.dialect.core.expr import Expr, building, emit
from mlirad.dialect.ops.check import EffectOp
from mlirad.frontend.interpreter import attempts, branches, dispatch
from mlirad.frontend.interpreter.attempts import Attempt
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import conditions
from mlirad.frontend.interpreter.statements import caught, statements
from mlirad.frontend.interpreter.statements.caught import Caught
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.values.descriptions import is_same
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import DATA, Traced
from mlirad.raised_exceptions import exception_class
from mlirad.xdsl_support.effects import is_terminator

_WITH_VALUES = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def run(context: Context, node: ast.Try, body: Sequence[ast.stmt]) -> Outcome:
    """The outcome of a try from here on: these statements of its body, and its `else`."""
    if not body:
        return dispatch.block(context, node.orelse)
    first, rest = body[0], body[1:]
    attempt = attempts.begin(context)
    outcome, raised = caught.attempted(context, node, attempt, lambda: dispatch.block(context, [first]))
    errors = caught.undecided(context, node, attempt, raised)
    if errors:
        attempts.begin_again(context, attempt)
        if isinstance(first, ast.If):
            return _if_statement(context, node, first, rest)
        return _simple_statement(context, node, body, len(errors))
    if raised is not None:
        return caught.handled(context, node, attempt, raised, outcome)
    return _go_on(context, node, outcome, rest)


def _go_on(context: Context, node: ast.Try, outcome: Outcome, rest: Sequence[ast.stmt]) -> Outcome:
    if Exit.NEXT not in outcome.states:
        return outcome

    def go_on() -> Outcome:
        context.state = outcome.states[Exit.NEXT].fork()
        return run(context, node, rest)

    if len(outcome.states) == 1:
        return go_on()
    return statements.then_do(context, outcome, go_on, statements.live_at_end(context, [node]))


def _if_statement(context: Context, node: ast.Try, first: ast.If, rest: Sequence[ast.stmt]) -> Outcome:
    """The outcome if the test of an if may raise, or a side of it."""
    attempt = attempts.begin(context)
    sides = [*first.body, *rest], [*first.orelse, *rest]

    def go_on() -> Outcome:
        with context.at(first):
            inner = attempts.begin(context)
            with caught.protected(context, node):
                truth = conditions.condition(context, first.test)
            _remove_passed(context, node, inner)
            if isinstance(truth, bool):
                return run(context, node, sides[0 if truth else 1])
            then, otherwise = (lambda side=side: run(context, node, side) for side in sides)
            return branches.branch(context, truth, then, otherwise, statements.live_at_end(context, [node]))

    with context.at(first):
        with caught.protected(context, node):
            conditions.condition(context, first.test)
        number = len(caught.undecided(context, node, attempt, None))
    if not number:
        attempts.begin_again(context, attempt)
        return go_on()
    return _decided(context, node, attempt, number, go_on)


def _simple_statement(context: Context, node: ast.Try, body: Sequence[ast.stmt], number: int) -> Outcome:
    """The outcome if the first statement may raise. number: how many of its ops may; its value has as many."""
    attempt, first = attempts.begin(context), body[0]
    value = first.value if isinstance(first, _WITH_VALUES) else None
    with context.at(first):
        if value is None:
            raise _refused(context)
        with caught.protected(context, node):
            dispatch.expression(context, value)

    def go_on() -> Outcome:
        inner = attempts.begin(context)
        with caught.protected(context, node):
            outcome = dispatch.block(context, [first])
        _remove_passed(context, node, inner)
        return _go_on(context, node, outcome, body[1:])

    with context.at(first):
        return _decided(context, node, attempt, number, go_on)


def _decided(context: Context, node: ast.Try, attempt: Attempt, number: int, go_on: Callable[[], Outcome]) -> Outcome:
    """The outcome if the ops since an attempt began decide between a handler and going on. number: of those that may
    raise."""
    errors = caught.undecided(context, node, attempt, None)
    if len(errors) != number or not _is_unchanged(attempt.state, context.state):
        raise _refused(context)
    passes, raised = _tested(context, node, attempt, errors), _raised(errors)
    attempts.go_back(context, attempt)

    def fail() -> Outcome:
        return caught.handled(context, node, attempts.begin(context), raised, Outcome({}))

    condition = Traced(passes, origins=frozenset({DATA}))
    return branches.branch(context, condition, go_on, fail, statements.live_at_end(context, [node]))


def _remove_passed(context: Context, node: ast.Try, attempt: Attempt) -> None:
    """Remove the checks since an attempt began that the test has passed."""
    for error in caught.undecided(context, node, attempt, None):
        if error.condition() is not None and error.parent is attempt.block:
            _remove(error)


def _refused(context: Context) -> Exception:
    return context.refusal(
        "this `try` would catch an exception that may occur at run time here",
        "call the function that may raise in a statement of its own, outside of loops in the try",
    )


def _is_unchanged(before: State, after: State) -> bool:
    """Whether names, objects and arrays are as they were; dead ones may be gone, and there may be new ones."""
    is_same_heap = all(
        len(entry.items) == len(now.items) and all(map(is_same, entry.items, now.items))
        for number, entry in before.heap.items()
        if (now := after.heap.get(number)) is not None
    )
    return (
        is_same_heap
        and all(
            after.store[cell].value is contents.value for cell, contents in before.store.items() if cell in after.store
        )
        and all(
            is_same(value, after.frames[number][name])
            for number, names in before.frames.items()
            for name, value in names.items()
            if name in after.frames.get(number, {})
        )
    )


def _raised(errors: Sequence[EffectOp]) -> Caught:
    """What the handler catches: with a message if it is the same for all ops."""
    found = {
        (exception_class(error.raises), error.text(False, *map(known_number, error.operands[1:]))) for error in errors
    }
    kind, message = next(iter(found))
    return Caught(kind, message if len(found) == 1 else None, None)


# The test.


def _tested(context: Context, node: ast.Try, attempt: Attempt, errors: Sequence[EffectOp]) -> Expr:
    """Whether none of these ops raises. What the test does not need is removed."""
    every = list(caught.may_raise(context, attempt))
    every = every[: every.index(errors[-1]) + 1]
    if len({id(caught.handler_of(context, node, error)) for error in errors}) > 1:
        raise _refused(context)
    found: Expr | None = None
    for error in every:
        if error in errors:
            passes = _passes(context, attempt.block, error)
            found = passes if found is None else found & passes
        elif found is not None:
            _guard(context, attempt.block, error, found)
    assert found is not None
    _remove_others(context, attempt, errors, {id(error) for error in every if error not in errors}, found)
    _stop_derivatives(attempt)
    return found


def _guard(context: Context, block: Block, error: EffectOp, before: Expr) -> None:
    """Let an op that raises what no handler catches do so only if nothing before it has raised."""
    condition = error.condition()
    if condition is None or error.parent is not block:
        raise _refused(context)
    error.detach()
    block.add_op(error)
    with building(InsertPoint.before(error)):
        error.operands[error.operands.index(condition)] = (Expr(condition) | ~before).value


def _remove_others(
    context: Context, attempt: Attempt, errors: Sequence[EffectOp], kept: set[int], result: Expr
) -> None:
    """Remove the ops since an attempt began that are neither kept nor needed for a result."""
    for op in reversed(list(attempts.ops_since(attempt))):
        inner = list(op.walk())
        if any(_acts_outside(each) for each in inner):
            raise _refused(context)
        has_kept = any(id(each) in kept for each in inner)
        is_used = any(value.first_use is not None for value in op.results) or op is result.value.owner
        if any(each in errors for each in inner) and (has_kept or is_used):
            raise _refused(context)
        if not has_kept and not is_used:
            _remove(op)


def _passes(context: Context, block: Block, error: EffectOp) -> Expr:
    passes, parent = None, error.parent_op()
    if error.parent is block:
        passes = error.passes()
    elif isinstance(parent, scf.IfOp) and parent.parent is block and error.fails(*map(known_number, error.operands)):
        passes = ~Expr(parent.cond) if error.parent is parent.true_region.block else Expr(parent.cond)
    if passes is None:
        raise _refused(context)
    return passes


def _acts_outside(op: Operation) -> bool:
    """Whether an op does more than compute, allocate and fail. The body of a called function is not looked at."""
    return not op.regions and not is_terminator(op.__class__) and effect_of(op) is Effect.ORDERED


def _remove(op: Operation) -> None:
    op.detach()
    for inner in op.walk():
        inner.drop_all_references()


def _stop_derivatives(attempt: Attempt) -> None:
    """Let the test compute with values through which no derivative flows."""
    ops = list(attempts.ops_since(attempt))
    if not ops:
        return
    own = {id(inner) for op in ops for inner in op.walk()}
    stopped: dict[SSAValue, SSAValue] = {}
    for inner in (inner for op in ops for inner in op.walk()):
        for place, operand in enumerate(inner.operands):
            owner = operand.owner
            is_own = id(owner if isinstance(owner, Operation) else owner.parent_op()) in own
            if is_own or not (types.is_float(operand.type) or types.is_complex(operand.type)):
                continue
            if operand not in stopped:
                with building(InsertPoint.before(ops[0])):
                    stopped[operand] = emit(StopOp, operand).value
            inner.operands[place] = stopped[operand]
