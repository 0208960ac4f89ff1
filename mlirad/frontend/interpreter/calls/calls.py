"""Calls: finds the called object, and passes the call to the part that compiles it.

Reads: values. Writes: ops. Leaves: the function's value, and a state with its changes.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import warnings
from collections.abc import Sequence
from functools import cache, partial, reduce, wraps
from operator import attrgetter, itemgetter, methodcaller
from types import FunctionType
from typing import Any

import numpy as np

from mlirad.contract.captures import Path
from mlirad.contract.registered_ops import NativeOp
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import consuming, dispatch, iteration, outside_objects, storage
from mlirad.frontend.interpreter.calls import (
    builtins_called,
    calls_of_numpy,
    construction,
    inlining,
    library_calls,
    methods,
    transformed_calls,
)
from mlirad.frontend.interpreter.calls.construction import is_users
from mlirad.frontend.interpreter.calls.rules import lifted_calls, native_op_calls, rule_calls, target_calls
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import answers, visits
from mlirad.frontend.interpreter.expressions import expressions
from mlirad.frontend.numpy import numpy_calls
from mlirad.frontend.program import hints, purity
from mlirad.frontend.program.hidden_state import hint_of, is_of_hidden_state
from mlirad.frontend.values.value_parts import inside, read_only
from mlirad.frontend.values.values import (
    Bound,
    Closure,
    Lazy,
    Object,
    Partial,
    PullbackValue,
    Static,
    Transformed,
    Tuple,
    Value,
    kind_of,
)
from mlirad.library.lifted import Lifted
from mlirad.library.own_rules import OwnRule, registered
from mlirad.library.python import builtin
from mlirad.requests.python_functions import plain
from mlirad.requests.request import Request, transform_of
from mlirad.tree import sparse_names

# The class of functions made by functools.cache and functools.lru_cache.
_CACHED = type(cache(len))
_MADE_BY_OPERATOR = (attrgetter, itemgetter, methodcaller)
_DISPATCHER = type(np.sum)
# Callable objects from these modules are not the user's functions.
_OWN = ("numpy", "mlirad", "functools")


@visits(ast.Call)
def visit_call(context: Context, node: ast.Call) -> Value:
    context.push(dispatch.expression(context, node.func))
    require_value(context, context.top())
    if isinstance(called := context.top(), Static) and called.value is warnings.warn:
        context.pop()
        return Static(None)  # its text is not even composed, since it may contain run-time numbers
    if (generator := _searched(context.top(), node)) is not None:
        function = context.pop()
        return dispatch.quantified(context, generator, isinstance(function, Static) and function.value is any)
    positional = expressions.items_of(context, node.args)
    context.push(*positional)
    keywords: list[str] = []
    for keyword in node.keywords:
        if keyword.arg is None:
            entry = expressions.dict_entry(context, dispatch.expression(context, keyword.value))
            keywords += [str(key) for key in entry.keys]
            context.push(*entry.items)
        else:
            keywords.append(keyword.arg)
            context.push(dispatch.expression(context, keyword.value))
    named = dict(zip(keywords, context.pop_many(len(keywords)), strict=True))
    positional = context.pop_many(len(positional))
    return dispatch.call(context, context.pop(), positional, named)


def _searched(function: Value, node: ast.Call) -> ast.GeneratorExp | None:
    """The generator argument of a call of any() or all()."""
    is_search = isinstance(function, Static) and (function.value is any or function.value is all)
    generator = node.args[0] if is_search and len(node.args) == 1 and not node.keywords else None
    if not isinstance(generator, ast.GeneratorExp):
        return None
    return None if any(isinstance(each, ast.NamedExpr) for each in ast.walk(generator)) else generator


def require_value(context: Context, function: Value) -> None:
    """Refuse a function called for its effect before its arguments are evaluated: they are even less likely to
    compile."""
    called = function.value if isinstance(function, Static) else getattr(function, "function", None)
    hint = hints.of_effect(called)
    if called is not None and hint is not None:
        raise context.refusal(f"{called.__name__} is not compiled", hint)


@answers(dispatch.call)
def call(context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    function = context.use(function)
    match function:
        case Static():
            return call_static(context, function, args, kwargs)
        case Closure():
            return inlining.inline(
                context, function.node, function.source, function.frame, args, kwargs, inlining.defaults(function)
            )
        case Bound():
            if function.function is not None:
                return dispatch.call(context, Static(function.function), (function.receiver, *args), kwargs)
            return methods.call_method(context, function, args, kwargs)
        case Partial():
            return dispatch.call(
                context, function.function, (*function.args, *args), {**dict(function.keywords), **kwargs}
            )
        case Transformed():
            return transformed_calls.call_transformed(context, function, args, kwargs)
        case PullbackValue():
            return function.request.call(context, function.residuals, args, kwargs)
        case Object() if (
            inspect.getattr_static(kind := storage.entry_of(context, function).kind, "__call__", None) is not None
        ):
            return dispatch.call(
                context, outside_objects.attribute_of_class(context, function, kind, "__call__"), args, kwargs
            )
    raise DTypeError(f"{kind_of(function)} is not callable", context.location)


def call_static(context: Context, function: Static, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    callee = plain(function.value)
    for meaning in (_call_with_rule, _call_of_tool, _call_by_name):
        if (made := meaning(context, function, callee, args, kwargs)) is not None:
            return made
    if context.live is not None and callee is context.live.function:
        made = context.live.run(context, args, kwargs)
        if made is not None:
            return made
    if (function_ := python_function(callee)) is not None:
        if is_of_hidden_state(function_) or hint_of(callee) is not None:
            raise numpy_calls.unsupported(callee)
        if purity.is_pure(callee) and library_calls.is_known(context, [*args, *kwargs.values()]):
            return calls_of_numpy.evaluated_now(context, callee, args, kwargs)
        return inlining.inline_function(context, function_, args, kwargs)
    if isinstance(callee, np.vectorize):
        return call_vectorized(context, callee, args, kwargs)
    special = inspect.getattr_static(type(callee), "__call__", None)
    if isinstance(special, FunctionType) and _is_of_users(type(callee)):
        outside_objects.guard(context, Path(type(callee), "", (("attribute", "__call__"),)), special)
        return inlining.inline_function(context, special, (function, *args), kwargs)
    if isinstance(callee, type) and (made := _made_by_class(context, callee, args, kwargs)) is not None:
        return made
    return calls_of_numpy.evaluated_now(context, callee, args, kwargs)


# Each of these functions gives None for a callee that is not its own.


def _call_with_rule(
    context: Context, function: Static, callee: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A call of a transform, of a function with a derivative rule, or of an op of the target."""
    if isinstance(callee, Request):
        inner = outside_objects.object_value(context, callee.function, None)
        return dispatch.call(context, Transformed(inner, callee), args, kwargs)
    if isinstance(callee, type) and issubclass(callee, OwnRule):
        hint = "decorate the function and define its rule outside"
        raise context.refusal(f"{callee.decorator} cannot be used in a compiled function", hint)
    if callee is Lifted:
        why = "a derivative with respect to arrays in objects cannot be made in a compiled function"
        raise context.refusal(why, "make it outside")
    if isinstance(callee, Lifted):
        return lifted_calls.call_lifted(context, callee, args, kwargs)
    if isinstance(callee, NativeOp):
        return native_op_calls.call_native(context, callee, args, kwargs)
    rule = registered(callee)
    if rule is not None and id(callee) not in context.calling.plain:
        return rule_calls.call_of_rule(context, rule, None, args, kwargs)
    if isinstance(callee, OwnRule):
        return rule_calls.call_of_rule(context, callee, function.path, args, kwargs)
    made = target_calls.call_of_target(context, callee, args, kwargs)
    if made is not None:
        return made
    transform = transform_of(callee)
    return None if transform is None else transformed_calls.make_transformed(context, transform, args, kwargs)


def _call_of_tool(
    context: Context, function: Static, callee: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A call of what functools and operator have: functions that make or call functions."""
    if callee is partial and args:
        return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))
    if callee is reduce and not kwargs:
        is_running = len(args) > 1 and iteration.is_running(context.use(args[1]))
        if is_running and len(args) == 2:
            hint = "give reduce an initial value, or make a list of the generator: list(...)"
            raise context.refusal("reduce() of a generator without an initial value is not compiled", hint)
        if len(args) > 1 and isinstance(context.use(args[1]), Lazy) and not is_running:
            args = (args[0], Tuple(consuming.elements(context, args[1])), *args[2:])
        return dispatch.call(context, Static(builtin.reduce_ if len(args) == 2 else builtin.reduce_from), args, {})
    if callee is wraps:
        return Static(builtin.identity)  # names and docstrings do not affect results
    if isinstance(callee, partial):
        return dispatch.call(context, partial_of(context, callee, function.path), args, kwargs)
    if isinstance(callee, _MADE_BY_OPERATOR):
        maker, given = callee.__reduce__()
        made = dispatch.call(context, Static(maker), [Static(each) for each in given], {})
        return dispatch.call(context, made, args, kwargs)
    if isinstance(callee, _CACHED) and isinstance(callee.__wrapped__, FunctionType):
        return call_cached(context, callee, args, kwargs)
    return None


def _call_by_name(
    context: Context, _function: Static, callee: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A call of a function that the compiler knows: a builtin, one of the library, or one of NumPy."""
    for call_known in (builtins_called.call_builtin, library_calls.call_library, calls_of_numpy.call_numpy):
        if (made := call_known(context, callee, args, kwargs)) is not None:
            return made
    return None


def _made_by_class(context: Context, kind: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """The object that a call of a class makes."""
    if (made := getattr(kind, "__mlirad_made__", None)) is not None:
        return inlining.inline_function(context, made, args, kwargs)
    if dataclasses.is_dataclass(kind):
        return construction.construct(context, kind, args, kwargs)
    if sparse_names(kind) is not None:
        return construction.construct_sparse(context, kind, args, kwargs)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return construction.construct_named(context, kind, args, kwargs)
    return construction.construct_plain(context, kind, args, kwargs) if is_users(kind) else None


def _is_of_users(kind: type) -> bool:
    """Whether calling objects of a class calls Python code that is compiled."""
    return kind.__module__.startswith("mlirad.interop.") or kind.__module__.split(".")[0] not in _OWN


def python_function(callee: Any) -> FunctionType | None:
    """The Python function that is called: NumPy's dispatchers wrap theirs."""
    wrapped = getattr(callee, "__wrapped__", None) if isinstance(callee, _DISPATCHER) else callee
    return wrapped if isinstance(wrapped, FunctionType) else None


def partial_of(context: Context, value: partial, path: Path | None) -> Partial:
    """A partial from outside the function."""
    path = path or Path(value, "")
    inner = {name: path.then("attribute", name) for name in ("func", "args", "keywords")}
    args = (
        outside_objects.object_value(context, x, outside_objects.step(inner["args"], "item", i))
        for i, x in enumerate(value.args)
    )
    named = (
        (k, outside_objects.object_value(context, x, outside_objects.step(inner["keywords"], "item", k)))
        for k, x in value.keywords.items()
    )
    return Partial(outside_objects.object_value(context, value.func, inner["func"]), tuple(args), tuple(named))


def call_vectorized(context: Context, vectorized: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """A call of a function that np.vectorize made outside."""
    if vectorized.signature is not None or vectorized.excluded or kwargs:
        raise context.refusal("np.vectorize with a signature, or with keywords, is not compiled", "write a loop")
    function, otypes = (
        outside_objects.object_value(context, getattr(vectorized, name), Path(vectorized, "", (("attribute", name),)))
        for name in ("pyfunc", "otypes")
    )
    made = dispatch.call(context, Static(np.vectorize), (function, otypes), {})
    return dispatch.call(context, made, args, {})


def call_cached(context: Context, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """A call of a function made by functools.cache. Its callers share one result, so they may not write it."""
    wrapped = outside_objects.object_value(
        context, function.__wrapped__, Path(function, "", (("attribute", "__wrapped__"),))
    )
    result = dispatch.call(context, wrapped, args, kwargs)
    for part in inside(result):
        if isinstance(part, Object):
            hint = "return a tuple or an array, or leave the cache out"
            raise context.refusal(
                f"{function.__name__} is cached, and all its callers share the list that it returns", hint
            )
    return read_only(result)
