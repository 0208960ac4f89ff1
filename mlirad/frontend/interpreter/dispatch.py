"""Who answers what: the part that evaluates each kind of expression and runs each kind of statement, and calls.

Reads: nothing. Writes: nothing. Leaves: the tables, which the parts fill when they are imported (frontend/parts.py).
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
    """The function evaluates expressions of this kind: `visit(context, node)`."""
    return partial(_entered, _EXPRESSIONS, kind)


def runs(kind: type[ast.stmt]) -> Callable[[Part], Part]:
    """The function runs statements of this kind: `run(context, node, names that are live after it)`."""
    return partial(_entered, _STATEMENTS, kind)


def answers(question: Callable[..., Any]) -> Callable[[Part], Part]:
    """The function is what `block` or `call` of this file stands for."""
    return partial(_entered, _OTHERS, question.__name__)


def _entered(table: dict[Any, Any], key: Any, part: Part) -> Part:
    table[key] = part
    return part


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
    return _OTHERS["block"](context, statements)


def call(context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """What calling a value gives. Raises DTypeError where it cannot be called."""
    return _OTHERS["call"](context, function, args, kwargs)


def text_operator(context: Context, op: ast.operator, left: Value, right: Value) -> Value | None:
    """`left + right` or `left % right` of texts; None of other values."""
    return _OTHERS["text_operator"](context, op, left, right)


def quantified(context: Context, node: ast.GeneratorExp, is_any: bool) -> Value:
    """What any() or all() gives of a generator."""
    return _OTHERS["quantified"](context, node, is_any)


def _spelled(node: ast.expr) -> str:
    names = {
        "Await": "await",
        "Yield": "yield",
        "YieldFrom": "yield from",
        "Starred": "* here",
    }
    return names.get(type(node).__name__, type(node).__name__)
