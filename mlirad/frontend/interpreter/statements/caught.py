"""Exceptions in a try: which ops of its body may raise one, and the handler that catches it.

Reads: ast, the state, and the ops of the body. Writes: the ops of a handler. Leaves: an Outcome.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation

from mlirad.analysis.constants import known_number
from mlirad.dialect.core.expr import insert
from mlirad.dialect.ops.check import EffectOp
from mlirad.errors import CompileError
from mlirad.frontend.interpreter import dispatch, storage, variables
from mlirad.frontend.interpreter.attempts import Attempt, ops_since
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.outcomes import Outcome
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.program.caught_exceptions import Kinds, catching
from mlirad.frontend.program.scope import uses
from mlirad.frontend.values.values import Static
from mlirad.raised_exceptions import exception_class, name_of_exception

HINT = "check the condition with an if"


@dataclass(frozen=True)
class Caught:
    """An exception caught by a handler. message: None if only the run knows it. again: raises it once more; None
    if the handler runs where only the run decides."""

    kind: type[Exception]
    message: str | None
    again: CompileError | EffectOp | None


def protected(context: Context, node: ast.Try) -> catching:
    """Inside this context, the handlers of a try catch exceptions."""
    return catching(tuple(_kind(context, each) for each in node.handlers))


def attempted(
    context: Context, node: ast.Try, attempt: Attempt, body: Callable[[], Outcome]
) -> tuple[Outcome, Caught | None]:
    """The outcome of a body, and the exception that it certainly raises, if any."""
    try:
        with protected(context, node):
            outcome = body()
    except CompileError as error:
        if error.raised is None or error.block is not attempt.block:
            raise
        return Outcome({}), Caught(error.raised, error.message, error)
    return outcome, None if outcome.states else _certain(attempt)


def undecided(context: Context, node: ast.Try, attempt: Attempt, raised: Caught | None) -> list[EffectOp]:
    """The ops since the attempt began that may raise an exception that a handler catches, if the run says so."""
    return [
        error
        for error in may_raise(context, attempt)
        if (raised is None or raised.again is not error) and handler_of(context, node, error) is not None
    ]


def handler_of(context: Context, node: ast.Try, error: EffectOp) -> ast.ExceptHandler | None:
    """The handler that catches what an op raises, if any."""
    return _handler_of(context, node, exception_class(error.raises))


def _certain(attempt: Attempt) -> Caught | None:
    """The exception that a body certainly raises; None if it depends on the run."""
    last = attempt.block.last_op
    if not isinstance(last, EffectOp) or last is attempt.last:
        return None
    known = [known_number(operand) for operand in last.operands]
    return Caught(exception_class(last.raises), last.text(*known), last) if last.fails(*known) else None


def handled(context: Context, node: ast.Try, attempt: Attempt, caught: Caught, outcome: Outcome) -> Outcome:
    """The outcome if the body raises: what the handler that catches it gives, if there is one."""
    handler = _handler_of(context, node, caught.kind)
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
            raise context.refusal("an exception whose message only the run knows cannot be bound to a name", HINT)
        variables.bind(context, handler.name, Static(caught.kind(caught.message or "")))
    context.handled.append(lambda: _raise_again(context, caught))
    try:
        return dispatch.block(context, handler.body)
    finally:
        context.handled.pop()


def _raise_again(context: Context, caught: Caught) -> Exception:
    if isinstance(caught.again, CompileError):
        return caught.again
    if caught.again is None:
        if caught.message is None:
            return context.refusal("an exception whose message only the run knows cannot be raised again", HINT)
        return context.failed(name_of_exception(caught.kind) or "Exception", caught.message)
    insert(caught.again.clone())
    return Bottom()


def _handler_of(context: Context, node: ast.Try, kind: type[Exception]) -> ast.ExceptHandler | None:
    return next((each for each in node.handlers if issubclass(kind, _kind(context, each))), None)


def _kind(context: Context, handler: ast.ExceptHandler) -> Kinds:
    """The exceptions that a handler catches."""
    if handler.type is None:
        return (BaseException,)
    found = storage.static(context, dispatch.expression(context, handler.type), "the exceptions of a handler")
    return found if isinstance(found, tuple) else (found,)


# Ops that may raise.


def may_raise(context: Context, attempt: Attempt) -> Iterator[EffectOp]:
    return _failing(context, ops_since(attempt), set())


def _failing(context: Context, ops: Iterable[Operation], seen: set[str]) -> Iterator[EffectOp]:
    """The ops that may fail, including those in called functions."""
    for op in (inner for each in ops for inner in each.walk()):
        if isinstance(op, EffectOp):
            yield op
        elif isinstance(op, func.CallOp) and (name := op.callee.root_reference.data) not in seen:
            seen.add(name)
            callee = next((each for each in context.functions if each.sym_name.data == name), None)
            if callee is None:
                raise context.refusal("a function that calls itself inside a `try` is not compiled", HINT)
            yield from _failing(context, [callee], seen)
