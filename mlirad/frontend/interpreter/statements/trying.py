"""try: the compiler decides which way it goes.

Reads: ast and the state. Writes: the ops of its body, and of the handler that certainly runs. Leaves: an Outcome.

If the body certainly raises, as far as the compiler knows, the handler that catches the exception runs. If the body may
raise at run time an exception that a handler would catch, the `try` is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation

from mlirad.analysis.constants import known_number
from mlirad.dialect.core.expr import insert
from mlirad.dialect.ops.check import EffectOp
from mlirad.errors import CompileError
from mlirad.frontend.interpreter import attempts, dispatch, storage, variables
from mlirad.frontend.interpreter.attempts import Attempt
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import runs
from mlirad.frontend.interpreter.statements import statements
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.program.scope import Names, uses
from mlirad.frontend.values.values import Static
from mlirad.raised_exceptions import exception_class

_HINT = "check the condition with an if"


@dataclass(frozen=True)
class Caught:
    """An exception caught by a handler. message: None if it contains run-time numbers. again: raises it once more."""

    kind: type[Exception]
    message: str | None
    again: CompileError | EffectOp


@runs(ast.Try)
def try_statement(context: Context, node: ast.Try, _after: Names) -> Outcome:
    attempt = attempts.begin(context)
    outcome = _tried(context, node, attempt)
    if not node.finalbody:
        return outcome
    if any(True for _ in _may_raise(context, attempt)):
        raise context.refusal("`finally` after code that may raise at run time is not compiled", _HINT)
    if set(outcome.states) != {Exit.NEXT}:
        raise context.refusal("`finally` after a return, break or continue is not compiled", "leave after the try")
    context.state = outcome.states[Exit.NEXT]
    return dispatch.block(context, node.finalbody)


def _tried(context: Context, node: ast.Try, attempt: Attempt) -> Outcome:
    """The outcome without the `finally`."""
    try:
        outcome = dispatch.block(context, node.body)
    except CompileError as error:
        if error.raised is None or error.block is not attempt.block:
            raise
        outcome, caught = Outcome({}), Caught(error.raised, error.message, error)
    else:
        caught = None if outcome.states else _certain(attempt)
    for error in _may_raise(context, attempt):
        if (caught is None or caught.again is not error) and any(
            _catches(context, handler, exception_class(error.raises)) for handler in node.handlers
        ):
            raise context.refusal("this `try` would catch an exception that may occur at run time", _HINT)
    if caught is not None:
        return _handled(context, node, attempt, caught, outcome)
    if not node.orelse or Exit.NEXT not in outcome.states:
        return outcome
    if len(outcome.states) > 1:
        return statements.then(context, outcome, node.orelse)
    context.state = outcome.states[Exit.NEXT]
    return dispatch.block(context, node.orelse)


def _certain(attempt: Attempt) -> Caught | None:
    """The exception that a body certainly raises; None if it depends on the run."""
    last = attempt.block.last_op
    if not isinstance(last, EffectOp) or last is attempt.last:
        return None
    known = [known_number(operand) for operand in last.operands]
    return Caught(exception_class(last.raises), last.text(*known), last) if last.fails(*known) else None


def _handled(context: Context, node: ast.Try, attempt: Attempt, caught: Caught, outcome: Outcome) -> Outcome:
    """The outcome if the body raises: that of the handler that catches it, if there is one."""
    handler = next((each for each in node.handlers if _catches(context, each, caught.kind)), None)
    if handler is None:
        if isinstance(caught.again, CompileError):
            raise caught.again
        return outcome
    if isinstance(caught.again, EffectOp):
        caught.again.detach()
    del context.active[attempt.depth :]
    context.state.temps = context.state.temps[: len(attempt.state.temps)]
    if handler.name is not None:
        if caught.message is None and handler.name in frozenset[str]().union(*map(uses, handler.body)):
            raise context.refusal("an exception with run-time numbers in its message cannot be bound to a name", _HINT)
        variables.bind(context, handler.name, Static(caught.kind(caught.message or "")))
    context.handled.append(lambda: _raise_again(caught))
    try:
        return dispatch.block(context, handler.body)
    finally:
        context.handled.pop()


def _raise_again(caught: Caught) -> Exception:
    if isinstance(caught.again, CompileError):
        return caught.again
    insert(caught.again.clone())
    return Bottom()


def _catches(context: Context, handler: ast.ExceptHandler, kind: type[Exception]) -> bool:
    if handler.type is None:
        return True
    kinds = storage.static(context, dispatch.expression(context, handler.type), "the exceptions of a handler")
    return issubclass(kind, kinds)


# Ops that may raise.


def _may_raise(context: Context, attempt: Attempt) -> Iterator[EffectOp]:
    first = attempt.block.first_op if attempt.last is None else attempt.last.next_op
    return _failing(context, _onward(first), set())


def _onward(op: Operation | None) -> Iterator[Operation]:
    while op is not None:
        yield op
        op = op.next_op


def _failing(context: Context, ops: Iterable[Operation], seen: set[str]) -> Iterator[EffectOp]:
    """The ops that may fail, including those in called functions."""
    for op in (inner for each in ops for inner in each.walk()):
        if isinstance(op, EffectOp):
            yield op
        elif isinstance(op, func.CallOp) and (name := op.callee.root_reference.data) not in seen:
            seen.add(name)
            callee = next((each for each in context.functions if each.sym_name.data == name), None)
            if callee is None:
                raise context.refusal("a function that calls itself inside a `try` is not compiled", _HINT)
            yield from _failing(context, [callee], seen)
