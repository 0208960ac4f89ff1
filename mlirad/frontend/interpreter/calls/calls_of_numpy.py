"""Calls of NumPy's functions, and of pure callables that are evaluated now.

Reads: values. Writes: ops, and arrays given as `out`. Leaves: values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.errors import StaticValueError
from mlirad.frontend.interpreter import indices, iteration, storage
from mlirad.frontend.interpreter.calls.out_arguments import with_array_first, with_out_named
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.numpy import declarations, numpy_calls
from mlirad.frontend.program import purity
from mlirad.frontend.values.sizes import Shape, text
from mlirad.frontend.values.traced import DATA, NeedStatic, is_static, origins_of, shape_of
from mlirad.frontend.values.values import Lazy, Ref, Static, Tuple, Value, is_none


def call_numpy(context: Context, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """A NumPy function: a view, or ops; None for what is no NumPy function that is compiled."""
    if numpy_calls.is_supported(function):
        args, kwargs = with_array_first(function, args, kwargs)
    known = declarations.of(function)
    viewer, place = (known.of_itself if is_uncopied(kwargs) else None) or known.of_view, known.view_of
    if viewer is not None and len(args) > place and isinstance(array := context.use(args[place]), Ref):
        rest = [indices.index_operand(context, arg) for arg in (*args[:place], *args[place + 1 :])]
        named = {name: indices.index_operand(context, value) for name, value in kwargs.items()}
        viewed = indices.viewed(context, array, viewer, *rest, **named)
        if viewed is not None:
            return viewed
    if not numpy_calls.is_supported(function):
        return None
    args, kwargs = with_out_named(function, args, kwargs)
    out = kwargs.pop("out", None)
    operands = [storage.operand(context, arg) for arg in args]
    named = {name: storage.operand(context, value) for name, value in kwargs.items()}
    result = indices.computed(context, lambda: numpy_calls.call(function, tuple(operands), named))
    result = indices.laid_out(context, result, function, args, kwargs)
    if out is None or (isinstance(out, Static) and out.value is None):
        return result
    return stored(context, function, result, out)


def is_uncopied(kwargs: dict[str, Value]) -> bool:
    """Whether a call has copy=False or copy=None."""
    return isinstance(copy := kwargs.get("copy"), Static) and copy.value in (None, False)


def stored(context: Context, function: Any, result: Value, out: Value) -> Value:
    """`out=`: the result is written there; where there are several, each in its own array, or nowhere (None)."""
    out = context.use(out)
    if isinstance(function, np.ufunc) and function.nout > 1 and isinstance(result, Tuple):
        if not isinstance(out, Tuple) or len(out.items) != function.nout:
            raise context.refusal("out= takes a tuple of arrays here", "bind the results to names")
        pairs = zip(result.items, out.items, strict=True)
        return Tuple(tuple(own if is_none(each) else _stored(context, function, own, each) for own, each in pairs))
    return _stored(context, function, result, out)


def _stored(context: Context, function: Any, result: Value, out: Value) -> Value:
    """One result is written in an array."""
    out = context.use(out)
    if isinstance(out, Tuple) and len(out.items) == 1:
        out = out.items[0]
    if not isinstance(out, Ref):
        raise context.refusal("out= takes an array", "bind the result to a name")
    storage.require_writable(context, out)
    given = storage.operand(context, result)
    if not isinstance(function, np.ufunc) and function is not np.clip:
        _require_shape(numpy_calls.spelling(function), shape_of(given), out.shape)
    storage.assign_array(context, out, given, function if isinstance(function, np.ufunc) else np.add)
    return out


def _require_shape(name: str, own: Shape, out: Shape) -> None:
    """Only elementwise functions broadcast what they write into `out`."""
    is_alike = len(own) == len(out) and all(
        a == b for a, b in zip(own, out, strict=True) if isinstance(a, int) and isinstance(b, int)
    )
    if not is_alike:
        raise StaticValueError(
            f"{name}(): the result is of shape {text(own)}, and the array given as out of {text(out)}"
        )


def evaluated_now(context: Context, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """A pure function of Python or NumPy on constants is evaluated by the compiler; any other is refused."""
    if not purity.is_pure(function):
        raise numpy_calls.unsupported(function)
    if args and isinstance(args[0], Lazy) and purity.takes_iterables(function):
        args = (Tuple(iteration.elements(context, args[0])), *args[1:])
    operands = [storage.operand(context, arg) for arg in args]
    named = {key: storage.operand(context, value) for key, value in kwargs.items()}
    name = numpy_calls.spelling(function)
    if not is_static((operands, named)):
        origins = origins_of(operands, list(named.values()))
        known = declarations.of(function)
        if (name.startswith(("np.", "math.")) and not known.is_of_sizes) or known.instead is not None:
            raise numpy_calls.unsupported(function)
        if DATA in origins and not known.is_of_sizes:
            hint = "compute it outside, or from numbers that are known at compile time"
            raise context.refusal(f"{name} is not compiled on values that only the run knows", hint)
        raise NeedStatic(origins, f"an argument of {name}")
    return indices.computed(context, lambda: numpy_calls.evaluated(function, operands, named))
