"""Conditions: the tests of `if`, `while`, `not` and `assert`, which need only the truth of a value.

Reads: ast and the state. Writes: ops, through expressions. Leaves: a bool, or an i1 if it depends on the run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlirad.frontend.interpreter import branches, dispatch
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import comparisons
from mlirad.frontend.interpreter.expressions.comparisons import Truth, as_value, negated
from mlirad.frontend.values.values import Static, Value


def condition(context: Context, node: ast.expr) -> Truth:
    """The truth of an expression. Operands of `and` and `or` in it need no common type."""
    with context.at(node):
        match node:
            case ast.BoolOp():
                return condition_of_all(context, isinstance(node.op, ast.And), node.values)
            case ast.UnaryOp(op=ast.Not()):
                return negated(condition(context, node.operand))
            case ast.Compare():
                return comparisons.truth_of(
                    context,
                    comparisons.chain(
                        context, dispatch.expression(context, node.left), node.ops, node.comparators, True
                    ),
                )
            case ast.IfExp():
                test = condition(context, node.test)
                if isinstance(test, bool):
                    return condition(context, node.body if test else node.orelse)
                body, orelse = node.body, node.orelse
                then, otherwise = (lambda n=n: as_value(condition(context, n)) for n in (body, orelse))
                return comparisons.truth_of(context, branches.choose(context, test, then, otherwise))
        return comparisons.truth_of(context, dispatch.expression(context, node))


def condition_of_all(context: Context, is_and: bool, operands: Sequence[ast.expr]) -> Truth:
    """The truth of `operand and operand ...`, or of the same with `or`."""
    first = condition(context, operands[0])
    if len(operands) == 1:
        return first
    if isinstance(first, bool):
        return condition_of_all(context, is_and, operands[1:]) if first == is_and else first

    def rest() -> Value:
        return as_value(condition_of_all(context, is_and, operands[1:]))

    def decided() -> Value:
        return Static(not is_and)

    return comparisons.truth_of(
        context,
        branches.choose(context, first, rest, decided) if is_and else branches.choose(context, first, decided, rest),
    )
