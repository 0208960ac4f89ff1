"""with: `np.errstate` and `warnings.catch_warnings`, which change nothing, and objects of the user's classes.

Reads: ast and the state. Writes: the ops of `__enter__`, of the block and of `__exit__`. Leaves: an Outcome.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from mlirad.frontend.interpreter import branches, dispatch, special_methods, storage
from mlirad.frontend.interpreter.context import Context, Keywords
from mlirad.frontend.interpreter.dispatch import runs
from mlirad.frontend.interpreter.statements import assigning
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.numpy.declarations import interprets
from mlirad.frontend.program import purity
from mlirad.frontend.program.scope import RESULT, Names
from mlirad.frontend.program.source import source_of
from mlirad.frontend.values.values import Static, Value

_FLOATING_ERRORS = ("all", "divide", "over", "under", "invalid")
_FILTERS = (warnings.simplefilter, warnings.filterwarnings)
_LEAVE_OUT = "leave it out of the compiled function"


@runs(ast.With)
def with_statement(context: Context, node: ast.With, _after: Names) -> Outcome:
    return _entered(context, node.items, node.body)


def _entered(context: Context, items: Sequence[ast.withitem], body: Sequence[ast.stmt]) -> Outcome:
    """The outcome of a block in the contexts of `items`, one inside the other."""
    if not items:
        return dispatch.block(context, body)
    item, *inner = items
    with context.at(item.context_expr):
        manager = _manager(context, item.context_expr)
        if manager is None:
            entered: Value = Static(None)
        else:
            context.push(manager)
            found = special_methods.special(context, manager, "__enter__")
            assert found is not None
            entered = found
    if item.optional_vars is not None:
        assigning.assign(context, item.optional_vars, entered)
    if manager is None:
        return _entered(context, inner, body)
    position = len(context.state.temps) - 1

    def leave() -> None:
        manager = context.state.temps[position]
        with context.at(item.context_expr):
            left = special_methods.special(context, manager, "__exit__", *[Static(None)] * 3)
        assert left is not None

    return _at_each_end(context, _entered(context, inner, body), leave, position)


def _at_each_end(context: Context, outcome: Outcome, leave: Callable[[], None], position: int) -> Outcome:
    """The outcome after running `leave`, however the block ends; the operands from `position` on are dropped."""
    if not outcome.states:
        return outcome
    if len(outcome.states) == 1:
        ((exit, context.state),) = outcome.states.items()
        number = context.frame.number
        has_result = exit == Exit.RETURN
        context.push(context.state.frames[number][RESULT] if has_result else Static(None))
        leave()
        result = context.pop()
        context.state.temps = context.state.temps[:position]
        if has_result:
            context.state.frames[number][RESULT] = result
        return Outcome({exit: context.state})
    exit, *others = outcome.states
    code = outcome.code
    assert code is not None
    one = Outcome({exit: outcome.states[exit]})
    rest = Outcome({each: outcome.states[each] for each in others}, code if len(others) > 1 else None)
    return branches.branch(
        context,
        code == int(exit),
        lambda: _at_each_end(context, one, leave, position),
        lambda: _at_each_end(context, rest, leave, position),
        trimmed=False,
    )


def _manager(context: Context, node: ast.expr) -> Value | None:
    """The object that is entered; None for a context without effect in compiled code, which gives no warnings."""
    if isinstance(node, ast.Call):
        function = dispatch.expression(context, node.func)
        called = function.value if isinstance(function, Static) else None
        if called is np.errstate:
            _require_quiet(context, node)
            return None
        if called is warnings.catch_warnings:
            for keyword in node.keywords:
                if keyword.arg == "action":
                    _require_no_error(context, dispatch.expression(context, keyword.value))
                elif keyword.arg == "record":
                    raise context.refusal("compiled code gives no warnings to record", _LEAVE_OUT)
            return None
    manager = dispatch.expression(context, node)
    kind = special_methods.users_class(context, manager)
    methods = [purity.class_attribute(kind, name) for name in ("__enter__", "__exit__")] if kind is not None else []
    if not methods or not all(isinstance(each, FunctionType) for each in methods):
        hint = (
            f"{_LEAVE_OUT}; np.errstate, warnings.catch_warnings and classes with __enter__ and __exit__ are compiled"
        )
        raise context.refusal("this `with` is not compiled", hint)
    _require_no_swallowing(context, methods[1])
    return manager


def _require_no_swallowing(context: Context, function: FunctionType) -> None:
    """Refuse an `__exit__` that might suppress an exception: compiled code leaves all blocks at once when it raises."""
    for each in ast.walk(source_of(inspect.unwrap(function)).node):
        if isinstance(each, ast.Return) and each.value is not None:
            if not (isinstance(each.value, ast.Constant) and not each.value.value):
                raise context.refusal("an __exit__ that may return True is not compiled", "let it return nothing")


def _require_quiet(context: Context, node: ast.Call) -> None:
    """Refuse a call of np.errstate that asks for exceptions."""
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        raise context.refusal("np.errstate() takes keywords", 'write np.errstate(divide="ignore")')
    for keyword in node.keywords:
        with context.at(keyword.value):
            value = storage.static(context, dispatch.expression(context, keyword.value), f"np.errstate({keyword.arg}=)")
            if keyword.arg not in _FLOATING_ERRORS:
                raise context.refusal(f"np.errstate({keyword.arg}=) is not compiled", "leave it out")
            if value not in ("ignore", "warn", None):
                hint = 'use "ignore" or "warn", and check the condition with an if'
                raise context.refusal(f"np.errstate({keyword.arg}={value!r}) is not compiled", hint)


@interprets(*_FILTERS)
def filter_warnings(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    _require_no_error(context, args[0] if args else kwargs.get("action", Static(None)))
    return Static(None)


@interprets(warnings.resetwarnings)
def reset_warnings(_context: Context, _args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    return Static(None)


def _require_no_error(context: Context, action: Value) -> None:
    known: Any = storage.static(context, action, "what is done with warnings")
    if known == "error":
        raise context.refusal("compiled code gives no warnings, and raises none", "check the condition with an if")
