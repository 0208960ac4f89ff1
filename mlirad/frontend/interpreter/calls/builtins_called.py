"""Python's builtins.

Reads: values. Writes: ops, and the heap. Leaves: values.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from mlirad.dialect.ops.check import check
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import (
    attribute_access,
    classes,
    consuming,
    dispatch,
    grown_lists,
    iteration,
    range_values,
    special_methods,
    storage,
    variables,
)
from mlirad.frontend.interpreter.calls import accumulation, construction, methods, operator_calls
from mlirad.frontend.interpreter.context import Arguments, Context, Keywords
from mlirad.frontend.interpreter.expressions import comparisons, expressions
from mlirad.frontend.numpy import declarations
from mlirad.frontend.numpy.declarations import interprets
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Lazy, Object, Ref, Static, Tuple, Value, is_none, kind_of
from mlirad.library.python import builtin
from mlirad.library.python.collection_classes import DefaultDict
from mlirad.requests.marks_in_programs import checkpointed

DECLARING = (accumulation, classes, operator_calls)
"""Further files that declare functions which `call_builtin` finds."""

_EMPTY = "max() or min() of an empty sequence"


def call_builtin(context: Context, function: Any, args: Arguments, kwargs: Keywords) -> Value | None:
    """A builtin that the interpreter compiles itself, because it works on structure or writes; None for any other."""
    handler = declarations.of(function).of_context
    if handler is not None:
        return handler(context, tuple(args), kwargs)
    return accumulation.call_ufunc_at(context, function, args, kwargs)


@interprets(len)
def builtin_len(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    value = context.use(args[0])
    if (found := special_methods.special(context, value, "__len__")) is not None:
        return found
    if isinstance(value, Static) and isinstance(value.value, frozenset):
        return Static(len(value.value))
    if isinstance(value, Lazy) and (value.used is not None or value.kind is iter):
        raise DTypeError(f"{kind_of(value)} has no len()", context.location)
    if isinstance(value, Ref) and not value.shape:
        raise DTypeError("len() of unsized object", context.location).as_raised(TypeError)
    return storage.result(context, iteration.length_of(context, value))


@interprets(range)
def builtin_range(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    return range_values.range_of(context, args)


@interprets(enumerate)
def builtin_enumerate(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    iterable, *rest = args
    start = rest[0] if rest else kwargs.get("start", Static(0))
    if iteration.is_running(iterable := consuming.opened(context, iterable)):
        return dispatch.call(context, Static(builtin.enumerated), (iterable, start), {})
    return consuming.iterator(context, enumerate, (iterable, start))


@interprets(zip)
def builtin_zip(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    strict = storage.static(context, kwargs.get("strict", Static(False)), "strict=")
    args = tuple(consuming.opened(context, arg) for arg in args)
    running = [place for place, arg in enumerate(args) if iteration.is_running(arg)]
    if len(running) == 1 and not strict:
        (place,) = running
        return dispatch.call(
            context, Static(builtin.zipped), (args[place], Tuple(args[:place]), Tuple(args[place + 1 :])), {}
        )
    if strict:
        args = tuple(map(partial(consuming.opened, context), args))
        lengths = {
            length for length in map(partial(iteration.length_of, context), args) if not isinstance(length, Traced)
        }
        if len(lengths) > 1 or any(isinstance(iteration.length_of(context, arg), Traced) for arg in args):
            hint = "compare their lengths with an if, and leave strict=True out"
            raise context.refusal("zip(strict=True) of iterables with different or unknown lengths", hint)
    return consuming.iterator(context, zip, args)


@interprets(reversed)
def builtin_reversed(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    value = context.use(args[0]) if args else None
    if value is not None and (found := special_methods.special(context, value, "__reversed__")) is not None:
        return found
    if isinstance(value, Lazy) and (value.used is not None or value.kind is iter):
        raise DTypeError(f"{kind_of(value)} is not reversible", context.location)
    if value is not None and special_methods.users_class(context, value) is not None and not isinstance(value, Tuple):
        raise context.refusal("reversed() of an object without __reversed__ is not compiled", "write __reversed__")
    return consuming.iterator(context, reversed, args)


@interprets(iter)
def builtin_iter(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    if len(args) != 1 or kwargs:
        raise context.refusal("iter() of a function is not compiled", "write a while loop")
    return consuming.iterator_of(context, args[0])


@interprets(next)
def builtin_next(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    if kwargs or len(args) not in (1, 2):
        raise DTypeError("next() takes an iterator, and optionally a default", context.location)
    return consuming.next_of(context, args[0], args[1] if len(args) > 1 else None)


@interprets(super)
def builtin_super(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    """The class, and the object to search for attributes in the classes after that class."""
    if kwargs or len(args) not in (0, 2):
        raise context.refusal("super() takes no arguments here, or a class and an object")
    if args:
        return Lazy(super, args)
    source, parameters = context.frame.source, context.frame.source.node.args
    code, first = source.code, (*parameters.posonlyargs, *parameters.args)[:1]
    if "__class__" not in code.co_freevars or not first:
        raise context.refusal("super(): no arguments").as_raised(RuntimeError)
    cell = source.function.__closure__[code.co_freevars.index("__class__")]
    return Lazy(super, (Static(cell.cell_contents), variables.lookup(context, first[0].arg)))


@interprets(checkpointed)
def builtin_checkpointed(context: Context, _args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    hint = "write `for i in mlirad.checkpointed(range(n), how):` or `while mlirad.checkpointed(condition, how):`"
    raise context.refusal("mlirad.checkpointed belongs at the head of a for or while statement", hint)


@interprets(list)
def builtin_list(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    if args and iteration.is_running(given := consuming.opened(context, args[0])):
        return consuming.collected(context, given)
    if args and (grown := context.grown(filled := consuming.spent(context, args[0]))) is not None:
        return filled if isinstance(context.use(args[0]), Lazy) else grown_lists.copied_list(context, grown)
    return context.new_list(consuming.elements(context, args[0]) if args else ())


@interprets(tuple)
def builtin_tuple(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    return Tuple(consuming.elements(context, args[0]) if args else ())


@interprets(set)
def builtin_set(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    return expressions.set_of(context, consuming.elements(context, args[0]) if args else ())


@interprets(np.iterable)
def builtin_iterable(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    """np.iterable(x)."""
    value = context.use(args[0])
    if isinstance(value, Static):
        return Static(np.iterable(storage.static(context, value, "an argument of np.iterable")))
    if isinstance(value, Ref):
        return Static(value.ndim > 0)
    return Static(isinstance(value, Tuple | Lazy | Object) and hasattr(classes.class_of(context, value), "__iter__"))


@interprets(dict)
def builtin_dict(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    items: dict[Any, Value] = {}
    if args:
        source = context.use(args[0])
        if isinstance(source, Object) and storage.kind_of_object(context, source) in (dict, DefaultDict):
            entry = expressions.dict_entry(context, source)
            items = dict(zip(entry.keys, entry.items, strict=True))
        else:
            for pair in consuming.elements(context, source):
                key, value = consuming.elements(context, pair)
                items[storage.static(context, key, "a key of a dict")] = value
    items |= kwargs
    return context.new_object(Entry(dict, tuple(items), tuple(items.values())))


@interprets(map)
def builtin_map(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    if len(args) < 2 or kwargs:
        raise DTypeError("map() takes a function, and iterables", context.location)
    return consuming.iterator(context, map, args)


@interprets(np.ndindex)
def ndindex(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    return dispatch.call(context, Static(builtin.places_in), args, kwargs)


@interprets(np.ndenumerate)
def ndenumerate(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    return dispatch.call(context, Static(builtin.places_and_elements), args, kwargs)


@interprets(sum)
def builtin_sum(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    # A generator may yield one array again and again, with other contents: the sum is taken while it runs.
    first = consuming.opened(context, args[0])
    iterable, *rest = first if iteration.is_running(first) else consuming.spent(context, first), *args[1:]
    loop = builtin.sum_
    if (grown := context.grown(iterable)) is not None and grown_lists.has_arrays(grown):
        require_elements(context, iterable, "sum() of no arrays: it is the number 0 in Python, which has no shape")
        loop = builtin.sum_of_arrays
    return dispatch.call(context, Static(loop), (iterable, rest[0] if rest else kwargs.get("start", Static(0))), {})


def _extremum(context: Context, args: tuple[Value, ...], kwargs: Keywords, loop: Any, loop_by: Any) -> Value:
    args = (consuming.spent(context, args[0]), *args[1:]) if args else args
    if "default" in kwargs and len(args) == 1:
        items = context.use(args[0])
        if not isinstance(items, Ref) or isinstance(iteration.length_of(context, items), Traced):
            items = Tuple(consuming.elements(context, items))
        if iteration.length_of(context, items) == 0:
            return kwargs["default"]
        args, kwargs = (items,), {name: value for name, value in kwargs.items() if name != "default"}
    if "key" in kwargs and "default" not in kwargs:
        items = consuming.elements(context, args[0]) if len(args) == 1 else tuple(args)
        if not items:
            raise context.failed("ValueError", _EMPTY)
        key = kwargs["key"]
        is_none = isinstance(key, Static) and key.value is None
        return dispatch.call(context, Static(loop_by), (Tuple(items), Static(builtin.identity) if is_none else key), {})
    methods.none_of(context, kwargs, "max or min")
    if len(args) == 1 and (isinstance(context.use(args[0]), Ref) or context.grown(context.use(args[0])) is not None):
        require_elements(context, context.use(args[0]))
        return dispatch.call(context, Static(loop), args, {})
    values = consuming.elements(context, args[0]) if len(args) == 1 else tuple(args)
    if not values:
        raise context.failed("ValueError", _EMPTY)
    return dispatch.call(context, Static(loop), (Tuple(values),), {})


@interprets(round)
def builtin_round(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value | None:
    """round(x), to the nearest int, halves to even, and np.round for NumPy's numbers; None for a constant."""
    number = context.use(args[0]) if args else None
    places = args[1] if len(args) > 1 else kwargs.get("ndigits", Static(None))
    if not isinstance(number, Traced) or number.is_array or len(args) + len(kwargs) > 2:
        return None
    if not isinstance(places, Static) or places.value is not None:
        if number.weak:
            raise context.refusal("round(x, n) of a Python number is not compiled", "write round(x * 100) / 100")
        return dispatch.call(context, Static(np.round), (number, places), {})
    if number.kind is bool and not number.weak:
        return None
    if number.kind is not float:
        return dispatch.call(context, Static(int), (number,), {})
    return dispatch.call(context, Static(builtin.round_), (number,), {})


def require_elements(context: Context, array: Value, message: str = _EMPTY) -> None:
    length = iteration.length_of(context, array)
    if isinstance(length, Traced):
        check(length.expr > 0, "ValueError", message)
    elif not length:
        raise context.failed("ValueError", message)


@interprets(max)
def builtin_max(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    return _extremum(context, args, kwargs, builtin.max_, builtin.max_by)


@interprets(min)
def builtin_min(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    return _extremum(context, args, kwargs, builtin.min_, builtin.min_by)


@interprets(sorted)
def builtin_sorted(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value | None:
    """`sorted`: the library sorts a 1-d array; other items are sorted by their keys, now if these are known."""
    items = context.use(args[0]) if len(args) == 1 else None
    if items is None or not kwargs.keys() <= {"key", "reverse"}:
        return None
    key, reverse = (context.use(kwargs.get(name, Static(None))) for name in ("key", "reverse"))
    if isinstance(items, Ref) and items.ndim == 1 and is_none(key):
        return dispatch.call(context, Static(builtin.sorted_), (items, kwargs.get("reverse", Static(False))), {})
    if isinstance(items, Static):
        return (
            None
            if isinstance(key, Static)
            else methods.sorted_by(context, Tuple(tuple(map(Static, items.value))), key, reverse)
        )
    return methods.sorted_by(context, items, key, reverse)


@interprets(any)
def builtin_any(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    return _quantified(context, args[0], builtin.any_)


@interprets(all)
def builtin_all(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    return _quantified(context, args[0], builtin.all_)


def _quantified(context: Context, iterable: Value, loop: Any) -> Value:
    iterable = consuming.opened(context, iterable)
    if iteration.is_running(iterable):
        return dispatch.call(
            context, Static(builtin.any_of if loop is builtin.any_ else builtin.all_of), (iterable,), {}
        )
    if isinstance(iterable, Lazy) and iterable.kind in (iter, map):
        raise context.refusal(
            f"any() and all() of {kind_of(iterable)} stop early in Python", "write a list: any([...])"
        )
    return dispatch.call(context, Static(loop), (iterable,), {})


@interprets(bool)
def builtin_bool(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    truth = comparisons.truth_of(context, args[0]) if args else False
    return truth if isinstance(truth, Traced) else Static(truth)


@interprets(getattr)
def builtin_getattr(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    name = classes.name_of_attribute(context, args[1])
    if len(args) == 3 and not classes.is_there(context, args[0], name):
        return args[2]
    return attribute_access.attribute(context, args[0], name)


@interprets(hasattr)
def builtin_hasattr(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    return Static(classes.is_there(context, args[0], classes.name_of_attribute(context, args[1])))


@interprets(slice)
def builtin_slice_object(_context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    parts = (Static(None), args[0], Static(None)) if len(args) == 1 else (*args, Static(None))[:3]
    return Lazy(slice, parts)


@interprets(dataclasses.replace)
def builtin_replace(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    """dataclasses.replace."""
    target = context.use(args[0])
    if (
        len(args) != 1
        or not isinstance(target, Object)
        or not dataclasses.is_dataclass(storage.entry_of(context, target).kind)
    ):
        raise DTypeError("dataclasses.replace() takes a dataclass, and fields by name", context.location)
    entry = storage.entry_of(context, target)
    fields = {str(key): value for key, value in zip(entry.keys, entry.items, strict=True)}
    return construction.construct(context, entry.kind, (), fields | kwargs)
