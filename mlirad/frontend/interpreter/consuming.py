"""Iterators, which are used up after one use, and iterables as a whole.

Reads: values. Writes: how many elements of an iterator have been taken, and ops that compute elements. Leaves: values.
The item of `used` is how many elements next() has taken, and None once the iterator is used up.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from enum import EnumMeta
from functools import partial
from itertools import islice
from typing import Any

from mlirad.dialect.ops.check import check
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import dispatch, indices, special_methods, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import as_value
from mlirad.frontend.interpreter.iteration import element, is_generator, is_running, length_of, length_of_rest
from mlirad.frontend.interpreter.range_values import integer
from mlirad.frontend.program.source import Source
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.traced import NeedStatic, Traced
from mlirad.frontend.values.value_parts import SIMPLE, inside
from mlirad.frontend.values.values import (
    Closure,
    Entry,
    GeneratorKind,
    Lazy,
    Static,
    Tuple,
    Value,
    is_none,
    kind_of,
)
from mlirad.library.python import builtin
from mlirad.library.spells import is_in_library

ITERATOR = type(iter([]))
"""The kind of `iter`'s results."""


def generator(
    context: Context, node: ast.FunctionDef, source: Source, parent: int | None, bound: dict[str, Value]
) -> Value:
    """The generator that a call of a function with `yield` gives."""
    kind: Any = GeneratorKind(node, source, parent, tuple(bound))
    function = () if parent is None else (Closure(node, parent, source, (), ()),)
    return Lazy(kind, (*function, *bound.values()), context.new_list((Static(0),)))


def collected(context: Context, value: Value) -> Value:
    """The list of what a generator yields."""
    return dispatch.call(context, Static(builtin.collected), (value,), {})


def spent(context: Context, value: Value) -> Value:
    """The list of a generator, if a loop puts its values in one; otherwise the value itself."""
    value = context.use(value)
    if is_running(value):
        return collected(context, value)
    if isinstance(value, Lazy) and value.kind is iter and context.grown(value.parts[0]) is not None:
        return value.parts[0]
    return value


def elements(context: Context, value: Value) -> tuple[Value, ...]:
    """All elements of an iterable with static length."""
    value = opened(context, value)
    value = consumed(context, collected(context, value) if is_running(value) else value)
    length = length_of(context, value)
    if isinstance(length, Traced):
        raise NeedStatic(length.origins, "the number of elements")
    context.push(value)
    made = context.evaluate_all(
        [lambda i=i: element(context, context.state.temps[-1 - i], Static(i)) for i in range(length)]
    )
    context.pop()
    return made


def iterator(context: Context, kind: type, parts: tuple[Value, ...]) -> Lazy:
    """zip, enumerate, map or reversed; it owns the iterators among its parts from now on."""
    return Lazy(kind, tuple(map(partial(consumed, context), parts)), context.new_list((Static(0),)))


def opened(context: Context, value: Value) -> Value:
    """The iterable of a loop: the result of `__iter__` for an object of a user's class, the rest of an iterator, the
    members of an Enum."""
    value = context.use(value)
    if isinstance(value, Static) and isinstance(value.value, EnumMeta):
        return Tuple(tuple(map(Static, value.value)))
    if (found := special_methods.special(context, value, "__iter__")) is not None:
        if special_methods.users_class(context, found) is not None:
            hint = "return iter(...) of a list or an array from __iter__"
            raise context.refusal("a loop that calls __next__ of a user's class is not compiled", hint)
        return opened(context, found)
    if isinstance(value, Lazy) and value.used is not None and value.kind is not islice:
        taken = taken_of(context, value)
        if isinstance(taken, Traced) or taken:
            return Lazy(islice, (dataclasses.replace(value, used=None), as_value(taken)), value.used)
    return value


def taken_of(context: Context, iterator: Lazy) -> int | Traced:
    """How many elements next() has taken from an iterator. Refuses one that is used up."""
    assert iterator.used is not None
    used = storage.entry_of(context, iterator.used).items[0]
    if is_none(used) or isinstance(used, Poison):
        hint = "make a list of it: list(...)"
        raise context.refusal(f"{kind_of(iterator)} is used up after its first use, and is used again", hint)
    return integer(context, used)


def consumed(context: Context, value: Value) -> Value:
    """An iterable that is about to be consumed. It uses up an iterator."""
    value = opened(context, value)
    if isinstance(value, Lazy) and value.used is not None:
        taken_of(context, value)
        storage.change(context, value.used, Entry.of_list((Static(None),)))
    return value


def iterator_of(context: Context, value: Value) -> Lazy:
    """`iter(value)`."""
    value = context.use(value)
    if isinstance(value, Lazy) and value.used is not None:
        return value
    if special_methods.users_class(context, value) is not None:
        found = opened(context, value)
        if isinstance(found, Lazy) and found.used is not None:
            return found
        raise context.refusal("an object whose __iter__ gives no iterator is not iterable").as_raised(TypeError)
    length_of(context, value)  # it must define one
    return Lazy(ITERATOR, (value,), context.new_list((Static(0),)))


def next_of(context: Context, value: Value, default: Value | None) -> Value:
    """`next(value)`, `next(value, default)`."""
    value = context.use(value)
    if default is None and (found := special_methods.special(context, value, "__next__")) is not None:
        return found
    if is_generator(value) or is_running(value):
        if default is None:
            return dispatch.call(context, Static(builtin.first_of), (value,), {})
        return dispatch.call(context, Static(builtin.first_of_or), (value, default), {})
    if isinstance(value, Static) and isinstance(value.value, Iterator):
        raise storage.changing(context, value.value)
    if not isinstance(value, Lazy) or value.used is None:
        raise DTypeError(f"{kind_of(value)} is not an iterator", context.location, "write next(iter(...))")
    taken, length = taken_of(context, value), length_of(context, dataclasses.replace(value, used=None))
    if isinstance(taken, Traced) or isinstance(length, Traced):
        if default is not None:
            hint = "compare the length with an if"
            raise context.refusal("whether next() takes the default is known only at run time", hint)
        left = length_of_rest(length, taken)
        assert isinstance(left, Traced)
        check(left.expr > 0, "StopIteration", "")
    elif taken >= length:
        if default is not None:
            return default
        raise context.failed("StopIteration", "")
    context.push(value)
    made = element(context, dataclasses.replace(value, used=None), as_value(taken))
    context.pop()
    after = indices.computed(context, lambda: taken + 1) if isinstance(taken, Traced) else Static(taken + 1)
    storage.change(context, value.used, Entry.of_list((after,)))
    return made


def require_no_generator(context: Context, value: Value) -> None:
    """A generator runs when it is used. Its values can be computed where it is written only if it is used at once."""
    of_builtin = context.active and is_in_library(context.frame.source.filename)
    if value.__class__ not in SIMPLE and not of_builtin and any(map(is_generator, inside(value))):
        raise context.refusal("a generator that is not consumed at once is not compiled", "write a list: [... for ...]")
