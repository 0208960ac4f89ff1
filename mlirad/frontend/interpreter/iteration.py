"""Iterables: their lengths, and their elements by number. `consuming.py` uses iterables up.

Reads: values. Writes: ops that compute an element. Leaves: values.
"""

from __future__ import annotations

from enum import EnumMeta
from itertools import islice
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant
from mlirad.dialect.ops.compare import cast
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import dispatch, grown_lists, indices, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.range_values import integer, length_of_range, number_of_range
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.traced import Traced, origins_of, visible
from mlirad.frontend.values.values import (
    GeneratorKind,
    Lazy,
    Object,
    Ref,
    Static,
    Tuple,
    Value,
    kind_of,
)
from mlirad.frontend.values.views.view import View

_OF_ITERABLES = ("__iter__", "__getitem__", "__len__")
_SEQUENCES = (str, range, tuple, bytes)
DICT_KEYS, DICT_VALUES, DICT_ITEMS = type({}.keys()), type({}.values()), type({}.items())
"""The views of a dict: `Lazy` values of these kinds show its present items."""


def is_generator(value: Value) -> bool:
    """Whether a value is a generator expression."""
    return isinstance(value, Lazy) and value.kind is iter


def is_running(value: Value) -> bool:
    """Whether a value is a generator that a function with `yield` has given."""
    return isinstance(value, Lazy) and isinstance(value.kind, GeneratorKind)


def iterated(value: Lazy) -> tuple[Value, ...]:
    """The iterables inside a lazy value."""
    return value.parts[1:] if value.kind is map else value.parts


def length_of(context: Context, value: Value) -> int | Traced:
    value = context.use(value)
    match value:
        case Tuple():
            return len(value.items)
        case Object() if (grown := context.grown(value)) is not None:
            return grown_lists.count_of(grown)
        case Object() if storage.entry_of(context, value).kind in (list, dict):
            return len(storage.entry_of(context, value).items)
        case Object():
            kind = storage.entry_of(context, value).kind
            text = f"the length of a {kind.__name__}, and iterating over it, are not compiled"
            raise context.refusal(text, "name its fields")
        case Ref() if value.ndim:
            return visible(value.shape[0])
        case Static() if isinstance(value.value, EnumMeta):
            return len(value.value)
        case Static() if isinstance(value.value, _SEQUENCES):
            with numpys_refusal():  # a range may be longer than any sequence
                return len(value.value)
        case Lazy() if value.kind is range:
            return length_of_range(context, value)
        case Lazy() if is_running(value):
            hint = "loop over it with for, or make a list of it: list(...)"
            raise context.refusal("a generator cannot be used like this in a compiled function", hint)
        case Lazy() if value.kind in (zip, map):
            lengths = [length_of(context, part) for part in iterated(value)] or [0]
            shortest = min((x for x in lengths if not isinstance(x, Traced)), default=None)
            for traced in (x for x in lengths if isinstance(x, Traced)):
                shortest = traced if shortest is None else smaller(shortest, traced)
            assert shortest is not None
            return shortest
        case Lazy() if value.kind is islice:
            items, first = value.parts
            return length_of_rest(length_of(context, items), integer(context, first))
        case Lazy() if value.kind is not str:
            return length_of(context, value.parts[0])
    if isinstance(value, Static) and isinstance(value.value, frozenset):
        raise context.refusal(
            "iterating over a set is not compiled", "iterate over a list of its elements: sorted(...)"
        )
    if isinstance(value, Static) and storage.may_have(context, value, *_OF_ITERABLES):
        raise storage.changing(context, value.value)
    if isinstance(value, Lazy) and value.kind is str:
        raise context.refusal("the length of text with run-time values, and iterating over it, are not compiled")
    refusal = DTypeError(f"{kind_of(value)} is not iterable, and has no length", context.location)
    raise refusal if storage.may_have(context, value, *_OF_ITERABLES) else refusal.as_raised(TypeError)


def length_of_rest(length: int | Traced, first: int | Traced) -> int | Traced:
    """The number of elements from number `first` on; `first` is at most the length."""
    if not isinstance(length, Traced) and not isinstance(first, Traced):
        return max(length - first, 0)
    whole, taken = (x.expr if isinstance(x, Traced) else constant(x, types.I64) for x in (length, first))
    return Traced(apply(np.maximum, whole - taken, 0), weak=True, origins=origins_of(length, first))


def smaller(x: int | Traced, y: Traced) -> Traced:
    first = x.expr if isinstance(x, Traced) else constant(x, types.I64)
    origins = y.origins | (x.origins if isinstance(x, Traced) else frozenset())
    return Traced(apply(np.minimum, first, y.expr), weak=True, origins=origins)


def element(context: Context, iterable: Value, index: Value) -> Value:
    """Element number `index`, which must be in range."""
    iterable = context.use(iterable)
    match iterable:
        case Tuple():
            return iterable.items[storage.static(context, index, "the index of a tuple")]
        case Object() if (grown := context.grown(iterable)) is not None:
            operand = storage.operand(context, index)
            row = cast(operand.scalar, types.I64) if isinstance(operand, Traced) else constant(operand, types.I64)
            return grown_lists.element_at(context, grown, row)
        case Object():
            entry = storage.entry_of(context, iterable)
            position = storage.static(context, index, "the index of a list")
            return Static(entry.keys[position]) if entry.kind is dict else entry.items[position]
        case Ref():
            row = row_at(iterable, storage.operand(context, index))
            return row if row.shape else context.read_scalar(row)
        case Static():
            operand = storage.operand(context, index)
            if isinstance(iterable.value, range) and isinstance(operand, Traced):
                return number_of_range(context, iterable.value.start, iterable.value.step, operand)
            return Static(iterable.value[storage.static(context, index, "the index of a sequence")])
        case Lazy():
            return lazy_element(context, iterable, index)
    raise DTypeError(f"{kind_of(iterable)} is not iterable", context.location).as_raised(TypeError)


def lazy_element(context: Context, iterable: Lazy, index: Value) -> Value:
    operand = storage.operand(context, index)
    if iterable.kind is range:
        start, _, step = (storage.operand(context, part) for part in iterable.parts)
        return number_of_range(context, start, step, operand)
    if iterable.kind is enumerate:
        inner, start = iterable.parts
        first = integer(context, start)
        number = index if isinstance(first, int) and first == 0 else indices.computed(context, lambda: first + operand)
        return Tuple((number, element(context, inner, index)))
    if iterable.kind is islice:
        inner, start = iterable.parts
        first = integer(context, start)
        return element(context, inner, indices.computed(context, lambda: first + operand))
    if iterable.kind is zip:
        return Tuple(row_of(context, iterable.parts, index))
    if iterable.kind is map:
        context.push(iterable.parts[0])
        arguments = row_of(context, iterable.parts[1:], index)
        return dispatch.call(context, context.pop(), arguments, {})
    if iterable.kind is reversed:
        inner = iterable.parts[0]
        length = length_of(context, inner)
        last = Traced(length.expr - 1, True, False, length.origins) if isinstance(length, Traced) else length - 1
        return element(context, inner, number_of_range(context, last, -1, operand))
    if iterable.kind in (DICT_VALUES, DICT_ITEMS):
        source = iterable.parts[0]
        assert isinstance(source, Object)
        entry, position = (
            storage.entry_of(context, source),
            storage.static(context, index, "the index of an item of a dict"),
        )
        item = entry.items[position]
        return item if iterable.kind is DICT_VALUES else Tuple((Static(entry.keys[position]), item))
    return element(context, iterable.parts[0], index)


def row_of(context: Context, parts: tuple[Value, ...], index: Value) -> tuple[Value, ...]:
    """Element number `index` of each iterable."""
    context.push(*parts)
    made = context.evaluate_all([lambda: element(context, context.state.temps[-len(parts)], index)] * len(parts))
    context.pop_many(len(parts))
    return made


def row_at(array: Ref, index: Any) -> Ref:
    """array[index], for an index in range."""
    position: int | Expr = cast(index.scalar, types.I64) if isinstance(index, Traced) else int(index)

    def row(view: View) -> View:
        starts = [position, *([0] * (view.ndim - 1))]
        return view.affine(range(1, view.ndim), starts, (1, *view.shape[1:]))

    return indices.distinct(array.seen_as((row(each.view) for each in array.alternatives), row))
