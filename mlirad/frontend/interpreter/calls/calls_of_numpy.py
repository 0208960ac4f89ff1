"""Calls of NumPy's functions, and of pure callables that are evaluated now.

Reads: values. Writes: ops, and arrays given as `out`. Leaves: values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.errors import StaticValueError
from mlirad.frontend.interpreter import consuming, indices, storage
from mlirad.frontend.interpreter.calls.out_arguments import (
    require_dtype_of_out,
    with_array_first,
    with_out_named,
    without_inert,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.numpy import declarations, numpy_calls, numpy_elementwise
from mlirad.frontend.program import purity
from mlirad.frontend.values import nep50
from mlirad.frontend.values.assignment import assignable
from mlirad.frontend.values.sizes import Shape, text
from mlirad.frontend.values.traced import DATA, NeedStatic, as_operand, cast, is_static, origins_of, shape_of, stand_in
from mlirad.frontend.values.values import Lazy, Ref, Static, Tuple, Value, is_none

_TRUE = Static(True)


def call_numpy(context: Context, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """A call of a NumPy function: a view, or ops; None if it is no NumPy function that is compiled."""
    if numpy_calls.is_supported(function):
        args, kwargs = with_array_first(function, args, without_inert(function, kwargs))
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
    out = kwargs.pop("out", Static(None))
    where = kwargs.pop("where", _TRUE) if _takes_where(function) else _TRUE
    operands = [storage.operand(context, arg) for arg in args]
    named = {name: storage.operand(context, value) for name, value in kwargs.items()}
    made = indices.computed(context, lambda: numpy_calls.call(function, tuple(operands), named))
    if not is_none(out):
        return stored(context, function, made, out, where, named.get("casting", "same_kind"))
    if where != _TRUE:
        made = _where_else_zero(context, made, storage.operand(context, where))
    return indices.laid_out(context, made, function, args, kwargs)


def _takes_where(function: Any) -> bool:
    """Whether a function takes `where=`: elementwise ufuncs do, others (np.matmul) do not."""
    return isinstance(function, np.ufunc) and function.signature is None


def _where_else_zero(context: Context, made: Value, mask: Any) -> Value:
    """A ufunc's result with `where=` and no `out=`. Elements that NumPy leaves uninitialised are 0, as in np.empty."""
    if isinstance(made, Tuple):
        return Tuple(tuple(_where_else_zero(context, each, mask) for each in made.items))
    numpy_elementwise.require_mask(mask)
    result = storage.operand(context, made)
    return indices.computed(
        context, lambda: numpy_calls.call(np.where, (mask, result, nep50.strong(stand_in(result)).type(0)))
    )


def is_uncopied(kwargs: dict[str, Value]) -> bool:
    """Whether a call has copy=False or copy=None, or NumPy's equivalent."""
    copy = kwargs.get("copy")
    return isinstance(copy, Static) and copy.value in (None, False, np._CopyMode.IF_NEEDED, np._CopyMode.NEVER)


def stored(
    context: Context, function: Any, result: Value, out: Value, where: Value = _TRUE, casting: str = "same_kind"
) -> Value:
    """`out=`: write the result there where `where` is true; each of several results into its own array, or nowhere
    (None)."""
    out = context.use(out)
    if isinstance(function, np.ufunc) and function.nout > 1 and isinstance(result, Tuple):
        if not isinstance(out, Tuple) or len(out.items) != function.nout:
            raise context.refusal("out= takes a tuple of arrays here", "bind the results to names")
        pairs = zip(result.items, out.items, strict=True)
        parts = (own if is_none(each) else _stored(context, function, own, each, where, casting) for own, each in pairs)
        return Tuple(tuple(parts))
    return _stored(context, function, result, out, where, casting)


def _stored(context: Context, function: Any, result: Value, out: Value, where: Value, casting: str) -> Value:
    """Write one result into an array."""
    out = context.use(out)
    if isinstance(out, Tuple) and len(out.items) == 1:
        out = out.items[0]
    if not isinstance(out, Ref):
        raise context.refusal("out= takes an array", "bind the result to a name")
    storage.require_writable(context, out)
    given = storage.operand(context, result)
    if casting == "unsafe":
        given = cast(as_operand(given), out.dtype)
    require_dtype_of_out(function, nep50.strong(stand_in(given)), out.dtype)
    if not isinstance(function, np.ufunc) and function is not np.clip:
        _require_shape(numpy_calls.spelling(function), shape_of(given), out.shape)
    ufunc = function if isinstance(function, np.ufunc) else np.add
    if where == _TRUE:
        storage.assign_array(context, out, given, ufunc)
    else:
        mask = storage.operand(context, where)
        numpy_elementwise.require_mask(mask)
        storage.write_where(context, out, assignable(given, out.shape, out.dtype, ufunc), mask)
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
    """Evaluate a pure function of Python or NumPy on constants in the compiler; refuse any other."""
    if not purity.is_pure(function):
        raise numpy_calls.unsupported(function)
    if args and isinstance(args[0], Lazy) and purity.takes_iterables(function):
        args = (Tuple(consuming.elements(context, args[0])), *args[1:])
    operands = [storage.operand(context, arg) for arg in args]
    named = {key: storage.operand(context, value) for key, value in kwargs.items()}
    name = numpy_calls.spelling(function)
    if not is_static((operands, named)):
        origins = origins_of(operands, list(named.values()))
        known = declarations.of(function)
        if name.startswith(("np.", "math.")) and not known.is_of_sizes:
            raise numpy_calls.unsupported(function)
        if DATA in origins and not known.is_of_sizes:
            hint = "compute it outside, or from numbers that are known at compile time"
            raise context.refusal(f"{name} is not compiled on values known only at run time", hint)
        raise NeedStatic(origins, f"an argument of {name}")
    return indices.computed(context, lambda: numpy_calls.evaluated(function, operands, named))
