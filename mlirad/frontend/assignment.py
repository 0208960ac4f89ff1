"""What may be stored in an array: values broadcast and cast to it, by NumPy's rules for `=` and for `+=`.

Reads: values; the target's shape and dtype. Writes: nd ops. Leaves: an Expr of the target's shape and dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.dialect import types
from mlirad.dialect.check import check
from mlirad.dialect.compare import cast as cast_expr
from mlirad.dialect.expr import Expr, apply
from mlirad.dialect.movement import reshape
from mlirad.errors import DTypeError, ShapeError, StaticValueError
from mlirad.frontend.promotion import numpys_refusal, strong
from mlirad.frontend.sizes import Shape, filled, is_static, require_broadcast, stretched, text
from mlirad.frontend.traced import Number, Traced, as_operand, check_range, shape_of, stand_in


def assignable(value: Any, shape: Shape, dtype: np.dtype, in_place: np.ufunc | None = None) -> Expr:
    """`value` as what `target[...] = value` stores in a target of `shape` and `dtype`: a scalar for the shape ().

    in_place: the ufunc of an augmented assignment, of which `value` is the result; then the value's shape must not be
    larger, and its dtype must be of the same kind. Raises what NumPy raises.
    """
    operand = as_operand(value)
    if in_place is not None:
        check_in_place(operand, shape, dtype, in_place)
    own = shape_of(operand)
    if own and not shape:
        raise StaticValueError("setting an array element with a sequence.")
    extra = max(len(own) - len(shape), 0)
    message = "could not broadcast input array from shape {own} into shape {shape}"
    if any(size != 1 for size in own[:extra]) or not require_broadcast(own[extra:], shape, message):
        raise ShapeError(message.format(own=text(own), shape=text(shape)))
    if not isinstance(operand, Traced):
        return filled(_stored(operand, dtype), shape, types.from_dtype(dtype))
    expr = _cast_to_store(operand, dtype)
    return stretched(reshape(expr, types.of_shape(expr.shape[extra:], expr.element)), shape)


def check_in_place(value: Traced | Number, shape: Shape, dtype: np.dtype, ufunc: np.ufunc) -> None:
    """Raise what NumPy raises where a ufunc's result does not fit in the array that it is to be written in."""
    own = shape_of(value)
    if not require_broadcast(own, shape, "operands could not be broadcast together with shapes {shape} {own}"):
        wide = text(np.broadcast_shapes(own, shape)) if is_static((*own, *shape)) else text(own)  # type: ignore[arg-type]
        raise ShapeError(
            f"non-broadcastable output operand with shape {text(shape)} doesn't match the broadcast shape {wide}"
        )
    source = strong(stand_in(value))
    if not np.can_cast(source, dtype, "same_kind"):
        raise DTypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {source!r} to {dtype!r} with casting rule 'same_kind'"
        )


def _stored(value: Number, dtype: np.dtype) -> np.ndarray:
    """A number in an array of `dtype`; NumPy refuses nan in integers, and Python ints out of range."""
    target = np.zeros((), dtype)
    with numpys_refusal():
        target[()] = value
    return target


def _cast_to_store(value: Traced, dtype: np.dtype) -> Expr:
    element = types.from_dtype(dtype)
    if value.ndim:
        return cast_expr(value.expr, element)
    expr = value.scalar
    if dtype.kind in "iu":
        if types.is_float(expr.type):
            check_integral(expr)
        elif value.weak and value.kind is int and dtype != np.int64:
            check_range(expr, dtype)
    return cast_expr(expr, element)


def check_integral(x: Expr) -> None:
    """At run time what Python's int(x) raises, unless the float x has an integer part of 64 bits."""
    check(apply(np.equal, x, x), "ValueError", "cannot convert float NaN to integer")
    check(apply(np.absolute, x) < 2.0**63, "OverflowError", "cannot convert a float of 2**63 or more to an integer")
