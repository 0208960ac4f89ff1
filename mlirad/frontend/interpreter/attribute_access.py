"""Attributes of arrays, numbers, selections, objects and classes.

Reads: values. Writes: ops. Leaves: values.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mlirad.dialect.core.expr import emit
from mlirad.dialect.functions.complex_parts import ImagOp, RealOp
from mlirad.frontend.interpreter import classes, dispatch, indices, outside_objects, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.numpy import declarations
from mlirad.frontend.program import hints
from mlirad.frontend.program.hidden_state import STRIDES
from mlirad.frontend.values.numpy_strides import is_unknown
from mlirad.frontend.values.sizes import is_static
from mlirad.frontend.values.traced import NeedStatic, Traced, visible, visible_shape
from mlirad.frontend.values.values import (
    Bound,
    Closure,
    Entry,
    Lazy,
    Object,
    PullbackValue,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    kind_of,
)
from mlirad.frontend.values.views.row_major import shadow
from mlirad.library.python import builtin
from mlirad.library.python.iterators import Flat


def attribute(context: Context, value: Value, name: str) -> Value:
    value = context.present(value, f"'NoneType' object has no attribute '{name}'", "AttributeError")
    match value:
        case Ref():
            return array_attribute(context, value, name)
        case Traced():
            return number_attribute(context, value, name)
        case Object() if context.grown(value) is not None and hasattr(list, name):
            return Bound(value, name)
        case Object():
            entry = storage.entry_of(context, value)
            if entry.kind not in (list, dict):
                if name in entry.keys:
                    return entry.items[entry.keys.index(name)]
                return outside_objects.attribute_of_class(context, value, entry.kind, name)
            if not hasattr(entry.kind, name):
                hint = "make an array of it: np.array(xs)" if entry.kind is list and hasattr(np.ndarray, name) else None
                refusal = context.refusal(f"a {entry.kind.__name__} has no attribute {name!r}", hint)
                raise refusal.as_raised(AttributeError)
            return Bound(value, name)
        case Tuple():
            fields = getattr(value.kind, "_fields", ())
            if name in fields:
                return value.items[fields.index(name)]
            if value.kind is not tuple and name not in dir(tuple) and not classes.is_replacing(value.kind, name):
                return outside_objects.attribute_of_class(context, value, value.kind, name)
            return Bound(value, name)
        case Static():
            return outside_objects.attribute_of_object(context, value, name)
        case Lazy(kind=builtins.super):
            return attribute_of_super(context, value, name)
        case Lazy(kind=builtins.slice) if name in ("start", "stop", "step"):
            return value.parts[("start", "stop", "step").index(name)]
        case Lazy() | Closure() | Bound() | Transformed() | PullbackValue():
            raise context.refusal(f"attribute {name!r} of {kind_of(value)} is not compiled")
    raise context.refusal(f"attribute {name!r} of {kind_of(value)} is not compiled")


def attribute_of_super(context: Context, value: Lazy, name: str) -> Value:
    """`super().name`: searched in the classes after one, in the order of the method resolution."""
    after, receiver = (context.use(part) for part in value.parts)
    kind = classes.class_of(context, receiver)
    if not isinstance(after, Static) or kind is None or after.value not in kind.__mro__:
        raise context.refusal("super() is compiled in methods of objects")
    order = kind.__mro__[kind.__mro__.index(after.value) + 1 :]
    owner = next((each for each in order if name in vars(each)), None)
    if owner is None:
        raise context.refusal(f"'super' object has no attribute {name!r}").as_raised(AttributeError)
    if owner is object and name == "__init__":
        return Static(builtin.nothing)
    if getattr(order[0], name, None) is getattr(owner, name):
        owner = order[0]  # even if a class between them gets such an attribute
    return outside_objects.attribute_of_class(context, receiver, owner, name)


def array_attribute(context: Context, array: Ref, name: str) -> Value:
    match name:
        case "flat":
            return dispatch.call(context, Static(Flat), (array,), {})
        case "shape":
            return storage.result(context, visible_shape(array.shape))
        case "ndim":
            return Static(array.ndim)
        case "size":
            return storage.result(context, visible(array.alternatives[0].view.size))
        case "dtype":
            return Static(array.dtype)
        case "device":
            return Static(np.empty(0).device)
        case "flags":
            return flags(context, array)
        case "itemsize":
            return Static(array.dtype.itemsize)
        case "nbytes":
            return storage.result(context, visible(array.alternatives[0].view.size * array.dtype.itemsize))
    function = declarations.of_attribute(name).of_view
    if function is not None:
        viewed = indices.viewed(context, array, function)
        return dispatch.call(context, Static(getattr(np, name)), (array,), {}) if viewed is None else viewed
    if not hasattr(np.ndarray, name):
        known = [each for each in dir(np.ndarray) if not each.startswith("_")]
        hint = hints.of_other_arrays(name) or hints.did_you_mean(name, known, ".{}")
        raise context.refusal(f"an array has no attribute {name!r}", hint).as_raised(AttributeError)
    if not callable(getattr(np.ndarray, name)):
        raise context.refusal(f"the array attribute {name!r} is not compiled", STRIDES if name == "strides" else None)
    return Bound(array, name)


@dataclass(frozen=True)
class Flags:
    """The information in an array's `x.flags`."""

    writeable: bool
    c_contiguous: bool
    f_contiguous: bool
    contiguous: bool
    fortran: bool
    fnc: bool
    forc: bool


def flags(context: Context, array: Ref) -> Value:
    """`x.flags`, for an array with known layout."""
    views = [alternative.view for alternative in array.alternatives]
    if any(is_unknown(view) or not is_static(view.shape) for view in views):
        raise context.refusal(
            "the memory layout of this array is unknown while compiling", "use a copy of it: x.copy()"
        )
    found = set()
    for view in views:
        asked = shadow(view.shape, view.strides).flags
        in_c, in_f, either = asked.c_contiguous, asked.f_contiguous, asked.forc
        found.add(Flags(not view.readonly, in_c, in_f, asked.contiguous, asked.fortran, asked.fnc, either))
    if len(found) > 1:
        raise context.refusal("this may be one of several arrays, and their flags differ", "use a copy of it: x.copy()")
    (known,) = found
    names = tuple(field.name for field in fields(Flags))
    return context.new_object(Entry(Flags, names, tuple(Static(getattr(known, each)) for each in names)))


def number_attribute(context: Context, number: Traced, name: str) -> Value:
    if name in ("real", "imag") and number.kind is complex:
        part = RealOp if name == "real" else ImagOp
        return Traced(emit(part, number.scalar), number.weak, origins=number.origins)
    if number.weak:
        if name == "real" or (name == "numerator" and number.kind is not float):
            return number
        if name == "imag":
            return Static(number.kind(0))
        if not hasattr(number.kind, name) and not (number.either or number.several):
            message = f"{number.kind.__name__!r} object has no attribute {name!r}"
            raise context.refusal(message).as_raised(AttributeError)
        if name == "conjugate":
            return Bound(number, name)
        if number.kind is int:
            raise NeedStatic(number.origins, f"an int whose {name} is used")
        raise context.refusal(f"attribute {name!r} of a Python number is not compiled")
    size = number.dtype.itemsize
    static: dict[str, Any] = {"ndim": 0, "size": 1, "dtype": number.dtype, "itemsize": size, "nbytes": size}
    static |= {"shape": (), "imag": number.dtype.type(0)}
    if name in static:
        return Static(static[name]) if name != "shape" else Tuple(())
    if name in ("T", "real"):
        return number
    if not hasattr(number.dtype.type, name):
        known = [each for each in dir(number.dtype.type) if not each.startswith("_")]
        hint = hints.of_other_arrays(name) or hints.did_you_mean(name, known, ".{}")
        raise context.refusal(f"a NumPy number has no attribute {name!r}", hint).as_raised(AttributeError)
    if not callable(getattr(number.dtype.type, name)):
        raise context.refusal(f"the attribute {name!r} of a NumPy number is not compiled")
    return Bound(number, name)
