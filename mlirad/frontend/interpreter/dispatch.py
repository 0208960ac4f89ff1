"""Dispatches expressions, statements and calls to the parts that interpret them.

Reads: nothing. Writes: nothing. Leaves: tables, which the parts fill when they are imported (frontend/parts.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.outcomes import Outcome
from mlirad.frontend.program.scope import Names
from mlirad.frontend.values.values import Value

Part = TypeVar("Part", bound=Callable[..., Any])

_EXPRESSIONS: dict[type[ast.expr], Callable[[Context, Any], Value]] = {}
_STATEMENTS: dict[type[ast.stmt], Callable[[Context, Any, Names], Outcome]] = {}
_OTHERS: dict[str, Callable[..., Any]] = {}


def visits(kind: type[ast.expr]) -> Callable[[Part], Part]:
    """The decorated function evaluates expressions of this kind: `visit(context, node)`."""
    return partial(_entered, _EXPRESSIONS, kind)


def runs(kind: type[ast.stmt]) -> Callable[[Part], Part]:
    """The decorated function runs statements of this kind: `run(context, node, names live after it)`."""
    return partial(_entered, _STATEMENTS, kind)


def answers(question: Callable[..., Any]) -> Callable[[Part], Part]:
    """The decorated function implements `block` or `call` of this file."""
    return partial(_entered, _OTHERS, question.__name__)


def _entered(table: dict[Any, Any], key: Any, part: Part) -> Part:
    table[key] = part
    return part


# Functions that other parts implement.


def expression(context: Context, node: ast.expr) -> Value:
    """The value of an expression. Raises UnsupportedSyntaxError if no part evaluates its kind."""
    visit = _EXPRESSIONS.get(type(node))
    with context.at(node):
        if visit is None:
            raise context.refusal(f"{_spelled(node)} is not compiled")
        return visit(context, node)


def statement(node: ast.stmt) -> Callable[[Context, Any, Names], Outcome] | None:
    """The function that runs a statement of a kind that may leave the block in several ways, or loops."""
    return _STATEMENTS.get(type(node))


def block(context: Context, statements: Sequence[ast.stmt]) -> Outcome:
    """The outcome of statements, run in order."""
    return _OTHERS["block"](context, statements)


def call(context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """The result of calling a value. Raises DTypeError if it cannot be called."""
    return _OTHERS["call"](context, function, args, kwargs)


def text_operator(context: Context, op: ast.operator, left: Value, right: Value) -> Value | None:
    """`left + right` or `left % right` of texts; None for other values."""
    return _OTHERS["text_operator"](context, op, left, right)


def quantified(context: Context, node: ast.GeneratorExp, is_any: bool) -> Value:
    """The result of any() or all() of a generator."""
    return _OTHERS["quantified"](context, node, is_any)


def _spelled(node: ast.expr) -> str:
    names = {
        "Await": "await",
        "Yield": "yield inside `try` or `with`, or with a value sent to it,",
        "YieldFrom": "yield from inside `try` or `with`, or as a value,",
        "Starred": "* here",
    }
    return names.get(type(node).__name__, type(node).__name__)
