"""Who answers what: the part that evaluates each kind of expression and runs each kind of statement, and calls.

Reads: nothing. Writes: nothing. Leaves: the tables, which the parts fill when they are imported (parts.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.outcomes import Outcome
from mlirad.frontend.program.scope import Names
from mlirad.frontend.values.values import Value

Visit = TypeVar("Visit", bound=Callable[..., Value])
Run = TypeVar("Run", bound=Callable[..., Outcome])

_EXPRESSIONS: dict[type[ast.expr], Callable[[Context, Any], Value]] = {}
_STATEMENTS: dict[type[ast.stmt], Callable[[Context, Any, Names], Outcome]] = {}
_BLOCKS: list[Callable[[Context, Sequence[ast.stmt]], Outcome]] = []
_CALLS: list[Callable[[Context, Value, Sequence[Value], dict[str, Value]], Value]] = []


def visits(kind: type[ast.expr]) -> Callable[[Visit], Visit]:
    """The function evaluates expressions of this kind: `visit(context, node)`."""

    def enter(visit: Visit) -> Visit:
        _EXPRESSIONS[kind] = visit
        return visit

    return enter


def runs(kind: type[ast.stmt]) -> Callable[[Run], Run]:
    """The function runs statements of this kind: `run(context, node, names that are live after it)`."""

    def enter(run: Run) -> Run:
        _STATEMENTS[kind] = run
        return run

    return enter


def runs_blocks(run: Run) -> Run:
    _BLOCKS[:] = [run]
    return run


def calls_values(call: Visit) -> Visit:
    _CALLS[:] = [call]
    return call


# What the other parts answer.


def expression(context: Context, node: ast.expr) -> Value:
    """The value of an expression. Raises UnsupportedSyntaxError where no part evaluates its kind."""
    visit = _EXPRESSIONS.get(type(node))
    with context.at(node):
        if visit is None:
            raise context.refusal(f"{_spelled(node)} is not compiled")
        return visit(context, node)


def statement(node: ast.stmt) -> Callable[[Context, Any, Names], Outcome] | None:
    """What runs a statement, if it is of a kind that may leave the block in several ways, or loops."""
    return _STATEMENTS.get(type(node))


def block(context: Context, statements: Sequence[ast.stmt]) -> Outcome:
    """The outcome of statements, one after the other."""
    (run,) = _BLOCKS
    return run(context, statements)


def call(context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """What calling a value gives. Raises DTypeError where it cannot be called."""
    (run,) = _CALLS
    return run(context, function, args, kwargs)


def _spelled(node: ast.expr) -> str:
    names = {
        "Set": "a set",
        "SetComp": "a set comprehension",
        "Await": "await",
        "Yield": "yield",
        "YieldFrom": "yield from",
        "Starred": "* here",
    }
    return names.get(type(node).__name__, type(node).__name__)
