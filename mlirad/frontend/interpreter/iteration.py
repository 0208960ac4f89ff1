"""Iterables: their lengths, and their elements by number.

Reads: values. Writes: ops that compute an element. Leaves: values.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from enum import EnumMeta
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, where
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import dispatch, grown_lists, indices, special_methods, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import as_value
from mlirad.frontend.numpy.python_integers import converted, require_fit
from mlirad.frontend.program.source import Source
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.traced import NeedStatic, Traced, in_type, origins_of, visible
from mlirad.frontend.values.value_parts import SIMPLE, inside
from mlirad.frontend.values.values import (
    Closure,
    Entry,
    GeneratorKind,
    Lazy,
    Object,
    Ref,
    Static,
    Tuple,
    Value,
    is_none,
    kind_of,
)
from mlirad.frontend.values.views.view import View
from mlirad.library.python import builtin
from mlirad.library.spells import is_in_library

_INT64 = np.dtype(np.int64)
_SEQUENCES = (str, range, tuple, bytes)
DICT_KEYS, DICT_VALUES, DICT_ITEMS = type({}.keys()), type({}.values()), type({}.items())
"""The views of a dict: `Lazy` values of these kinds show its present items."""
ITERATOR = type(iter([]))
"""The kind of `iter`'s results."""


def is_generator(value: Value) -> bool:
    """Whether a value is a generator expression."""
    return isinstance(value, Lazy) and value.kind is iter


def is_running(value: Value) -> bool:
    """Whether a value is a generator that a function with `yield` has given."""
    return isinstance(value, Lazy) and isinstance(value.kind, GeneratorKind)


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


def iterated(value: Lazy) -> tuple[Value, ...]:
    """The iterables inside a lazy value."""
    return value.parts[1:] if value.kind is map else value.parts


def range_of(context: Context, args: tuple[Value, ...]) -> Value:
    """`range(*args)`."""
    numbers = [integer(context, arg) for arg in args]
    if not 1 <= len(numbers) <= 3:
        raise DTypeError(f"range expected 1 to 3 arguments, got {len(numbers)}", context.location)
    if not any(isinstance(number, Traced) for number in numbers):
        return indices.computed(context, lambda: range(*numbers))
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else 1
    if isinstance(step, Traced):
        check(step.expr != 0, "ValueError", "range() arg 3 must not be zero")
    elif step == 0:
        raise context.failed("ValueError", "range() arg 3 must not be zero")
    return Lazy(range, tuple(x if isinstance(x, Traced) else Static(x) for x in (start, stop, step)))


def part_of_range(context: Context, base: Static | Lazy, index: Value) -> Value:
    """`range(...)[index]`: a number, or a range if the index is a slice."""
    if isinstance(base, Static):
        first, by = base.value.start, base.value.step
    else:
        first, by = integer(context, base.parts[0]), integer(context, base.parts[2])
    index = context.use(index)
    if isinstance(index, Lazy) and index.kind is slice:
        start, stop, step = (context.use(part) for part in index.parts)
        step = Static(1) if is_none(step) else step
        parts = [part if is_none(part) else as_value(integer(context, part)) for part in (start, stop, step)]
        known = [part.value for part in parts if isinstance(part, Static)]
        if isinstance(base, Static) and len(known) == len(parts):
            places = slice(*known)
            return indices.computed(context, lambda: base.value[places])
        return dispatch.call(context, Static(builtin.slice_of_range), (base, as_value(first), as_value(by), *parts), {})
    place = as_value(integer(context, index))
    if isinstance(base, Static) and isinstance(place, Static):
        return indices.computed(context, lambda: base.value[place.value])
    return dispatch.call(context, Static(builtin.item_of_range), (base, as_value(first), as_value(by), place), {})


def integer(context: Context, value: Value) -> int | Traced:
    """An int as range takes it: Python's, NumPy's, or a 0-d array of ints."""
    operand = indices.index_operand(context, value)
    if isinstance(operand, Traced) and not operand.ndim and operand.kind is not float:
        return Traced(converted(operand.scalar), weak=True, origins=operand.origins)
    if isinstance(operand, int | np.integer | np.bool_):
        return int(operand)
    kind = type(operand).__name__ if not isinstance(operand, Traced) else operand.kind.__name__
    hint = "it is a float, or may be one on some path: write int(...)" if isinstance(operand, Traced) else None
    raise DTypeError(f"{kind!r} object cannot be interpreted as an integer", context.location, hint)


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
    raise DTypeError(f"{kind_of(value)} is not iterable, and has no length", context.location).as_raised(TypeError)


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


def length_of_range(context: Context, value: Lazy) -> Traced:
    """len(range(a, b, c)): max(0, ceil((b - a) / c)). OverflowError if b - a does not fit in 64 bits."""
    start, stop, step = (integer(context, part) for part in value.parts)
    origins = frozenset().union(*(x.origins for x in (start, stop, step) if isinstance(x, Traced)))
    a, b = (x.expr if isinstance(x, Traced) else constant(x, types.I64) for x in (start, stop))
    if not isinstance(step, Traced) and step < 0:
        a, b, step = b, a, -step
    span = b if not isinstance(start, Traced) and start == 0 else _checked(np.subtract, b, a)
    if isinstance(step, Traced):
        sign = where(step.expr > 0, constant(1, types.I64), constant(-1, types.I64))
        trips = apply(np.floor_divide, _checked(np.subtract, span, sign), step.expr) + 1  # a large step is no overflow
    elif step == 1:
        trips = span
    else:
        trips = apply(np.floor_divide, _checked(np.add, span, constant(step - 1, types.I64)), step)
    return Traced(apply(np.maximum, trips, 0), weak=True, origins=origins)


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


# Iterators, which are used up after one use. The item of `used` is how many elements next() has taken, and None once it
# is used up.


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


def number_of_range(context: Context, start: Any, step: Any, index: Any) -> Value:
    """start + step * index. It lies between the ends of the range, so it fits even if the product wraps."""
    if not any(isinstance(x, Traced) for x in (start, step, index)):
        return Static(start + step * index)
    first, by, number = (in_type(x, _INT64, ()) if isinstance(x, Traced) else x for x in (start, step, index))
    if isinstance(by, int) and by == -1:
        moved = first - number
    else:
        moved = number if isinstance(by, int) and by == 1 else number * by
        moved = moved if isinstance(first, int) and first == 0 else first + moved
    return storage.result(context, Traced(moved, weak=True, origins=origins_of(start, step, index)))


def row_at(array: Ref, index: Any) -> Ref:
    """array[index], for an index in range."""
    position: int | Expr = cast(index.scalar, types.I64) if isinstance(index, Traced) else int(index)

    def row(view: View) -> View:
        starts = [position, *([0] * (view.ndim - 1))]
        return view.affine(range(1, view.ndim), starts, (1, *view.shape[1:]))

    return indices.distinct(array.seen_as((row(each.view) for each in array.alternatives), row))


def _checked(ufunc: np.ufunc, x: Expr, y: Expr) -> Expr:
    """x + y or x - y, as a step in computing the length of a range."""
    require_fit(ufunc, x, y, "the length of a range does not fit in 64 bits")
    return apply(ufunc, x, y)
