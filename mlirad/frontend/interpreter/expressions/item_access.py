"""Items of values: of arrays, lists, tuples, dicts, ranges and strings.

Reads: values. Writes: ops that read, and checks of indices. Leaves: values; views refer to their array.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable

from mlirad.frontend.interpreter import dispatch, indices, range_values, special_methods, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import items_by_arrays, list_items
from mlirad.frontend.interpreter.grown_lists import is_integer
from mlirad.frontend.values.basic_indexing import is_basic
from mlirad.frontend.values.numpy_strides import is_c_contiguous
from mlirad.frontend.values.traced import DATA, Traced, require_static
from mlirad.frontend.values.value_parts import inside
from mlirad.frontend.values.values import Entry, Lazy, Object, Ref, Static, Tuple, Value
from mlirad.library import spells
from mlirad.library.python import builtin


def get_item(context: Context, base: Value, index: Value) -> Value:
    base = context.present(base, "'NoneType' object is not subscriptable")
    if isinstance(base, Static) and (function := spells.function_of(base.value)) is not None:
        return dispatch.call(context, Static(function), (index,), {})
    if (found := special_methods.special(context, base, "__getitem__", index)) is not None:
        return found
    match base:
        case Ref():
            return array_item(context, base, index)
        case Tuple():
            return sequence_item(context, base.items, index, lambda items: Tuple(items), is_tuple=True)
        case Object():
            if context.grown(base) is not None:
                return list_items.item_of(context, base, index)
            entry = storage.entry_of(context, base)
            if entry.kind is dict:
                if (found := item_at_run_time(context, entry, index)) is not None:
                    return found
                key = storage.static(context, index, "a key of a dict")
                if key not in entry.keys:
                    raise context.failed("KeyError", repr(key))
                return entry.items[entry.keys.index(key)]
            if entry.kind is list:
                return sequence_item(context, entry.items, index, context.new_list)
        case Static(value=range()) | Lazy(kind=builtins.range):
            return range_values.part_of_range(context, base, index)
        case Static():
            operand = indices.index_operand(context, index)
            if is_integer(operand) and DATA in operand.origins and isinstance(base.value, tuple | str):
                kind = "tuple" if isinstance(base.value, tuple) else "string"
                return list_items.chosen_item(context, tuple(map(Static, base.value)), operand, kind)
            key, items = (
                storage.static(context, indices.as_slice(context, index), "an index"),
                storage.operand(context, base),
            )
            return indices.computed(context, lambda: items[key])
        case Traced() if not base.weak and isinstance(index, Tuple) and not index.items:
            return base
    raise context.refusal(f"{storage.described(context, base)} cannot be indexed")


def item_at_run_time(context: Context, entry: Entry, index: Value) -> Value | None:
    """The item of a dict whose keys are ints, at a key that only the run knows; None for other keys."""
    key = indices.index_operand(context, index)
    if not is_integer(key) or DATA not in key.origins or not entry.keys:
        return None
    if not all(type(each) is int for each in entry.keys):
        return None
    place = dispatch.call(context, Static(builtin.place_of_key), (Tuple(tuple(map(Static, entry.keys))), index), {})
    return list_items.chosen_item(context, entry.items, place, "dict") if isinstance(place, Traced) else None


def sequence_item(
    context: Context,
    items: tuple[Value, ...],
    index: Value,
    build: Callable[[tuple[Value, ...]], Value],
    is_tuple: bool = False,
) -> Value:
    position = indices.index_operand(context, index)
    if is_integer(position) and DATA in position.origins:
        return list_items.chosen_item(context, items, position, "tuple" if is_tuple else "list")
    require_static(position, "the index of a list or tuple")
    if isinstance(position, slice):
        return build(items[position])
    try:
        return items[operator.index(position)]
    except IndexError:
        raise context.failed("IndexError", "list index out of range") from None
    except TypeError:
        raise context.refusal("the indices of lists and tuples are integers and slices") from None


def array_item(context: Context, array: Ref, index: Value) -> Value:
    position = indices.index_operand(context, index)
    if not is_basic(position):
        arrays = [each for each in inside(index) if isinstance(each, Ref)]
        in_order = all(is_c_contiguous(alternative.view) for each in arrays for alternative in each.alternatives)
        return items_by_arrays.item_by_arrays(context, array, position, in_order)
    part = indices.part(context, array, position)
    entries = position if isinstance(position, tuple) else (position,)
    if part.shape == () and not any(entry is Ellipsis for entry in entries):
        return context.read_scalar(part)
    return part
