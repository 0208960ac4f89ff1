"""Methods of arrays, numbers, lists and dicts.

Reads: values. Writes: ops; the state, if the method changes its receiver. Leaves: values.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import classes, consuming, dispatch, grown_lists, indices, iteration, storage
from mlirad.frontend.interpreter.calls import calls_of_numpy, construction, library_calls
from mlirad.frontend.interpreter.calls.out_arguments import method_with_out_named, without_inert
from mlirad.frontend.interpreter.context import Arguments, Context, Keywords
from mlirad.frontend.interpreter.expressions import expressions, list_items
from mlirad.frontend.interpreter.iteration import DICT_ITEMS, DICT_KEYS, DICT_VALUES
from mlirad.frontend.interpreter.text import formatting
from mlirad.frontend.numpy import declarations, numpy_calls, view_functions
from mlirad.frontend.values.traced import Traced, is_static
from mlirad.frontend.values.values import Bound, Entry, Lazy, Object, Ref, Static, Tuple, Value, is_none, kind_of
from mlirad.library.python import builtin
from mlirad.library.python.accessors import count_of


def none_of(context: Context, kwargs: Keywords, what: str) -> None:
    if kwargs:
        raise context.refusal(f"{what} takes no keyword {next(iter(kwargs))!r} here")


def call_method(context: Context, bound: Bound, args: Arguments, kwargs: Keywords) -> Value:
    receiver = context.use(bound.receiver)
    name = bound.name
    if name in _OPERATORS and not isinstance(receiver, Static):
        return dispatch.call(context, Static(_OPERATORS[name]), (receiver, *args), kwargs)
    if isinstance(receiver, Ref | Traced):
        made = library_calls.call_method(context, receiver, name, args, kwargs)
        if made is not None:
            return made
    match receiver:
        case Ref():
            return array_method(context, receiver, name, tuple(args), kwargs)
        case Traced():
            return numpy_method(context, receiver, name, args, kwargs)
        case Object():
            if context.grown(receiver) is not None and name in _GROWN_METHODS:
                return _GROWN_METHODS[name](context, receiver, tuple(args))
            table = _DICT_METHODS if storage.entry_of(context, receiver).kind is dict else _LIST_METHODS
            if name == "update" and table is _DICT_METHODS:
                return dict_update(context, receiver, tuple(args), kwargs)
            if name == "sort" and table is _LIST_METHODS:
                return list_sort(context, receiver, tuple(args), kwargs)
            if name in table:
                none_of(context, kwargs, f"the method {name!r}")
                return table[name](context, receiver, tuple(args))
        case Tuple() if classes.is_replacing(receiver.kind, name) and not args:
            return construction.replaced_named(context, receiver, kwargs)
        case Tuple() if name in ("index", "count"):
            items = storage.static(context, receiver, "the items of a tuple")
            operands = [storage.static(context, arg, "the item searched for") for arg in args]
            return indices.computed(context, lambda: getattr(items, name)(*operands))
        case Static():
            method = getattr(receiver.value, name)  # see attribute_of_object
            text = formatting.method_of_text(context, method, args, kwargs)
            return calls_of_numpy.evaluated_now(context, method, args, kwargs) if text is None else text
    raise context.refusal(f"the method {name!r} of {kind_of(receiver)} is not compiled")


def array_method(context: Context, array: Ref, name: str, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    if name == "fill":
        storage.require_writable(context, array)
        storage.assign_array(context, array, storage.operand(context, args[0]))
        return Static(None)
    kwargs = without_inert(None, kwargs)
    known = declarations.of_method(name)
    viewer = (known.of_itself if calls_of_numpy.is_uncopied(kwargs) else None) or known.of_view
    if viewer is not None:
        named = {key: indices.index_operand(context, value) for key, value in kwargs.items()}
        viewed = indices.viewed(context, array, viewer, *[indices.index_operand(context, arg) for arg in args], **named)
        if viewed is not None:
            return viewed
    if name in ("resize", "put", "itemset", "setfield", "byteswap", "setflags"):
        raise context.refusal(f"the method {name!r} changes the array in place, and is not compiled")
    if name == "flatten" and (args or kwargs):
        # In an order other than that of the elements, it is a copy of the view that ravel gives.
        named = {key: indices.index_operand(context, value) for key, value in kwargs.items()}
        order = [indices.index_operand(context, arg) for arg in args]
        viewed = indices.viewed(context, array, view_functions.flattened, *order, **named)
        if viewed is not None:
            return context.new_array(context.read(viewed).contents, shape=viewed.shape)
    result = numpy_method(context, context.read(array), name, args, kwargs)
    return result if "out" in kwargs else indices.laid_out(context, result, name, (array, *args), kwargs)


def numpy_method(
    context: Context,
    receiver: Traced,
    name: str,
    args: Arguments,
    kwargs: Keywords,
) -> Value:
    args, kwargs = method_with_out_named(name, args, kwargs)
    out = kwargs.pop("out", Static(None))
    operands = [storage.operand(context, arg) for arg in args]
    named = {key: storage.operand(context, value) for key, value in kwargs.items()}
    function = numpy_calls.method(name)
    result = indices.computed(context, lambda: numpy_calls.call(function, (receiver, *operands), named))
    if is_none(out):
        # NumPy's numbers return numbers where arrays return 0-d arrays: x.reshape(()).
        of_number = isinstance(receiver, Traced) and not receiver.is_array
        return context.read_scalar(result) if of_number and isinstance(result, Ref) and not result.shape else result
    return calls_of_numpy.stored(context, getattr(np.ndarray, name), result, out)


def changed_list(context: Context, target: Object, items: Sequence[Value]) -> Value:
    entry = storage.entry_of(context, target)
    storage.change(context, target, dataclasses.replace(entry, keys=tuple(range(len(items))), items=tuple(items)))
    return Static(None)


def grown_append(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    (value,) = args
    grown_lists.append(context, target, value)
    return Static(None)


def grown_extend(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    return dispatch.call(context, Static(builtin.extend), (target, args[0]), {})


def grown_insert(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    return dispatch.call(context, Static(builtin.insert), (target, *args), {})


def list_extend(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    added = consuming.opened(context, args[0])
    if iteration.is_running(added) or isinstance(iteration.length_of(context, added), Traced):
        return dispatch.call(context, Static(builtin.extend), (target, args[0]), {})
    return changed_list(
        context, target, [*storage.entry_of(context, target).items, *consuming.elements(context, args[0])]
    )


def grown_copy(context: Context, target: Object, _args: tuple[Value, ...]) -> Value:
    return grown_lists.copied_list(context, context.as_is(target))


def list_pop(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    items = list(storage.entry_of(context, target).items)
    position = storage.static(context, args[0], "the index of list.pop") if args else -1
    if not -len(items) <= position < len(items):
        raise context.failed("IndexError", "pop index out of range")
    popped = items.pop(position)
    changed_list(context, target, items)
    return popped


def list_insert(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    items = list(storage.entry_of(context, target).items)
    items.insert(storage.static(context, args[0], "the index of list.insert"), args[1])
    return changed_list(context, target, items)


def sorted_by(context: Context, iterable: Value, key: Value, reverse: Value) -> Value:
    """`sorted(iterable, key=key, reverse=reverse)`, for a static length: sorted now, if the keys are known."""
    items = consuming.elements(context, iterable)
    is_reversed = bool(storage.static(context, reverse, "reverse= of sorted"))
    if is_none(key):
        keys = _first_items(items) or items
    else:
        context.push(key, *items)
        first = len(context.state.temps) - len(items)
        keys = context.evaluate_all(
            [
                lambda place=place: dispatch.call(
                    context, context.state.temps[first - 1], (context.state.temps[place],), {}
                )
                for place in range(first, first + len(items))
            ]
        )
        _, *kept = context.pop_many(len(items) + 1)
        items = tuple(kept)
    operands = [storage.operand(context, each) for each in keys]
    if is_static(operands):
        try:
            order = sorted(range(len(items)), key=operands.__getitem__, reverse=is_reversed)
        except TypeError as error:
            raise DTypeError(str(error), context.location) from None
        return context.new_list(items[place] for place in order)
    given = (Tuple(items), Tuple(keys), Static(is_reversed))
    return dispatch.call(context, Static(builtin.sorted_by_keys), given, {})


def _first_items(items: Sequence[Value]) -> tuple[Value, ...] | None:
    """The first items of tuples, if these are known and all differ: `sorted(d.items())` compares no other."""
    firsts = tuple(item.items[0] for item in items if isinstance(item, Tuple) and item.items)
    known = [first.value for first in firsts if isinstance(first, Static)]
    is_decided = len(known) == len(items) and all(isinstance(each, str | int) for each in known)
    return firsts if is_decided and len(set(known)) == len(known) else None


def list_sort(context: Context, target: Object, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    if args or not kwargs.keys() <= {"key", "reverse"}:
        raise context.refusal("list.sort takes key= and reverse=")
    context.push(target)
    made = dispatch.call(context, Static(sorted), (target,), kwargs)
    context.pop()
    return changed_list(context, target, consuming.elements(context, made))


def list_index(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    if len(args) != 1:
        raise context.refusal("list.index takes one argument here", "slice the list: xs[start:].index(x)")
    return dispatch.call(context, Static(builtin.index_in), (target, args[0]), {})


def list_count(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    return dispatch.call(context, Static(count_of), (target, *args), {})


def list_remove(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    return dispatch.call(context, Static(builtin.remove), (target, *args), {})


def dict_get(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    entry = storage.entry_of(context, target)
    key = storage.static(context, args[0], "a key of a dict")
    if key in entry.keys:
        return entry.items[entry.keys.index(key)]
    return args[1] if len(args) > 1 else Static(None)


def dict_setdefault(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    entry = storage.entry_of(context, target)
    key = storage.static(context, args[0], "a key of a dict")
    if key in entry.keys:
        return entry.items[entry.keys.index(key)]
    value = args[1] if len(args) > 1 else Static(None)
    changed = dataclasses.replace(entry, keys=(*entry.keys, key), items=(*entry.items, value))
    storage.change(context, target, changed)
    return value


def dict_update(context: Context, target: Object, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    for entry in (
        *map(partial(expressions.dict_entry, context), args),
        Entry(dict, tuple(kwargs), tuple(kwargs.values())),
    ):
        if entry.items:
            storage.change(context, target, expressions.united(context, storage.entry_of(context, target), entry))
    return Static(None)


def dict_pop(context: Context, target: Object, args: tuple[Value, ...]) -> Value:
    entry = storage.entry_of(context, target)
    key = storage.static(context, args[0], "a key of a dict")
    items = dict(zip(entry.keys, entry.items, strict=True))
    if key not in items and len(args) < 2:
        raise context.failed("KeyError", repr(key))
    popped = items.pop(key) if key in items else args[1]
    storage.change(context, target, dataclasses.replace(entry, keys=tuple(items), items=tuple(items.values())))
    return popped


_OPERATORS: dict[str, Callable[..., object]] = {
    "__getitem__": operator.getitem,
    "__contains__": operator.contains,
    "__len__": len,
}
"""Methods that are called by their names, as in `max(range(n), key=x.__getitem__)`."""

_ListMethod = Callable[[Context, Object, tuple[Value, ...]], Value]
# Methods of lists that a loop fills.
_GROWN_METHODS: dict[str, _ListMethod] = {
    "append": grown_append,
    "extend": grown_extend,
    "pop": list_items.pop_element,
    "copy": grown_copy,
    "insert": grown_insert,
    "index": list_index,
    "count": list_count,
    "remove": list_remove,
}
_LIST_METHODS: dict[str, _ListMethod] = {
    "append": lambda context, x, args: changed_list(context, x, [*storage.entry_of(context, x).items, args[0]]),
    "extend": list_extend,
    "reverse": lambda context, x, args: changed_list(context, x, storage.entry_of(context, x).items[::-1]),
    "clear": lambda context, x, args: changed_list(context, x, ()),
    "copy": lambda context, x, args: context.new_list(storage.entry_of(context, x).items),
    "pop": list_pop,
    "insert": list_insert,
    "index": list_index,
    "count": list_count,
    "remove": list_remove,
}
_DICT_METHODS: dict[str, _ListMethod] = {
    "keys": lambda context, x, args: Lazy(DICT_KEYS, (x,)),
    "values": lambda context, x, args: Lazy(DICT_VALUES, (x,)),
    "items": lambda context, x, args: Lazy(DICT_ITEMS, (x,)),
    "get": dict_get,
    "pop": dict_pop,
    "setdefault": dict_setdefault,
    "copy": lambda context, x, args: context.new_object(
        dataclasses.replace(storage.entry_of(context, x), borrowed=None)
    ),
}
