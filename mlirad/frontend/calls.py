"""Calls: plain functions, lambdas and closures are interpreted where they are called.

Reads: values. Writes: ops. Leaves: the value that the function returns, and what it has changed, in the state.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial, reduce, wraps
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from mlirad.errors import CompileError, DTypeError
from mlirad.frontend import hints, libraries, numpy_calls, numpy_creation, prelude, purity, view_functions
from mlirad.frontend.captures import Path
from mlirad.frontend.construction import Construction, is_users
from mlirad.frontend.core import RESULT, Bottom
from mlirad.frontend.hidden_state import is_of_hidden_state
from mlirad.frontend.merge import kind_of
from mlirad.frontend.out_arguments import with_out_named
from mlirad.frontend.outcomes import Exit
from mlirad.frontend.poison import PoisonUsed
from mlirad.frontend.recursion import Recursions, Site
from mlirad.frontend.scope import always_leaves
from mlirad.frontend.source import FunctionNode, Source, source_of
from mlirad.frontend.state import State
from mlirad.frontend.statements import Statements
from mlirad.frontend.traced import DATA, NeedStatic, Traced, is_static, origins_of
from mlirad.frontend.values import (
    Bound,
    Closure,
    Entry,
    Lazy,
    Object,
    Partial,
    Pullback,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    inside,
    read_only,
)
from mlirad.requests import Request, plain, transform_of

# What functools.cache and functools.lru_cache make.
_CACHED = type(cache(len))

# Modules whose callable objects are no functions of the user.
_OWN = ("numpy", "mlirad", "functools")


class Calls(Statements, Construction, Recursions):
    """`call(function, args, kwargs)`."""

    @abstractmethod
    def elements(self, value: Value) -> tuple[Value, ...]: ...

    @abstractmethod
    def call_builtin(self, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None: ...

    @abstractmethod
    def call_method(self, bound: Bound, args: Sequence[Value], kwargs: dict[str, Value]) -> Value: ...

    @abstractmethod
    def call_transformed(self, function: Transformed, args: Sequence[Value], kwargs: dict[str, Value]) -> Value: ...

    @abstractmethod
    def call_pullback(self, function: Pullback, args: Sequence[Value]) -> Value: ...

    @abstractmethod
    def make_transformed(self, transform: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value: ...

    def _call(self, node: ast.Call) -> Value:
        self.push(self.expression(node.func))
        self.require_value(self.top())
        positional = self.items_of(node.args)
        self.push(*positional)
        keywords: list[str] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                entry = self.dict_entry(self.expression(keyword.value))
                keywords += [str(key) for key in entry.keys]
                self.push(*entry.items)
            else:
                keywords.append(keyword.arg)
                self.push(self.expression(keyword.value))
        named = dict(zip(keywords, self.pop_many(len(keywords)), strict=True))
        positional = self.pop_many(len(positional))
        return self.call(self.pop(), positional, named)

    def require_value(self, function: Value) -> None:
        """Refuse what is called for its effect, before its arguments: they may be compiled even less."""
        called = function.value if isinstance(function, Static) else getattr(function, "function", None)
        hint = hints.of_effect(called)
        if called is not None and hint is not None:
            raise self.refusal(f"{called.__name__} is not compiled", hint)

    def call(self, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        function = self.use(function)
        match function:
            case Static():
                return self.call_static(function, args, kwargs)
            case Closure():
                return self.inline(
                    function.node, function.source, function.frame, args, kwargs, self.defaults(function)
                )
            case Bound():
                if function.function is not None:
                    return self.call(Static(function.function), (function.receiver, *args), kwargs)
                return self.call_method(function, args, kwargs)
            case Partial():
                return self.call(function.function, (*function.args, *args), {**dict(function.keywords), **kwargs})
            case Transformed():
                return self.call_transformed(function, args, kwargs)
            case Pullback():
                return self.call_pullback(function, args)
            case Object() if inspect.getattr_static(kind := self.entry(function).kind, "__call__", None) is not None:
                return self.call(self.attribute_of_class(function, kind, "__call__"), args, kwargs)
        raise DTypeError(f"{kind_of(function)} is not callable", self.location)

    def call_static(self, function: Static, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        callee = plain(function.value)
        if isinstance(callee, Request):
            return self.call(Transformed(self.object_value(callee.function, None), callee), args, kwargs)
        if (transform := transform_of(callee)) is not None:
            return self.make_transformed(transform, args, kwargs)
        if callee is partial and args:
            return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))
        if callee is reduce and not kwargs:
            if len(args) > 1 and isinstance(self.use(args[1]), Lazy):
                args = (args[0], Tuple(self.elements(args[1])), *args[2:])
            return self.call(Static(prelude.reduce_ if len(args) == 2 else prelude.reduce_from), args, {})
        if callee is wraps:
            return Static(prelude.identity)  # names and docstrings are no part of what is computed
        if isinstance(callee, partial):
            return self.call(self.partial_of(callee, function.path), args, kwargs)
        if isinstance(callee, _CACHED) and isinstance(callee.__wrapped__, FunctionType):
            return self.call_cached(callee, args, kwargs)
        made = self.call_builtin(callee, args, kwargs)
        if made is not None:
            return made
        made = self.call_numpy(callee, args, kwargs)
        if made is not None:
            return made
        if isinstance(callee, FunctionType) and (callee.__module__ or "").split(".")[0] != "numpy":
            if is_of_hidden_state(callee):
                raise numpy_calls.unsupported(callee)
            return self.inline_function(callee, args, kwargs)
        special = inspect.getattr_static(type(callee), "__call__", None)
        if isinstance(special, FunctionType) and type(callee).__module__.split(".")[0] not in _OWN:
            self.guard(Path(type(callee), "", (("attribute", "__call__"),)), special)
            return self.inline_function(special, (function, *args), kwargs)
        if isinstance(callee, type) and dataclasses.is_dataclass(callee):
            return self.construct(callee, args, kwargs)
        if isinstance(callee, type) and issubclass(callee, tuple) and hasattr(callee, "_fields"):
            return self.construct_named(callee, args, kwargs)
        if isinstance(callee, type) and is_users(callee):
            return self.construct_plain(callee, args, kwargs)
        return self.evaluated_now(callee, args, kwargs)

    def partial_of(self, value: partial, path: Path | None) -> Partial:
        """A partial from around the function."""
        path = path or Path(value, "")
        inner = {name: path.then("attribute", name) for name in ("func", "args", "keywords")}
        args = (self.object_value(x, self.step(inner["args"], "item", i)) for i, x in enumerate(value.args))
        named = ((k, self.object_value(x, self.step(inner["keywords"], "item", k))) for k, x in value.keywords.items())
        return Partial(self.object_value(value.func, inner["func"]), tuple(args), tuple(named))

    def call_cached(self, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """A call of what functools.cache has made. Its callers share one result, so that it may not be written."""
        wrapped = self.object_value(function.__wrapped__, Path(function, "", (("attribute", "__wrapped__"),)))
        result = self.call(wrapped, args, kwargs)
        for part in inside(result):
            if isinstance(part, Object):
                hint = "return a tuple or an array, or leave the cache out"
                raise self.refusal(f"{function.__name__} is cached, and all its callers share the list it gives", hint)
        return read_only(result)

    # NumPy.

    def call_numpy(self, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        """A NumPy function: a view, or ops; None for what is no NumPy function that is compiled."""
        viewer = view_functions.uncopied(function) if self.is_uncopied(kwargs) else None
        viewer = viewer or view_functions.function(function)
        place = view_functions.place(function)
        if viewer is not None and len(args) > place and isinstance(array := self.use(args[place]), Ref):
            rest = [self.index_operand(arg) for arg in (*args[:place], *args[place + 1 :])]
            named = {name: self.index_operand(value) for name, value in kwargs.items()}
            viewed = self.viewed(array, viewer, *rest, **named)
            if viewed is not None:
                return viewed
        if not numpy_calls.is_supported(function):
            return None
        args, kwargs = with_out_named(function, args, kwargs)
        out = kwargs.pop("out", None)
        operands = [self.operand(arg) for arg in args]
        named = {name: self.operand(value) for name, value in kwargs.items()}
        result = self.computed(lambda: numpy_calls.call(function, tuple(operands), named))
        result = self.laid_out(result, function, args, kwargs)
        if out is None or (isinstance(out, Static) and out.value is None):
            return result
        return self.stored(function, result, out)

    @staticmethod
    def is_uncopied(kwargs: dict[str, Value]) -> bool:
        """Whether a call has copy=False or copy=None."""
        return isinstance(copy := kwargs.get("copy"), Static) and copy.value in (None, False)

    def stored(self, function: Any, result: Value, out: Value) -> Value:
        """`out=`: the result is written there."""
        out = self.use(out)
        if isinstance(out, Tuple) and len(out.items) == 1:
            out = out.items[0]
        if not isinstance(out, Ref):
            raise self.refusal("out= takes an array", "bind the result to a name")
        self.require_writable(out)
        self.assign_array(out, self.operand(result), function if isinstance(function, np.ufunc) else np.add)
        return out

    def evaluated_now(self, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """A pure function of Python or NumPy on constants is evaluated by the compiler; any other is refused."""
        if not purity.is_pure(function):
            raise numpy_calls.unsupported(function)
        if args and isinstance(args[0], Lazy) and purity.takes_iterables(function):
            args = (Tuple(self.elements(args[0])), *args[1:])
        operands = [self.operand(arg) for arg in args]
        named = {key: self.operand(value) for key, value in kwargs.items()}
        name = numpy_calls.spelling(function)
        if not is_static((operands, named)):
            origins = origins_of(operands, list(named.values()))
            is_of_sizes = function in numpy_creation.OF_SIZES
            if (name.startswith(("np.", "math.")) and not is_of_sizes) or hints.replacement(name) is not None:
                raise numpy_calls.unsupported(function)
            if DATA in origins and not is_of_sizes:
                hint = "compute it outside, or from numbers that are known at compile time"
                raise self.refusal(f"{name} is not compiled on values that only the run knows", hint)
            raise NeedStatic(origins, f"an argument of {name}")
        return self.computed(lambda: numpy_calls.evaluated(function, operands, named))

    # Functions written in Python.

    def inline_function(self, function: FunctionType, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        source = source_of(function)
        self.guard_code(function, source.code)
        return self.inline(source.node, source, None, args, kwargs, lambda name: self.default(function, name))

    def default(self, function: FunctionType, name: str) -> Value | None:
        from mlirad.frontend.captures import default_of

        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        split = len(names) - len(function.__defaults__ or ())
        if name in names[split:] or name in (function.__kwdefaults__ or {}):
            path = Path(function, "", (("default", name),))
            return self.object_value(default_of(function, name), path)
        return None

    @staticmethod
    def defaults(closure: Closure) -> Callable[[str], Value | None]:
        arguments = closure.node.args
        positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        split = len(positional) - len(closure.defaults)
        known = dict(zip(positional[split:], closure.defaults, strict=True)) | dict(closure.keyword_defaults)
        return known.get

    def inline(
        self,
        node: FunctionNode,
        source: Source,
        parent: int | None,
        args: Sequence[Value],
        kwargs: dict[str, Value],
        default: Callable[[str], Value | None],
    ) -> Value:
        """The value of a call, the function's body being interpreted, here or in a function of its own."""
        name = getattr(node, "name", "<lambda>")
        if source.filename != prelude.__file__:
            for value in (*args, *kwargs.values()):
                self.require_no_generator(value)
        bound = dict(sorted(self.bound_arguments(node.args, name, args, kwargs, default).items()))
        state, block = self.state.fork(), self.current_block
        caller = self.location if self.active and source.filename != prelude.__file__ else None
        is_users = not libraries.is_of_library(source.function)
        is_asked_by_user = not self.active or not libraries.is_of_library(self.frame.source.function)
        try:
            return self.entered(Site(node, source, parent, bound, state, block, block.last_op))
        except (CompileError, NeedStatic, PoisonUsed) as error:
            if not is_users and is_asked_by_user:
                libraries.blame(error, source.function, self.location)
            elif caller is not None and not error.__dict__.get("is_deferred"):
                error.__dict__.setdefault("callers", []).append(caller)
            raise

    def run_comprehension(self, node: ast.FunctionDef, items: Value) -> Value:
        """What a function gives that stands for a comprehension of the running one."""
        bound = {node.args.args[0].arg: items}
        state, block = self.state.fork(), self.current_block
        return self.entered(Site(node, self.frame.source, self.frame.number, bound, state, block, block.last_op))

    def run_body(self, node: FunctionNode, number: int) -> Value:
        if isinstance(node, ast.Lambda):
            self.frame.live = self.frame.scope.local
            return self.expression(node.body)
        outcome = self.block(_ending_by_return(node))
        falls_off = outcome.states.get(Exit.NEXT)
        if falls_off is not None:
            falls_off.frames[number][RESULT] = Static(None)
            # From here on only the result is live, as after a return.
            with self.at(node):
                outcome = self.relabelled(outcome, {Exit.NEXT: Exit.RETURN}, frozenset({RESULT}))
        if Exit.RETURN not in outcome.states:
            raise Bottom
        self.state: State = outcome.states[Exit.RETURN]
        return self.state.frames[number].pop(RESULT)

    def too_deep(self, name: str, args: Sequence[Value]) -> NoReturn:
        numbers = [self.use(arg) for arg in args]
        origins: frozenset[Hashable] = frozenset()
        for number in numbers:
            if isinstance(number, Traced) and number.dtype.kind == "i":
                origins |= number.origins
        if origins:
            raise NeedStatic(origins, f"how deep {name} calls itself")
        raise self.refusal(f"{name} calls itself too often, or never returns", "write it as a loop")

    def bound_arguments(
        self,
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
            raise DTypeError(f"{name}() takes {len(positional)} arguments but {len(args)} were given", self.location)
        named = [*(p for p in positional if p not in only), *(a.arg for a in parameters.kwonlyargs)]
        rest: dict[str, Value] = {}
        for key, value in kwargs.items():
            if key in bound and key in named:
                raise DTypeError(f"{name}() got multiple values for argument {key!r}", self.location)
            (bound if key in named else rest)[key] = value
        if parameters.kwarg is not None:
            bound[parameters.kwarg.arg] = self.new_object(Entry(dict, tuple(rest), tuple(rest.values())))
        elif rest:
            raise DTypeError(f"{name}() got an unexpected keyword argument {next(iter(rest))!r}", self.location)
        for key in (*positional, *(a.arg for a in parameters.kwonlyargs)):
            if key not in bound:
                value = default(key)
                if value is None:
                    raise DTypeError(f"{name}() is missing the argument {key!r}", self.location)
                bound[key] = value
        return bound


@cache
def _ending_by_return(node: ast.FunctionDef) -> Sequence[ast.stmt]:
    """A body with a return somewhere and none at its end gets that, so that every path leaves it in one way."""
    if always_leaves(node.body) or not any(isinstance(each, ast.Return) for each in ast.walk(node)):
        return node.body
    return [*node.body, ast.copy_location(ast.Return(value=None), node.body[-1])]
