"""Lists that a loop appends to: a length, and an array for each leaf of the elements, with room for more.

Reads: the heap. Writes: ops that read and write rows of arrays. Leaves: the heap.

A list is converted before the loop that appends to it (filled_lists.py), if its elements have one type and one shape.
Python's list refers to appended objects, but the arrays hold copies. So appended objects, and elements read from the
list, may no longer be changed: they are held.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Block

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, insert, where
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.movement import broadcast, reshape
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.list_elements import (
    ArrayElement,
    Element,
    Group,
    LeafElement,
    NumberElement,
    element_of,
    joined,
    leaves,
)
from mlirad.frontend.values import known_facts, nep50, sizes
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import DATA, NeedStatic, Traced
from mlirad.frontend.values.values import Buffer, Entry, Growth, Object, Ref, Static, Tuple, Value

# A list with at most this many elements is split where its elements are needed one by one.
LISTED = 200
WRITTEN = "this changes an object that was appended to a list, and the list refers to it"


class NeedList(NeedStatic):
    """A Python list is needed where a loop fills arrays. refusal: raised if the loop cannot be unrolled."""

    def __init__(self, origins: Iterable[Hashable], what: str, refusal: Exception):
        super().__init__(origins, what)
        self.refusal = refusal


# Refusals.


def need_list(context: Context, growth: Growth, why: str, hint: str) -> NoReturn:
    """Refuse an operation that only a list of values supports, unless the loop can be unrolled to make it one."""
    refusal = context.refusal(why, hint)
    if not growth.may_unroll:
        raise refusal
    refusal.is_deferred = True  # its place is here, even if it is raised elsewhere
    raise NeedList({("loop", growth.loop)}, "the use of a list that it appends to", refusal)


def listed(context: Context, entry: Entry) -> Entry:
    """The list of values, if its length is known and small."""
    growth, count = entry.growth, entry.items[0]
    assert growth is not None
    if is_short(entry):
        assert isinstance(count, Static)
        return Entry.of_list(tuple(element_at(context, entry, constant(k, types.I64)) for k in range(count.value)))
    what = "this needs the separate elements of a list that a loop has filled"
    return need_list(context, growth, what, "use only np.array(xs), len(xs), xs[i] and loops over it")


def require_free(context: Context, number: int) -> None:
    """Require that a cell or object may be changed: no copy has replaced it."""
    held = context.state.held.get(number)
    if isinstance(held, Poison):
        raise context.refusal(held.why, held.hint)
    if held is not None:
        need_list(context, held, WRITTEN, "append a copy: xs.append(x.copy())")


def hold(context: Context, value: Value, growth: Growth) -> None:
    """Mark everything that a value refers to as held: it may no longer be changed."""
    match value:
        case Ref():
            context.state.held.update((alternative.cell, growth) for alternative in value.alternatives)
        case Tuple():
            for item in value.items:
                hold(context, item, growth)
        case Object():
            context.state.held[value.number] = growth
            for item in context.as_is(value).items:
                hold(context, item, growth)


# Lengths and elements.


def count_of(entry: Entry) -> int | Traced:
    if entry.growth is None:
        return len(entry.items)
    count = entry.items[0]
    assert isinstance(count, Static | Traced)
    return count.value if isinstance(count, Static) else count


def position(context: Context, entry: Entry, index: Any, message: str = "list index out of range") -> Expr:
    """The row of `xs[index]`, checked."""
    count = count_of(entry)
    if isinstance(count, int) and isinstance(index, int | np.integer):
        if not -count <= index < count:
            raise context.failed("IndexError", message)
        return constant(int(index) % count, types.I64)
    length = number(count)
    if isinstance(index, Traced):
        wanted = cast(index.scalar, types.I64)
        row = where(wanted < 0, wanted + length, wanted)
    else:
        row = constant(int(index), types.I64) if index >= 0 else length + int(index)
    check((row >= 0) & (row < length), "IndexError", message)
    return row


def integer_index(context: Context, operand: Any) -> Any:
    """An index of a list. Raises CompileError unless it is an integer."""
    if isinstance(operand, int | np.integer) or is_integer(operand):
        return operand
    raise context.refusal("the indices of lists and tuples are integers and slices")


def element_at(context: Context, entry: Entry, row: Expr) -> Value:
    """The element of a row in range."""
    growth = entry.growth
    assert growth is not None
    pairs = zip(buffers_of(entry), leaves(growth.element), strict=True)
    return rebuilt_element(context, growth, growth.element, iter([_row(each, row, leaf) for each, leaf in pairs]))


def rebuilt_element(context: Context, growth: Growth, element: Element, parts: Iterator[Expr]) -> Value:
    origins = origins_of(growth)
    if isinstance(element, NumberElement):
        return Traced(next(parts), weak=element.weak, origins=origins)
    if isinstance(element, ArrayElement):
        value: Value = context.new_array(next(parts))
    else:
        items = tuple(rebuilt_element(context, growth, part, parts) for part in element.parts)
        if element.keys is None:
            value = Tuple(items, element.kind)
        else:
            value = context.new_object(Entry(element.kind, element.keys, items))
    hold(context, value, growth)
    return value


def has_arrays(entry: Entry) -> bool:
    return entry.growth is not None and isinstance(entry.growth.element, ArrayElement)


def stacked(context: Context, entry: Entry) -> Traced:
    """The list as NumPy's functions take it: one array of all elements."""
    growth, count = entry.growth, count_of(entry)
    assert growth is not None
    element = growth.element
    is_floats = isinstance(element, NumberElement) and element.dtype == np.float64
    if isinstance(element, Group) and not is_row(element):
        why = "no array can be made from a list of such elements"
        need_list(context, growth, why, "keep a separate list for each of their parts")
    if not is_floats:
        # NumPy makes a float array of shape (0,) from an empty list, whatever type its elements would have had.
        empty = "a list that a loop fills is empty: its elements have no shape"
        if isinstance(count, Traced):
            check(count.expr > 0, "ValueError", empty)
        elif not count:
            raise context.failed("ValueError", empty)
    arrays = [_taken(each, count) for each in buffers_of(entry)]
    return Traced(arrays[0] if not isinstance(element, Group) else _columns(arrays), origins=_origins(count))


# Changes.


def append(context: Context, target: Object, value: Value) -> None:
    """`xs.append(value)`."""
    entry = context.as_is(target)
    growth = entry.growth
    assert growth is not None
    require_free(context, target.number)
    element = element_of(value, context.as_is)
    common = None if element is None else joined(growth.element, element)
    if common is None:
        need_list(context, growth, _UNLIKE, "append numbers of one type, or arrays of one shape and type")
    if growth.number not in context.covered or common != growth.element:
        entry = with_room(context, entry, dataclasses.replace(growth, element=common, number=context.fresh()), None)
        growth = entry.growth
        assert growth is not None
    count = count_of(entry)
    if growth.number in context.doubling:
        entry = with_more_room(entry)
    entry = with_row(context, entry, number(count), value)
    longer = Static(count + 1) if isinstance(count, int) else dataclasses.replace(count, expr=count.expr + 1)
    context.state.heap[target.number] = dataclasses.replace(entry, items=(longer, *entry.items[1:]))
    context.appended = context.appended.plus(growth.number)


def copied_list(context: Context, entry: Entry) -> Object:
    """`list(xs)`: the copy has arrays of its own."""
    growth = entry.growth
    assert growth is not None
    return context.new_object(with_room(context, entry, dataclasses.replace(growth, number=context.fresh()), None))


def filled_on_side(context: Context, state: State, entry: Entry, growth: Growth) -> Entry:
    """A list on one side of an if, converted to arrays."""
    if entry.growth is not None:
        return dataclasses.replace(entry, keys=(growth,))
    outer, context.state = context.state, state
    try:
        return with_room(context, entry, growth, None)
    finally:
        context.state = outer


def with_row(context: Context, entry: Entry, row: Expr, value: Value) -> Entry:
    """The list with a row replaced by an element, which is held from then on."""
    growth = entry.growth
    assert growth is not None
    hold(context, value, growth)
    parts = list(leaf_values(context, value, growth.element))
    buffers = [Buffer(_with_row(buffer, row, part)) for buffer, part in zip(buffers_of(entry), parts, strict=True)]
    return dataclasses.replace(entry, items=(entry.items[0], *buffers))


def leaf_values(context: Context, value: Value, element: Element) -> Iterator[Expr]:
    """The leaves of an element, as they are stored in the arrays."""
    match element:
        case Group():
            assert isinstance(value, Tuple | Object)
            items = value.items if isinstance(value, Tuple) else context.as_is(value).items
            for item, part in zip(items, element.parts, strict=True):
                yield from leaf_values(context, item, part)
        case ArrayElement():
            assert isinstance(value, Ref)
            yield context.read(value).contents
        case NumberElement():
            type = types.from_dtype(element.dtype)
            assert isinstance(value, Static | Traced)
            yield cast(value.expr, type) if isinstance(value, Traced) else constant(value.value, type)


def with_more_room(entry: Entry) -> Entry:
    """A list, with its arrays copied to twice the capacity if they are full."""
    count, arrays = number(count_of(entry)), buffers_of(entry)
    full, kept = Block(), Block()
    (room, *_) = sizes.shape_of(arrays[0])
    assert isinstance(room, sizes.Dim)
    with building(full), known_facts.scope():
        larger = sizes.Dim(room.expr * 2 + 8)
        made = [sizes.filled(0, (larger, *each.shape[1:]), each.element) for each in arrays]
        made = [insert_slice(old, new, _start(new)) for new, old in zip(made, arrays, strict=True)]
        insert(YieldOp(*(each.value for each in made)))
    with building(kept):
        insert(YieldOp(*(each.value for each in arrays)))
    op = insert(IfOp((count == room.expr).value, [each.type for each in arrays], [full], [kept]))
    return dataclasses.replace(entry, items=(entry.items[0], *(Buffer(Expr(result)) for result in op.results)))


def with_room(context: Context, entry: Entry, growth: Growth, capacity: Expr | None) -> Entry:
    """A list in new arrays. capacity: None for room for one more element."""
    if entry.growth is None:
        count: int | Traced = len(entry.items)
    else:
        count = count_of(entry)
    if capacity is None:
        capacity = number(count) + 1
    room = sizes.Dim(capacity, _origins(count) | origins_of(growth))
    made = [sizes.filled(0, (room, *leaf.shape), types.from_dtype(leaf.dtype)) for leaf in leaves(growth.element)]
    length = Static(count) if isinstance(count, int) else count
    if entry.growth is None:
        grown = Entry(list, (growth,), (length, *map(Buffer, made)))
        for place, item in enumerate(entry.items):
            grown = with_row(context, grown, constant(place, types.I64), item)
        return grown
    if isinstance(count, Traced) or count:
        filled = zip(made, buffers_of(entry), strict=True)
        made = [insert_slice(_taken(old, count), new, _start(new)) for new, old in filled]
    return Entry(list, (growth,), (length, *map(Buffer, made)))


_UNLIKE = "this element differs in type or shape from the others in a list that a loop fills"


def is_short(entry: Entry) -> bool:
    """Whether the length of a list that grows is known and small."""
    count = entry.items[0]
    return isinstance(count, Static) and count.value <= LISTED


def list_in_arrays(growth: Growth, length: Value, arrays: Iterable[Expr]) -> Entry:
    return Entry(list, (growth,), (length, *map(Buffer, arrays)))


def is_integer(operand: Any) -> bool:
    return isinstance(operand, Traced) and not operand.ndim and operand.kind is not float


def as_value(number: int | Traced) -> Value:
    return number if isinstance(number, Traced) else Static(number)


def origins_of(growth: Growth) -> frozenset[Hashable]:
    """The origins of a list's elements."""
    return frozenset({DATA if growth.loop is None else ("loop", growth.loop)})


def number(count: int | Traced) -> Expr:
    return count.expr if isinstance(count, Traced) else constant(count, types.I64)


def _origins(count: int | Traced) -> frozenset[Hashable]:
    return count.origins if isinstance(count, Traced) else frozenset()


def buffers_of(entry: Entry) -> list[Expr]:
    return [item.contents for item in entry.items[1:] if isinstance(item, Buffer)]


def _start(array: Expr, row: Expr | None = None) -> list[Expr]:
    zero = constant(0, types.I64)
    return [zero if row is None else row, *[zero] * (len(array.shape) - 1)]


def _row(array: Expr, row: Expr, leaf: LeafElement) -> Expr:
    if not leaf.shape:
        return emit(ExtractOp, array, row)
    part = extract_slice(array, _start(array, row), [1, *leaf.shape])
    return reshape(part, types.tensor(leaf.shape, array.element))


def _with_row(array: Expr, row: Expr, part: Expr) -> Expr:
    if not part.is_tensor:
        return emit(InsertOp, part, array, row)
    flat = reshape(part, types.tensor((1, *part.shape), part.element))
    return insert_slice(flat, array, _start(array, row))


def _taken(array: Expr, count: int | Traced) -> Expr:
    """The first rows of an array, as many as the list has elements."""
    rows: int | Expr = count.expr if isinstance(count, Traced) else count
    taken = extract_slice(array, _start(array), [rows, *array.shape[1:]])
    if isinstance(count, Traced):
        sizes.remember_shape(taken, (sizes.Dim(count.expr, count.origins), *array.shape[1:]))
    return taken


def is_row(element: Group) -> bool:
    """Whether NumPy makes a row of an array from an element: a tuple or list of numbers, or of arrays of one shape."""
    parts = [part for part in element.parts if not isinstance(part, Group)]
    is_sequence = element.kind in (tuple, list) and len(parts) == len(element.parts)
    return is_sequence and len({(type(part), part.shape) for part in parts}) == 1


def _columns(arrays: Sequence[Expr]) -> Expr:
    """An array with the given arrays as its elements along axis 1, in the dtype that holds them all."""
    dtype = nep50.common_dtype([types.to_dtype(each.element) for each in arrays])
    arrays = [cast(each, types.from_dtype(dtype)) for each in arrays]
    (length, *rest) = sizes.shape_of(arrays[0])
    zero = constant(0, types.I64)
    result = sizes.filled(0, (length, len(arrays), *rest), arrays[0].element)
    for place, array in enumerate(arrays):
        shape = (length, 1, *rest)
        lengths = sizes.lengths(shape)
        column = broadcast(array, [0, *range(2, len(shape))], sizes.pattern(shape), lengths)
        result = insert_slice(column, result, [zero, constant(place, types.I64), *[zero] * len(rest)])
    return result
