"""Calls of functions that the library implements in NumPy.

Reads: values. Writes: ops, and arrays given as `out`. Leaves: values.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from mlirad.dialect.core.registry import COMPLEX
from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls import calls_of_numpy, inlining
from mlirad.frontend.interpreter.calls.out_arguments import with_out_named, without_inert
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import list_items
from mlirad.frontend.numpy import numpy_calls
from mlirad.frontend.program import purity
from mlirad.frontend.values.traced import Traced, is_static
from mlirad.frontend.values.values import Object, Ref, Static, Tuple, Value, is_none
from mlirad.library import spells


def call_library(context: Context, called: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """A call of an object for which the library has a function; None for any other."""
    called, owners = spells.unbound(called)
    function = spells.function_of(called)
    if function is None or not all(map(numpy_calls.is_supported, owners)):
        return None
    return call_written(context, called, function, (*map(Static, owners), *args), kwargs)


def call_method(
    context: Context, receiver: Value, name: str, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A call of an array method for which the library has a function; None for any other."""
    method = getattr(np.ndarray, name, None)
    function = spells.function_of(method)
    return None if function is None else call_written(context, method, function, (receiver, *args), kwargs)


def call_written(
    context: Context, called: Any, function: FunctionType, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """Call the library's function; if all arguments are known, a pure function runs now."""
    args, kwargs = with_out_named(called, args, without_inert(called, kwargs))
    out = kwargs.pop("out", Static(None))
    if purity.is_pure(called) and is_known(context, [*args, *kwargs.values()]):
        return calls_of_numpy.evaluated_now(context, called, args, kwargs)
    numpy_calls.check_arguments(called, function, args, kwargs)
    if not function.__dict__["takes_complex"] and any(_is_complex(context, each) for each in (*args, *kwargs.values())):
        raise context.refusal(f"{numpy_calls.spelling(called)} of complex numbers is not compiled", COMPLEX)
    if function.__dict__["changes_list"]:
        target = context.use(args[0])
        if isinstance(target, Object) and context.grown(target) is None and not is_known(context, args):
            list_items.put_in_arrays(context, target, args[1:])
    else:
        args = [as_array(context, arg) for arg in args]
    context.push(out)
    result = inlining.inline_function(context, function, args, kwargs)
    out = context.pop()
    return result if is_none(out) else calls_of_numpy.stored(context, called, result, out)


def is_known(context: Context, values: Sequence[Value]) -> bool:
    """Whether all arguments are constants. Slices and functions are not, even inside lists."""
    try:
        operands = [storage.operand(context, value) for value in values]
    except UnsupportedSyntaxError:
        return False
    return is_static(operands) and not _holds_function(operands)


def _is_complex(context: Context, value: Value) -> bool:
    """Whether an argument holds complex numbers, even inside lists, or is a complex dtype."""
    match value := context.use(value):
        case Ref() | Traced():
            return value.dtype.kind == "c"
        case Tuple():
            return any(_is_complex(context, item) for item in value.items)
        case Object():
            return any(_is_complex(context, item) for item in storage.entry_of(context, value).items)
        case Static():
            return _is_complex_object(value.value)
    return False


def _is_complex_object(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_complex_object, value))
    if isinstance(value, complex | np.complexfloating) or value is complex:
        return True
    if isinstance(value, np.ndarray | np.dtype):
        return (value if isinstance(value, np.dtype) else value.dtype).kind == "c"
    return isinstance(value, type) and issubclass(value, np.complexfloating)


def _holds_function(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_holds_function, x))
    return callable(x) and not isinstance(x, type)


def as_array(context: Context, value: Value) -> Value:
    """A list that a loop has filled, as the array that NumPy makes from it; any other value unchanged."""
    if context.grown(context.use(value)) is None:
        return value
    return context.new_array(storage.operand(context, value).contents)
