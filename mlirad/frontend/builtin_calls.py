"""Python's builtins, and the methods of lists, dicts, tuples, strings, arrays and numbers.

Reads: values. Writes: ops, and the heap. Leaves: values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from mlirad.dialect.check import check
from mlirad.errors import DTypeError
from mlirad.frontend import hints, numpy_calls, prelude, purity, view_functions
from mlirad.frontend.accumulation import Accumulation, writer
from mlirad.frontend.iteration import DICT_ITEMS, DICT_KEYS, DICT_VALUES
from mlirad.frontend.merge import kind_of
from mlirad.frontend.nep50 import agreed
from mlirad.frontend.numpys_errors import numpys_refusal
from mlirad.frontend.operator_calls import OPERATORS, OperatorCalls
from mlirad.frontend.out_arguments import method_with_out_named
from mlirad.frontend.selection import Selected
from mlirad.frontend.traced import Traced, stand_in
from mlirad.frontend.values import Bound, Closure, Entry, Lazy, Object, Ref, Static, Tuple, Value
from mlirad.requests import checkpointed

Arguments = Sequence[Value]
Keywords = dict[str, Value]

_EMPTY = "max() or min() of an empty sequence"


class BuiltinCalls(OperatorCalls, Accumulation):
    """`call_builtin` and `call_method`."""

    def call_builtin(self, function: Any, args: Arguments, kwargs: Keywords) -> Value | None:
        """A builtin that works on the structure of its arguments; None where it is something else."""
        try:
            handler = _BUILTINS.get(function) or OPERATORS.get(function)
        except TypeError:  # not hashable
            return None
        if handler is not None:
            return handler(self, tuple(args), kwargs)
        write = writer(function)
        return None if write is None else write(self, *args, **kwargs)

    def builtin_len(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        value = self.use(args[0])
        if (found := self.special(value, "__len__")) is not None:
            return found
        if isinstance(value, Selected):
            return self.result(value.shape[0])
        if isinstance(value, Lazy) and (value.used is not None or value.kind is iter):
            raise DTypeError(f"{kind_of(value)} has no len()", self.location)
        if isinstance(value, Ref) and not value.shape:
            raise DTypeError("len() of unsized object", self.location)
        return self.result(self.length(value))

    def builtin_range(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        return self.range_of(args)

    def builtin_enumerate(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        iterable, *rest = args
        return self.iterator(enumerate, (iterable, rest[0] if rest else kwargs.get("start", Static(0))))

    def builtin_zip(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        strict = self.static(kwargs.get("strict", Static(False)), "strict=")
        if strict:
            lengths = {length for length in map(self.length, args) if not isinstance(length, Traced)}
            if len(lengths) > 1 or any(isinstance(self.length(arg), Traced) for arg in args):
                raise self.refusal("zip(strict=True) of iterables whose lengths differ or are not known")
        return self.iterator(zip, args)

    def builtin_reversed(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        if args and isinstance(value := self.use(args[0]), Lazy) and (value.used is not None or value.kind is iter):
            raise DTypeError(f"{kind_of(value)} is not reversible", self.location)
        return self.iterator(reversed, args)

    def builtin_checkpointed(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        hint = "write `for i in mlirad.checkpointed(range(n), how):` or `while mlirad.checkpointed(condition, how):`"
        raise self.refusal("mlirad.checkpointed stands at the head of a for or while statement", hint)

    def builtin_list(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        if args and (grown := self.grown(filled := self.spent(args[0]))) is not None:
            return filled if isinstance(self.use(args[0]), Lazy) else self.copied_list(grown)
        return self.new_list(self.elements(args[0]) if args else ())

    def builtin_tuple(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        return Tuple(self.elements(args[0]) if args else ())

    def builtin_dict(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        items: dict[Any, Value] = {}
        if args:
            source = self.use(args[0])
            if isinstance(source, Object) and self.entry(source).kind is dict:
                entry = self.entry(source)
                items = dict(zip(entry.keys, entry.items, strict=True))
            else:
                for pair in self.elements(source):
                    key, value = self.elements(pair)
                    items[self.static(key, "a key of a dict")] = value
        items |= kwargs
        return self.new_object(Entry(dict, tuple(items), tuple(items.values())))

    def builtin_map(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        if len(args) < 2 or kwargs:
            raise DTypeError("map() takes a function, and iterables", self.location)
        return self.iterator(map, args)

    def builtin_sum(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        iterable, *rest = self.spent(args[0]), *args[1:]
        loop = prelude.sum_
        if (grown := self.grown(iterable)) is not None and self.has_arrays(grown):
            self.require_elements(iterable, "sum() of no arrays: it is the number 0 in Python, which has no shape")
            loop = prelude.sum_of_arrays
        return self.call(Static(loop), (iterable, rest[0] if rest else kwargs.get("start", Static(0))), {})

    def _extremum(self, args: tuple[Value, ...], kwargs: Keywords, loop: Any, loop_by: Any) -> Value:
        args = (self.spent(args[0]), *args[1:]) if args else args
        if "key" in kwargs and "default" not in kwargs:
            items = self.elements(args[0]) if len(args) == 1 else tuple(args)
            if not items:
                raise self.failed("ValueError", _EMPTY)
            key = kwargs["key"]
            is_none = isinstance(key, Static) and key.value is None
            return self.call(Static(loop_by), (Tuple(items), Static(prelude.identity) if is_none else key), {})
        self.none_of(kwargs, "max or min")
        if len(args) == 1 and (isinstance(self.use(args[0]), Ref) or self.grown(self.use(args[0])) is not None):
            self.require_elements(self.use(args[0]))
            return self.call(Static(loop), args, {})
        values = self.elements(args[0]) if len(args) == 1 else tuple(args)
        if not values:
            raise self.failed("ValueError", _EMPTY)
        return self.call(Static(loop), (Tuple(values),), {})

    def builtin_round(self, args: tuple[Value, ...], kwargs: Keywords) -> Value | None:
        """round(x), to the nearest int, halves to even; None where it is of a constant."""
        number = self.use(args[0]) if args else None
        places = args[1] if len(args) > 1 else kwargs.get("ndigits", Static(None))
        if not isinstance(number, Traced) or number.is_array or len(args) + len(kwargs) > 2:
            return None
        if not isinstance(places, Static) or places.value is not None:
            raise self.refusal("round(x, n) is not compiled", "write round(x * 100) / 100, or round the result outside")
        if number.kind is bool and not number.weak:
            return None
        if number.kind is not float:
            return self.call(Static(int), (number,), {})
        return self.call(Static(prelude.round_), (number,), {})

    def require_elements(self, array: Value, message: str = _EMPTY) -> None:
        length = self.length(array)
        if isinstance(length, Traced):
            check(length.expr > 0, "ValueError", message)
        elif not length:
            raise self.failed("ValueError", message)

    def builtin_max(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        return self._extremum(args, kwargs, prelude.max_, prelude.max_by)

    def builtin_min(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        return self._extremum(args, kwargs, prelude.min_, prelude.min_by)

    def builtin_any(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        return self._quantified(args[0], prelude.any_)

    def builtin_all(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        return self._quantified(args[0], prelude.all_)

    def _quantified(self, iterable: Value, loop: Any) -> Value:
        if isinstance(iterable, Lazy) and iterable.kind in (iter, map):
            raise self.refusal(
                f"any() and all() of {kind_of(iterable)} stop early in Python", "write a list: any([...])"
            )
        return self.call(Static(loop), (iterable,), {})

    def builtin_bool(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        truth = self.truth(args[0]) if args else False
        return truth if isinstance(truth, Traced) else Static(truth)

    def builtin_isinstance(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        kinds = self.static(args[1], "the classes of isinstance")
        value = self.use(args[0])
        with numpys_refusal():
            isinstance(None, kinds)
        match value:
            case Static() if not isinstance(value.value, purity.SetCopy):
                return Static(isinstance(value.value, kinds))
            case Ref() | Selected():
                return Static(issubclass(np.ndarray, kinds))
            case Traced():
                return Static(agreed([stand_in(value)], lambda chosen: issubclass(_class_of(*chosen), kinds)))
            case Tuple():
                return Static(issubclass(value.kind, kinds))
            case Object():
                return Static(issubclass(self.kind_of_object(value), kinds))
            case Closure() | Lazy() | Static() if (kind := self.class_of(value)) is not None:
                return Static(issubclass(kind, kinds))
        raise self.refusal(f"isinstance of {kind_of(value)} is not compiled")

    def builtin_type(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        if len(args) != 1 or kwargs:
            raise self.refusal("a class that is made in a compiled function is not compiled", "make it outside")
        value = self.use(args[0])
        kind = self.class_of(value)
        if kind is None:
            raise self.refusal(f"type() of {kind_of(value)} is not compiled")
        return self.object_value(kind, None)

    def class_of(self, value: Value) -> type | None:
        """The class that Python sees; None where there is no telling."""
        match value:
            case Static():
                return set if isinstance(value.value, purity.SetCopy) else type(value.value)
            case Ref() | Selected():
                return np.ndarray
            case Traced():
                return agreed([stand_in(value)], lambda chosen: _class_of(*chosen))
            case Tuple():
                return value.kind
            case Object():
                return self.entry(value).kind
            case Closure():
                return FunctionType
            case Lazy() if value.kind is not iter:
                return value.kind
        return None

    def builtin_callable(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        value = self.use(args[0])
        if isinstance(value, Static):
            return Static(callable(value.value))
        return Static(not isinstance(value, Ref | Traced | Tuple | Object | Lazy))

    def builtin_getattr(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        name = self.name_of_attribute(args[1])
        if len(args) == 3 and not self.is_there(args[0], name):
            return args[2]
        return self.attribute(args[0], name)

    def builtin_hasattr(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        return Static(self.is_there(args[0], self.name_of_attribute(args[1])))

    def name_of_attribute(self, value: Value) -> str:
        name = self.static(value, "the name of an attribute")
        if not isinstance(name, str):
            raise DTypeError(f"attribute name must be string, not '{type(name).__name__}'", self.location)
        return name

    def is_there(self, value: Value, name: str) -> bool:
        """Whether a value has an attribute."""
        value = self.use(value)
        if isinstance(value, Static):
            return self.has_attribute(value, name)
        if isinstance(value, Ref):
            return hasattr(np.ndarray, name)
        if isinstance(value, Object):
            entry = self.entry(value)
            return hasattr(entry.kind, name) or (entry.kind not in (list, dict) and name in entry.keys)
        raise self.refusal(f"whether {kind_of(value)} has an attribute is not compiled")

    def builtin_slice_object(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        parts = (Static(None), args[0], Static(None)) if len(args) == 1 else (*args, Static(None))[:3]
        return Lazy(slice, parts)

    # Methods.

    def call_method(self, bound: Bound, args: Arguments, kwargs: Keywords) -> Value:
        receiver = self.use(bound.receiver)
        name = bound.name
        match receiver:
            case Ref():
                return self.array_method(receiver, name, tuple(args), kwargs)
            case Traced() | Selected():
                return self.numpy_method(receiver, name, args, kwargs)
            case Object():
                if self.grown(receiver) is not None and name in _GROWN_METHODS:
                    return _GROWN_METHODS[name](self, receiver, tuple(args))
                table = _DICT_METHODS if self.entry(receiver).kind is dict else _LIST_METHODS
                if name == "update" and table is _DICT_METHODS:
                    return self.dict_update(receiver, tuple(args), kwargs)
                if name in table:
                    self.none_of(kwargs, f"the method {name!r}")
                    return table[name](self, receiver, tuple(args))
            case Tuple() if name in ("index", "count"):
                items = self.static(receiver, "the items of a tuple")
                operands = [self.static(arg, "what is looked for") for arg in args]
                return self.computed(lambda: getattr(items, name)(*operands))
            case Static():
                return self.evaluated_now(getattr(receiver.value, name), args, kwargs)  # see attribute_of_object
        raise self.refusal(f"the method {name!r} of {kind_of(receiver)} is not compiled")

    def array_method(self, array: Ref, name: str, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        if name == "fill":
            self.require_writable(array)
            self.assign_array(array, self.operand(args[0]))
            return Static(None)
        viewer = (view_functions.uncopied(name) if self.is_uncopied(kwargs) else None) or view_functions.method(name)
        if viewer is not None:
            named = {key: self.index_operand(value) for key, value in kwargs.items()}
            viewed = self.viewed(array, viewer, *[self.index_operand(arg) for arg in args], **named)
            if viewed is not None:
                return viewed
        if name in ("sort", "partition", "resize", "put", "itemset", "setfield", "byteswap", "setflags"):
            hint = hints.replacement(f"np.{name}")
            raise self.refusal(f"the method {name!r} changes the array in place, and is not compiled", hint)
        if name == "flatten" and (args or kwargs):
            # In another order than the elements', it is a copy of the view that ravel gives.
            named = {key: self.index_operand(value) for key, value in kwargs.items()}
            order = [self.index_operand(arg) for arg in args]
            viewed = self.viewed(array, view_functions.flattened, *order, **named)
            if viewed is not None:
                return self.new_array(self.read(viewed).contents, shape=viewed.shape)
        result = self.numpy_method(self.read(array), name, args, kwargs)
        return result if "out" in kwargs else self.laid_out(result, name, (array, *args), kwargs)

    def numpy_method(
        self,
        receiver: Traced | Selected,
        name: str,
        args: Arguments,
        kwargs: Keywords,
    ) -> Value:
        args, kwargs = method_with_out_named(name, args, kwargs)
        out = kwargs.pop("out", None)
        operands = [self.operand(arg) for arg in args]
        named = {key: self.operand(value) for key, value in kwargs.items()}
        function = numpy_calls.method(name)
        result = self.computed(lambda: numpy_calls.call(function, (receiver, *operands), named))
        if out is None or (isinstance(out, Static) and out.value is None):
            # NumPy's numbers give numbers where arrays give 0-d arrays: x.reshape(()).
            of_number = isinstance(receiver, Traced) and not receiver.is_array
            return self.read_scalar(result) if of_number and isinstance(result, Ref) and not result.shape else result
        return self.stored(function, result, out)

    def changed_list(self, target: Object, items: Sequence[Value]) -> Value:
        entry = self.entry(target)
        self.change(target, dataclasses.replace(entry, keys=tuple(range(len(items))), items=tuple(items)))
        return Static(None)

    def builtin_replace(self, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        """dataclasses.replace."""
        target = self.use(args[0])
        if len(args) != 1 or not isinstance(target, Object) or not dataclasses.is_dataclass(self.entry(target).kind):
            raise DTypeError("dataclasses.replace() takes a dataclass, and fields by name", self.location)
        entry = self.entry(target)
        fields = {str(key): value for key, value in zip(entry.keys, entry.items, strict=True)}
        return self.construct(entry.kind, (), fields | kwargs)

    def grown_append(self, target: Object, args: tuple[Value, ...]) -> Value:
        (value,) = args
        self.append(target, value)
        return Static(None)

    def grown_extend(self, target: Object, args: tuple[Value, ...]) -> Value:
        return self.call(Static(prelude.extend), (target, args[0]), {})

    def grown_insert(self, target: Object, args: tuple[Value, ...]) -> Value:
        return self.call(Static(prelude.insert), (target, *args), {})

    def list_extend(self, target: Object, args: tuple[Value, ...]) -> Value:
        if isinstance(self.length(args[0]), Traced):
            return self.call(Static(prelude.extend), (target, args[0]), {})
        return self.changed_list(target, [*self.entry(target).items, *self.elements(args[0])])

    def grown_copy(self, target: Object, args: tuple[Value, ...]) -> Value:
        return self.copied_list(self.as_is(target))

    def list_pop(self, target: Object, args: tuple[Value, ...]) -> Value:
        items = list(self.entry(target).items)
        position = self.static(args[0], "the index of list.pop") if args else -1
        if not -len(items) <= position < len(items):
            raise self.failed("IndexError", "pop index out of range")
        popped = items.pop(position)
        self.changed_list(target, items)
        return popped

    def list_insert(self, target: Object, args: tuple[Value, ...]) -> Value:
        items = list(self.entry(target).items)
        items.insert(self.static(args[0], "the index of list.insert"), args[1])
        return self.changed_list(target, items)

    def dict_get(self, target: Object, args: tuple[Value, ...]) -> Value:
        entry = self.entry(target)
        key = self.static(args[0], "a key of a dict")
        if key in entry.keys:
            return entry.items[entry.keys.index(key)]
        return args[1] if len(args) > 1 else Static(None)

    def dict_update(self, target: Object, args: tuple[Value, ...], kwargs: Keywords) -> Value:
        for entry in (*map(self.dict_entry, args), Entry(dict, tuple(kwargs), tuple(kwargs.values()))):
            if entry.items:
                self.change(target, self.united(self.entry(target), entry))
        return Static(None)

    def dict_pop(self, target: Object, args: tuple[Value, ...]) -> Value:
        entry = self.entry(target)
        key = self.static(args[0], "a key of a dict")
        items = dict(zip(entry.keys, entry.items, strict=True))
        if key not in items and len(args) < 2:
            raise self.failed("KeyError", repr(key))
        popped = items.pop(key) if key in items else args[1]
        self.change(target, dataclasses.replace(entry, keys=tuple(items), items=tuple(items.values())))
        return popped


def _class_of(kind: np.dtype | type) -> type:
    """The class of a number: NumPy's of a dtype."""
    return kind.type if isinstance(kind, np.dtype) else kind


_ListMethod = Callable[[BuiltinCalls, Object, tuple[Value, ...]], Value]

# Of lists that a loop fills.
_GROWN_METHODS: dict[str, _ListMethod] = {
    "append": BuiltinCalls.grown_append,
    "extend": BuiltinCalls.grown_extend,
    "pop": BuiltinCalls.pop_element,
    "copy": BuiltinCalls.grown_copy,
    "insert": BuiltinCalls.grown_insert,
}

_LIST_METHODS: dict[str, _ListMethod] = {
    "append": lambda self, x, args: self.changed_list(x, [*self.entry(x).items, args[0]]),
    "extend": BuiltinCalls.list_extend,
    "reverse": lambda self, x, args: self.changed_list(x, self.entry(x).items[::-1]),
    "clear": lambda self, x, args: self.changed_list(x, ()),
    "copy": lambda self, x, args: self.new_list(self.entry(x).items),
    "pop": BuiltinCalls.list_pop,
    "insert": BuiltinCalls.list_insert,
}

_DICT_METHODS: dict[str, _ListMethod] = {
    "keys": lambda self, x, args: Lazy(DICT_KEYS, (x,)),
    "values": lambda self, x, args: Lazy(DICT_VALUES, (x,)),
    "items": lambda self, x, args: Lazy(DICT_ITEMS, (x,)),
    "get": BuiltinCalls.dict_get,
    "pop": BuiltinCalls.dict_pop,
    "copy": lambda self, x, args: self.new_object(dataclasses.replace(self.entry(x), borrowed=None)),
}

_BUILTINS: dict[Any, Callable[[BuiltinCalls, tuple[Value, ...], Keywords], Value | None]] = {
    len: BuiltinCalls.builtin_len,
    range: BuiltinCalls.builtin_range,
    enumerate: BuiltinCalls.builtin_enumerate,
    zip: BuiltinCalls.builtin_zip,
    reversed: BuiltinCalls.builtin_reversed,
    checkpointed: BuiltinCalls.builtin_checkpointed,
    list: BuiltinCalls.builtin_list,
    tuple: BuiltinCalls.builtin_tuple,
    dict: BuiltinCalls.builtin_dict,
    map: BuiltinCalls.builtin_map,
    sum: BuiltinCalls.builtin_sum,
    max: BuiltinCalls.builtin_max,
    min: BuiltinCalls.builtin_min,
    any: BuiltinCalls.builtin_any,
    all: BuiltinCalls.builtin_all,
    bool: BuiltinCalls.builtin_bool,
    round: BuiltinCalls.builtin_round,
    isinstance: BuiltinCalls.builtin_isinstance,
    type: BuiltinCalls.builtin_type,
    callable: BuiltinCalls.builtin_callable,
    getattr: BuiltinCalls.builtin_getattr,
    hasattr: BuiltinCalls.builtin_hasattr,
    slice: BuiltinCalls.builtin_slice_object,
    dataclasses.replace: BuiltinCalls.builtin_replace,
}
