"""Checks, broadcasts and casts values that are stored in an array, by NumPy's rules for `=` and `+=`.

Reads: values; the target's shape and dtype. Writes: nd ops. Leaves: an Expr of the target's shape and dtype.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply
from mlirad.dialect.core.intervals import HIGHEST
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import as_dtype
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError, ShapeError, StaticValueError
from mlirad.frontend.values import nep50
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.sizes import Shape, filled, is_static, require_broadcast, stretched, text
from mlirad.frontend.values.traced import Number, Traced, as_operand, check_range, shape_of, stand_in


def assignable(
    value: Any, shape: Shape, dtype: np.dtype, in_place: np.ufunc | None = None, casts_scalars: bool = False
) -> Expr:
    """The value that `target[...] = value` stores in a target of `shape` and `dtype`: a scalar for the shape ().

    casts_scalars: whether NumPy's scalars are cast as arrays are, instead of checked as Python's numbers are.

    in_place: the ufunc of an augmented assignment, with `value` as its result. Then the value's shape must not be
    larger, and its dtype must be of the same kind. Raises what NumPy raises.
    """
    operand = as_operand(value, dtype)  # NumPy makes no array of another dtype from a list first
    if in_place is not None:
        check_in_place(operand, shape, dtype, in_place)
    own = shape_of(operand)
    if own and not shape:
        hint = "write to the whole array, y[:] = x, or store one element of x"
        raise StaticValueError("setting an array element with a sequence.", hint=hint)
    extra = max(len(own) - len(shape), 0)
    message = "could not broadcast input array from shape {own} into shape {shape}"
    if any(size != 1 for size in own[:extra]) or not require_broadcast(own[extra:], shape, message):
        raise ShapeError(message.format(own=text(own), shape=text(shape)))
    if not isinstance(operand, Traced):
        return filled(_stored(operand, dtype, casts_scalars), shape, types.from_dtype(dtype))
    expr = _cast_to_store(operand, dtype, casts_scalars or in_place is not None)
    return stretched(reshape(expr, types.of_shape(expr.shape[extra:], expr.element)), shape)


def check_in_place(value: Traced | Number, shape: Shape, dtype: np.dtype, ufunc: np.ufunc) -> None:
    """Raise NumPy's error if a ufunc's result does not fit in the array that it is written to."""
    own = shape_of(value)
    if not require_broadcast(own, shape, "operands could not be broadcast together with shapes {shape} {own}"):
        wide = text(np.broadcast_shapes(own, shape)) if is_static((*own, *shape)) else text(own)
        raise ShapeError(
            f"non-broadcastable output operand with shape {text(shape)} doesn't match the broadcast shape {wide}"
        )
    source = nep50.strong(stand_in(value))
    if not nep50.may_cast(source, dtype, "same_kind"):
        raise DTypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {source!r} to {dtype!r} with casting rule 'same_kind'",
            hint="begin with an array of the result's dtype, or make a new one: y = y + x in place of y += x",
        )


def as_array_of(value: Traced | Number) -> Traced | Number:
    """A number as np.full and np.copyto take it: a Python float, unlike a Python int, is cast like an array."""
    if isinstance(value, Traced):
        is_number = value.weak or value.either is not None
        return replace(value, weak=False, zero_d=True, either=None) if is_number and value.kind is float else value
    return np.float64(value) if type(value) is float else value


def _stored(value: Number, dtype: np.dtype, casts_scalars: bool) -> np.ndarray:
    """A number in an array of `dtype`; like NumPy, it refuses nan in integers and integers out of range."""
    if casts_scalars and isinstance(value, np.generic):
        return as_dtype(np.asarray(value), dtype)
    target = np.zeros((), dtype)
    with numpys_refusal():
        target[()] = value
    return target


def _cast_to_store(value: Traced, dtype: np.dtype, casts_scalars: bool) -> Expr:
    """A traced value in the dtype of the array that it is stored in, checked as NumPy checks it."""
    element = types.from_dtype(dtype)
    if value.ndim:
        return cast_expr(value.expr, element)
    expr = value.scalar
    if value.weak and value.kind is complex and dtype.kind in "iuf":
        raise DTypeError("must be real number, not complex", hint="store z.real")
    if nep50.is_cast_in_store(stand_in(value), dtype, is_array=value.zero_d, casts_scalars=casts_scalars):
        return cast_expr(expr, element)
    if value.kind is float:
        return _float_to_store(expr, dtype)
    _check_integer(expr, value.dtype, dtype)
    return cast_expr(expr, element)


def _check_integer(x: Expr, source: np.dtype, dtype: np.dtype) -> None:
    if source == np.uint64:
        check(x <= HIGHEST, "OverflowError", "Python int too large to convert to C long")
    if dtype != np.int64:
        check_range(cast_expr(x, types.I64), dtype)


def _float_to_store(x: Expr, dtype: np.dtype) -> Expr:
    element = types.from_dtype(dtype)
    if dtype == np.uint64:
        check(apply(np.equal, x, x), "ValueError", "cannot convert float NaN to integer")
        check((x > -1.0) & (x < 2.0**64), "OverflowError", "a float out of bounds for uint64")
        return cast_expr(x, element)
    check_integral(x)
    integer = cast_expr(x, types.I64)
    if dtype != np.int64:
        check_range(integer, dtype)
    return cast_expr(integer, element)


def check_integral(x: Expr) -> None:
    """Raise at run time, as Python's int(x) does, unless the integer part of the float x fits in 64 bits."""
    check(apply(np.equal, x, x), "ValueError", "cannot convert float NaN to integer")
    fits = (x >= -(2.0**63)) & (x < 2.0**63)
    check(fits, "OverflowError", "a float out of the range of 64-bit integers cannot be converted to one")
