"""Statements: ast -> the ways in which a block may end, with a state for each.

Reads: ast and the state. Writes: ops. Leaves: an Outcome. If one side of an `if` leaves, the statements after the `if`
move into the other side, so a typical early exit needs no flag.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import cast

from mlirad.frontend.interpreter import branches, dispatch, variables
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import answers
from mlirad.frontend.interpreter.expressions import conditions, expressions
from mlirad.frontend.interpreter.statements import assigning, augmented, deleting, imports, local_classes, raising
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.program.scope import RESULT, Names, always_leaves
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.values import Static, Value

_SPELLED = {"AsyncFunctionDef": "async def", "TryStar": "except*"}
_ADVICE: dict[type[ast.stmt], str] = {ast.Global: "pass the value in and return it"}


@answers(dispatch.block)
def block(context: Context, statements: Sequence[ast.stmt]) -> Outcome:
    liveness = context.frame.scope.liveness
    active = len(context.active)
    for position, statement in enumerate(statements):
        after = liveness.after.get(id(statement), frozenset())
        context.frame.live = liveness.before.get(id(statement), frozenset()) | after
        rest = statements[position + 1 :]
        try:
            if isinstance(statement, ast.If):
                outcome, rest = if_statement(context, statement, rest)
            else:
                outcome = run_statement(context, statement, after)
        except Bottom:
            del context.active[active:]
            return Outcome({})
        if Exit.NEXT not in outcome.states or not rest:
            return outcome
        if len(outcome.states) > 1:
            return then(context, outcome, rest)
        context.state = outcome.states[Exit.NEXT]
    return Outcome({Exit.NEXT: context.state})


def then(context: Context, outcome: Outcome, rest: Sequence[ast.stmt]) -> Outcome:
    """Continue with `rest` if the outcome is NEXT at run time, and otherwise leave as the outcome says."""

    def go_on() -> Outcome:
        context.state = outcome.states[Exit.NEXT].fork()
        return dispatch.block(context, rest)

    return then_do(context, outcome, go_on, live_at_end(context, rest))


def then_do(context: Context, outcome: Outcome, go_on: Callable[[], Outcome], live: Names) -> Outcome:
    """The same with any continuation."""
    assert outcome.code is not None
    left = {exit: state for exit, state in outcome.states.items() if exit != Exit.NEXT}
    leaving = Outcome(left, outcome.code if len(left) > 1 else None)
    return branches.branch(context, outcome.code == int(Exit.NEXT), go_on, lambda: leaving, live)


def live_at_end(context: Context, statements: Sequence[ast.stmt]) -> Names:
    return context.frame.scope.liveness.after.get(id(statements[-1]), frozenset())


def if_statement(context: Context, node: ast.If, rest: Sequence[ast.stmt]) -> tuple[Outcome, Sequence[ast.stmt]]:
    """The outcome of an if, and the statements that remain after it."""
    with context.at(node.test):
        truth = conditions.condition(context, node.test)
    if isinstance(truth, bool):
        return dispatch.block(context, node.body if truth else node.orelse), rest
    body, orelse = node.body, node.orelse
    live = live_at_end(context, [node])
    if rest and always_leaves(body) != always_leaves(orelse):
        live = live_at_end(context, rest)
        if always_leaves(body):
            orelse = [*orelse, *rest]
        else:
            body = [*body, *rest]
        rest = ()
    with context.at(node):
        return branches.branch(
            context, truth, lambda: dispatch.block(context, body), lambda: dispatch.block(context, orelse), live
        ), rest


def run_statement(context: Context, node: ast.stmt, after: Names) -> Outcome:
    with context.at(node):
        match node:
            case ast.Return():
                value = Static(None) if node.value is None else dispatch.expression(context, node.value)
                context.state.frames[context.frame.number][RESULT] = value
                if context.location is not None and node.value is not None:
                    context.returned[getattr(context.frame.scope.node, "name", "<lambda>")] = context.location
                return Outcome({Exit.RETURN: context.state})
            case ast.Break():
                return Outcome({Exit.BREAK: context.state})
            case ast.Continue():
                return Outcome({Exit.CONTINUE: context.state})
        if (run := dispatch.statement(node)) is not None:
            return run(context, node, after)
        simple(context, node)
    return Outcome({Exit.NEXT: context.state})


def simple(context: Context, node: ast.stmt) -> None:
    match node:
        case ast.Assign():
            value = dispatch.expression(context, node.value)
            context.push(value)
            for target in node.targets:
                assigning.assign(context, target, context.top())
            context.pop()
        case ast.AnnAssign():
            if node.value is not None:
                assigning.assign(context, node.target, dispatch.expression(context, node.value))
        case ast.AugAssign():
            augmented.augmented(context, node)
        case ast.Expr():
            dispatch.expression(context, node.value)
        case ast.FunctionDef():
            variables.bind(context, node.name, decorated(context, node))
        case ast.ClassDef():
            local_classes.class_statement(context, node)
        case ast.Raise():
            raising.raise_statement(context, node)
        case ast.Assert():
            raising.assert_statement(context, node)
        case ast.Delete(targets=targets):
            for target in targets:
                deleting.delete(context, target)
        case ast.Import():
            imports.import_modules(context, node)
        case ast.ImportFrom():
            imports.import_names(context, node)
        case ast.Pass() | ast.Nonlocal():
            pass
        case _ if type(node).__name__ == "TypeAlias":  # which ast defines from Python 3.12 on
            name = cast(ast.Name, vars(node)["name"]).id
            variables.bind(context, name, Poison(f"{name} is a name for a type, and no value", context.location))
        case _:
            name = _SPELLED.get(type(node).__name__, type(node).__name__.lower())
            raise context.refusal(f"the statement `{name}` is not compiled", _ADVICE.get(type(node)))


def decorated(context: Context, node: ast.FunctionDef) -> Value:
    """The function that a def binds, after its decorators."""
    decorators = [lambda n=n: dispatch.expression(context, n) for n in node.decorator_list]
    context.push(*context.evaluate_all([*decorators, lambda: expressions.closure(context, node)]))
    for decorator in reversed(node.decorator_list):
        function, decorated = context.pop_many(2)
        with context.at(decorator):
            context.push(dispatch.call(context, function, (decorated,), {}))
    return context.pop()
