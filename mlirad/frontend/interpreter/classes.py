"""The classes of values, and the attributes that they have.

Reads: values. Writes: nothing. Leaves: bools and classes.
"""

from __future__ import annotations

import collections
import inspect
from collections.abc import Callable
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import outside_objects, storage
from mlirad.frontend.interpreter.context import Context, Keywords
from mlirad.frontend.numpy.declarations import interprets
from mlirad.frontend.program import purity
from mlirad.frontend.values.nep50 import agreed
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.traced import Traced, stand_in
from mlirad.frontend.values.values import Closure, GeneratorKind, Lazy, Object, Ref, Static, Tuple, Value, kind_of
from mlirad.library.python import collection_classes


@interprets(isinstance)
def builtin_isinstance(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    kinds = storage.static(context, args[1], "the classes of isinstance")
    value = context.use(args[0])
    with numpys_refusal():
        isinstance(None, kinds)
    match value:
        case Static() if not isinstance(value.value, purity.SetCopy):
            return Static(isinstance(value.value, kinds))
        case Ref():
            return Static(issubclass(np.ndarray, kinds))
        case Traced():
            return Static(agreed([stand_in(value)], lambda chosen: issubclass(_class_of(*chosen), kinds)))
        case Tuple():
            return Static(issubclass(value.kind, kinds))
        case Object():
            return Static(issubclass(_shown(storage.kind_of_object(context, value)), kinds))
        case Closure() | Lazy() | Static() if (kind := class_of(context, value)) is not None:
            return Static(issubclass(kind, kinds))
    raise context.refusal(f"isinstance of {kind_of(value)} is not compiled")


@interprets(issubclass)
def builtin_issubclass(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    kind, kinds = (storage.static(context, each, "a class") for each in args)
    with numpys_refusal():
        return Static(issubclass(kind, kinds))


def _compile_inspection(inspecting: Callable[[Any], Any]) -> None:
    """Compile calls of an inspect function about the arguments of a function written in Python."""

    @interprets(inspecting)
    def inspected(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
        function = storage.static(context, args[0], "a function")
        if len(args) != 1 or not isinstance(function, FunctionType):
            raise context.refusal(f"inspect.{inspecting.__name__} is compiled only for functions written in Python")
        return outside_objects.object_value(context, inspecting(function), None)


_compile_inspection(inspect.signature)
_compile_inspection(inspect.getfullargspec)


@interprets(type)
def builtin_type(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    if len(args) != 1 or kwargs:
        raise context.refusal("a class that is made in a compiled function is not compiled", "make it outside")
    value = context.use(args[0])
    kind = class_of(context, value)
    if kind is None:
        raise context.refusal(f"type() of {kind_of(value)} is not compiled")
    return outside_objects.object_value(context, kind, None)


def class_of(context: Context, value: Value) -> type | None:
    """The class that Python sees; None if it is unknown."""
    match value:
        case Static():
            return set if isinstance(value.value, purity.SetCopy) else type(value.value)
        case Ref():
            return np.ndarray
        case Traced():
            return agreed([stand_in(value)], lambda chosen: _class_of(*chosen))
        case Tuple():
            return value.kind
        case Object():
            return _shown(storage.entry_of(context, value).kind)
        case Closure():
            return FunctionType
        case Lazy() if isinstance(value.kind, GeneratorKind):
            return GeneratorType
        case Lazy() if value.kind is not iter:
            return value.kind
    return None


def _shown(kind: type) -> type:
    """The class that the program knows, for a class of the library that replaces it."""
    return getattr(kind, "stands_for", kind) if kind.__module__ == collection_classes.__name__ else kind


@interprets(callable)
def builtin_callable(context: Context, args: tuple[Value, ...], _kwargs: Keywords) -> Value:
    value = context.use(args[0])
    if isinstance(value, Static):
        return Static(callable(value.value))
    return Static(not isinstance(value, Ref | Traced | Tuple | Object | Lazy))


def name_of_attribute(context: Context, value: Value) -> str:
    name = storage.static(context, value, "the name of an attribute")
    if not isinstance(name, str):
        raise DTypeError(f"attribute name must be string, not '{type(name).__name__}'", context.location)
    return name


def is_there(context: Context, value: Value, name: str) -> bool:
    """Whether a value has an attribute."""
    value = context.use(value)
    if isinstance(value, Static):
        return outside_objects.has_attribute(context, value, name)
    if isinstance(value, Ref):
        return hasattr(np.ndarray, name)
    if isinstance(value, Object):
        entry = storage.entry_of(context, value)
        return hasattr(entry.kind, name) or (entry.kind not in (list, dict) and name in entry.keys)
    raise context.refusal(f"whether {kind_of(value)} has an attribute is not compiled")


def _class_of(kind: np.dtype | type) -> type:
    """The class of a number: NumPy's of a dtype."""
    return kind.type if isinstance(kind, np.dtype) else kind


def is_replacing(kind: type, name: str) -> bool:
    """Whether an attribute of a named tuple is `_replace`, as collections.namedtuple writes it."""
    return name == "_replace" and getattr(getattr(kind, name, None), "__globals__", None) is vars(collections)
