"""Calls of functions with known source: binds the arguments, and interprets the body in a frame of its own.

Reads: a function and its arguments. Writes: ops. Leaves: the returned value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType

from mlirad.contract.captures import Path, default_of, is_in_settled
from mlirad.errors import CompileError, DTypeError
from mlirad.frontend.interpreter import consuming, outside_objects
from mlirad.frontend.interpreter.calls import needed_parameters, recursion, sharing
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.recursions import Site
from mlirad.frontend.program import libraries
from mlirad.frontend.program.generator_bodies import is_generator_function
from mlirad.frontend.program.source import FunctionNode, Source, source_of
from mlirad.frontend.values.poison import Unresolved
from mlirad.frontend.values.values import Closure, Entry, Tuple, Value
from mlirad.library.spells import is_in_library


def inline_function(context: Context, function: FunctionType, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    source = source_of(function, may_yield=True)
    outside_objects.guard_code(context, function, source.code)
    return inline(context, source.node, source, None, args, kwargs, lambda name: default(context, function, name))


def default(context: Context, function: FunctionType, name: str) -> Value | None:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    split = len(names) - len(function.__defaults__ or ())
    if name in names[split:] or name in (function.__kwdefaults__ or {}):
        path = None if is_in_settled(function.__module__) else Path(function, "", (("default", name),))
        return outside_objects.object_value(context, default_of(function, name), path)
    return None


def defaults(closure: Closure) -> Callable[[str], Value | None]:
    arguments = closure.node.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    split = len(positional) - len(closure.defaults)
    known = dict(zip(positional[split:], closure.defaults, strict=True)) | dict(closure.keyword_defaults)
    return known.get


def inline(
    context: Context,
    node: FunctionNode,
    source: Source,
    parent: int | None,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    default: Callable[[str], Value | None],
) -> Value:
    """The value of a call: interpret the function's body, inlined or in an IR function of its own."""
    name = getattr(node, "name", "<lambda>")
    if not is_in_library(source.filename):
        for value in (*args, *kwargs.values()):
            consuming.require_no_generator(context, value)
    bound = dict(sorted(bound_arguments(context, node.args, name, args, kwargs, default).items()))
    if isinstance(node, ast.FunctionDef) and is_generator_function(node):
        return consuming.generator(context, node, source, parent, bound)
    state, block = context.state.fork(), context.current_block
    caller = context.location if context.active and not source.is_hidden else None
    is_users = not libraries.is_of_library(source.function)
    is_asked_by_user = not context.active or not libraries.is_of_library(context.frame.source.function)
    try:
        needed_parameters.require_known(node, source, bound)
        return sharing.entered(context, Site(node, source, parent, bound, state, block, block.last_op))
    except (CompileError, Unresolved) as error:
        if not is_users and is_asked_by_user:
            libraries.blame(error, source.function, context.location)
        elif caller is not None and not (isinstance(error, CompileError) and error.is_deferred):
            error.callers.append(caller)
        raise


def run_comprehension(context: Context, node: ast.FunctionDef, items: Value) -> Value:
    """The value of a function that represents a comprehension of the running function."""
    return run_rewritten(context, node, context.frame.source, context.frame.number, {node.args.args[0].arg: items})


def run_rewritten(
    context: Context, node: ast.FunctionDef, source: Source, parent: int | None, bound: dict[str, Value]
) -> Value:
    """The value of a function that the compiler has made from the program, for these arguments."""
    state, block = context.state.fork(), context.current_block
    return recursion.entered(context, Site(node, source, parent, bound, state, block, block.last_op))


def bound_arguments(
    context: Context,
    parameters: ast.arguments,
    name: str,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    default: Callable[[str], Value | None],
) -> dict[str, Value]:
    """The names that a call binds."""
    positional = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    only = {a.arg for a in parameters.posonlyargs}
    bound: dict[str, Value] = dict(zip(positional, args, strict=False))
    extra = tuple(args[len(positional) :])
    if parameters.vararg is not None:
        bound[parameters.vararg.arg] = Tuple(extra)
    elif extra:
        taken = f"{len(positional)} argument{'s' * (len(positional) != 1)}"
        raise DTypeError(f"{name}() takes {taken} but {len(args)} were given", context.location)
    named = [*(p for p in positional if p not in only), *(a.arg for a in parameters.kwonlyargs)]
    rest: dict[str, Value] = {}
    for key, value in kwargs.items():
        if key in bound and key in named:
            raise DTypeError(f"{name}() got multiple values for argument {key!r}", context.location)
        (bound if key in named else rest)[key] = value
    if parameters.kwarg is not None:
        bound[parameters.kwarg.arg] = context.new_object(Entry(dict, tuple(rest), tuple(rest.values())))
    elif rest:
        raise DTypeError(f"{name}() got an unexpected keyword argument {next(iter(rest))!r}", context.location)
    for key in (*positional, *(a.arg for a in parameters.kwonlyargs)):
        if key not in bound:
            value = default(key)
            if value is None:
                raise DTypeError(f"{name}() is missing the argument {key!r}", context.location)
            bound[key] = value
    return bound
