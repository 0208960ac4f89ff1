"""Items of lists that are kept in arrays: `xs[i]`, `xs[i] = y`, `xs.pop()`.

Reads: the list's entry. Writes: its arrays and its length. Leaves: values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import reduce

from mlirad.dialect.ops.check import check
from mlirad.frontend.interpreter import dispatch, grown_lists, indices, range_values
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import _UNLIKE, as_value, origins_of
from mlirad.frontend.join.list_elements import ArrayElement, NumberElement, element_of, element_of_list, joined, leaves
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Growth, Lazy, Object, Ref, Static, Tuple, Value
from mlirad.library.python import builtin


def item_of(context: Context, target: Object, index: Value) -> Value:
    """`xs[index]`."""
    entry = context.as_is(target)
    if isinstance(operand := indices.index_operand(context, index), slice):
        every = range_values.range_of(context, (as_value(grown_lists.count_of(entry)),))
        assert isinstance(every, Static | Lazy)
        context.push(target)
        places = range_values.part_of_range(context, every, index)
        return dispatch.call(context, Static(builtin.at_places), (context.pop(), places), {})
    return grown_lists.element_at(
        context, entry, grown_lists.position(context, entry, grown_lists.integer_index(context, operand))
    )


def chosen_item(context: Context, items: tuple[Value, ...], index: Traced, kind: str) -> Value:
    """`xs[index]` of a list or tuple, for an index known only at run time."""
    what = "a list" if kind == "list" else f"a {kind}"
    entry = Entry.of_list(items)
    element = element_of_list(entry, context.as_is)
    arrays = tuple(item.alternatives[0] for item in items if isinstance(item, Ref) and item.selector is None)
    if isinstance(element, ArrayElement) and len(arrays) == len(items) and all(a.view.is_static for a in arrays):
        return indices.distinct(Ref(arrays, grown_lists.position(context, entry, index, f"{kind} index out of range")))
    if all(isinstance(item, Static) and isinstance(item.value, str) for item in items):
        why = f"the index into {what} is known only at run time, and texts are known only at compile time"
        raise context.refusal(why, "return the index, and take the text outside")
    if element is None or not all(isinstance(leaf, NumberElement) for leaf in leaves(element)):
        if (rows := _alike(items)) is not None:
            columns = zip(*(row.items for row in rows), strict=True)
            return Tuple(tuple(chosen_item(context, column, index, kind) for column in columns), rows[0].kind)
        why = f"the index into {what} is known only at run time, and its elements differ in type or shape"
        raise context.refusal(why, "return the index, or use an array: np.array(xs)[i]")
    grown = grown_lists.with_room(context, entry, Growth(element, context.fresh(), None, False), None)
    return grown_lists.element_at(
        context, grown, grown_lists.position(context, grown, index, f"{kind} index out of range")
    )


def _alike(items: tuple[Value, ...]) -> list[Tuple] | None:
    """The items, if they are tuples of one class and length: each of their items is chosen by itself."""
    rows = [item for item in items if isinstance(item, Tuple)]
    is_alike = len(rows) == len(items) and len({(row.kind, len(row.items)) for row in rows}) == 1
    return rows if is_alike and rows[0].items else None


def put_in_arrays(context: Context, target: Object, added: Sequence[Value]) -> bool:
    """Put a list of numbers, or of tuples of them, into arrays, if it is to be changed at places that only the run
    knows. added: what it will be given. Returns whether the list is in arrays."""
    entry = context.as_is(target)
    if entry.kind is not list or entry.poison is not None or entry.borrowed is not None:
        return False
    if entry.growth is not None:
        return True
    elements = [element_of(each, context.as_is) for each in (*entry.items, *map(context.use, added))]
    element = reduce(lambda a, b: None if a is None or b is None else joined(a, b), elements) if elements else None
    if element is None or not all(isinstance(leaf, NumberElement) for leaf in leaves(element)):
        return False
    grown = grown_lists.with_room(context, entry, Growth(element, context.fresh(), None, False), None)
    context.state.heap[target.number] = grown
    return True


def set_element(context: Context, target: Object, index: Value, value: Value) -> None:
    """`xs[index] = value`."""
    entry = context.as_is(target)
    growth = entry.growth
    assert growth is not None
    grown_lists.require_free(context, target.number)
    operand = indices.index_operand(context, index)
    element = element_of(value, context.as_is)
    if element is None or joined(growth.element, element) != growth.element or isinstance(operand, slice):
        grown_lists.need_list(
            context, growth, _UNLIKE, "assign numbers of the same type, or arrays of the same shape and type"
        )
    row = grown_lists.position(context, entry, operand, "list assignment index out of range")
    context.state.heap[target.number] = grown_lists.with_row(context, entry, row, value)


def pop_element(context: Context, target: Object, args: Sequence[Value]) -> Value:
    """`xs.pop()`; only the last element can be removed."""
    entry = context.as_is(target)
    growth, count = entry.growth, grown_lists.count_of(entry)
    assert growth is not None
    grown_lists.require_free(context, target.number)
    position = grown_lists.integer_index(context, indices.index_operand(context, args[0])) if args else -1
    if isinstance(position, Traced) or position != -1:
        if isinstance(count, Traced):
            check(count.expr > 0, "IndexError", "pop from empty list")
        row = grown_lists.position(context, entry, position, "pop index out of range")
        taken = grown_lists.element_at(context, entry, row)
        context.push(taken)
        dispatch.call(
            context,
            Static(builtin.take_out),
            (target, Traced(row, weak=True, origins=origins_of(growth))),
            {},
        )
        return context.pop()
    popped = grown_lists.element_at(context, entry, grown_lists.position(context, entry, -1, "pop from empty list"))
    shorter = Static(count - 1) if isinstance(count, int) else dataclasses.replace(count, expr=count.expr - 1)
    context.state.heap[target.number] = dataclasses.replace(entry, items=(shorter, *entry.items[1:]))
    context.appended = context.appended.shorter(growth.number)
    return popped
