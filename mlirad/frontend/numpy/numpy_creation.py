"""NumPy functions that make arrays, filled or from nested lists, and casts.

Reads: static shapes and dtypes, and values. Writes: nd ops. Leaves: Traced values, 0-d arrays where NumPy returns
those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.errors import DTypeError, UnsupportedSyntaxError
from mlirad.frontend.numpy.declarations import compiles, declare
from mlirad.frontend.values import nep50
from mlirad.frontend.values.assignment import as_array_of, assignable
from mlirad.frontend.values.basic_indexing import compose
from mlirad.frontend.values.nep50 import dtype_of
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.shapes import order_of
from mlirad.frontend.values.sizes import Dim, Shape, Size, stretched
from mlirad.frontend.values.sizes import full as full_of
from mlirad.frontend.values.traced import (
    DATA,
    Number,
    Traced,
    as_operand,
    as_traced,
    cast,
    is_static,
    of_array,
    origins_of,
    require_static,
    shape_of,
    stand_in,
)
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_contents import put


def shape_from(shape: Any, what: str) -> Shape:
    """The shape that users write: an int or a sequence of ints. Raises NeedStatic, and NumPy's errors.

    A size that depends on data stays a run-time size: nothing can make it known.
    """
    entries = shape if isinstance(shape, tuple | list) else (shape,)
    if any(DATA in origins_of(entry) for entry in entries):
        return tuple(run_size(entry, what) for entry in entries)
    require_static(shape, f"the shape of {what}")
    with numpys_refusal():
        return np.broadcast_to(np.empty(()), shape).shape if not _is_negative(shape) else np.empty(shape).shape


def run_size(entry: Any, what: str) -> Size:
    if not isinstance(entry, Traced):
        return shape_from(entry, what)[0]
    if DATA not in entry.origins:
        require_static(entry, f"the shape of {what}")
    if entry.ndim or entry.kind is not int:
        kind = "numpy.ndarray" if entry.ndim else "float" if entry.kind is float else "bool"
        raise DTypeError(f"{kind!r} object cannot be interpreted as an integer")
    size = cast_expr(entry.scalar, types.I64)
    check(size >= 0, "ValueError", "negative dimensions are not allowed")
    return Dim(size, entry.origins)


def _is_negative(shape: Any) -> bool:
    return any(size < 0 for size in (shape if isinstance(shape, tuple | list) else (shape,)) if isinstance(size, int))


def check_order_of_new(order: Any) -> None:
    """Refuse an invalid order of a new array; only views know the layout of elements in memory."""
    asked: Any = order_of(order, "C")
    with numpys_refusal():
        np.empty(0, order=asked)


def filled(value: Expr, shape: Shape) -> Traced:
    """An array filled with one number."""
    return Traced(full_of(value, shape), zero_d=not shape)


def _filled_with(number: int) -> tuple[Callable[..., Traced], Callable[..., Traced]]:
    """np.zeros, np.ones and np.empty (which is zeros); and their *_like."""

    def of_shape(shape: Any, dtype: Any = float, order: Any = "C") -> Traced:
        check_order_of_new(order)
        element = types.from_dtype(dtype_of(dtype))
        return filled(constant(number, element), shape_from(shape, "an array"))

    def like(a: Any, dtype: Any = None, order: Any = "K", *, shape: Any = None) -> Traced:
        model = as_operand(a)
        dtype = nep50.strong(stand_in(model)) if dtype is None else dtype
        order_of(order, "K")
        if shape is not None:
            return of_shape(shape, dtype)
        return filled(constant(number, types.from_dtype(dtype_of(dtype))), shape_of(model))

    return of_shape, like


zeros, zeros_like = _filled_with(0)
ones, ones_like = _filled_with(1)
declare(np.zeros, np.empty, of_values=zeros, is_made=True, is_row_major=True)
declare(np.ones, of_values=ones, is_made=True, is_row_major=True)
declare(np.zeros_like, np.empty_like, of_values=zeros_like, is_made=True)
declare(np.ones_like, of_values=ones_like, is_made=True)


@compiles(np.full, is_made=True, is_row_major=True)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Traced:
    check_order_of_new(order)
    return _full(shape_from(shape, "np.full"), fill_value, dtype)


def _full(sizes: Shape, fill_value: Any, dtype: Any) -> Traced:
    value = as_operand(fill_value)
    asked = nep50.strong(stand_in(value)) if dtype is None else dtype_of(dtype)
    if not shape_of(value):
        number = assignable(as_array_of(value), (), asked, casts_scalars=True)
        return Traced(filled(number, sizes).expr, zero_d=not sizes, origins=origins_of(value))
    return Traced(assignable(value, sizes, asked))


@compiles(np.full_like, is_made=True)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", *, shape: Any = None) -> Any:
    model = as_operand(a)
    dtype = nep50.strong(stand_in(model)) if dtype is None else dtype
    sizes = shape_of(model) if shape is None else shape_from(shape, "np.full_like")
    order_of(order, "K")
    return _full(sizes, fill_value, dtype)


@compiles(np.ndarray, is_made=True)
def ndarray(shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None) -> Traced:
    """`np.ndarray(shape)`, like np.empty."""
    if buffer is not None or strides is not None or not is_static(offset) or offset != 0:
        raise UnsupportedSyntaxError("np.ndarray is supported with a shape and a dtype only", hint="use np.empty")
    return zeros(shape, dtype)


# --- from lists -------------------------------------------------------------------------------------------------


@compiles(np.array, np.asarray, np.asanyarray)
def array(x: Any, dtype: Any = None, copy: Any = None, order: Any = "K", ndmin: int = 0) -> Traced:
    """`np.array(x)` for a number, an array, or nested lists of them."""
    del copy  # a value is a copy
    order_of(order, "K")
    require_static(ndmin, "ndmin")
    if isinstance(x, list | tuple):
        made = _of_nested(x, None if dtype is None else dtype_of(dtype))
    else:
        made = as_array(x, dtype)
    if made.ndim < ndmin:
        shape = (1,) * (ndmin - made.ndim) + made.shape
        made = Traced(stretched(made.expr, shape), origins=made.origins)
    return made


@compiles(np.asfortranarray, has_own_layout=True)
@compiles(np.ascontiguousarray, is_row_major=True)
def contiguous(a: Any, dtype: Any = None) -> Traced:
    return array(a, dtype, ndmin=1)


def as_array(x: Any, dtype: Any = None) -> Traced:
    """A value as an array: 0-d if it was a number."""
    value = as_operand(x)
    asked = nep50.strong(stand_in(value)) if dtype is None else dtype_of(dtype)
    if shape_of(value):
        return cast(value, asked)
    return Traced(assignable(value, (), asked, casts_scalars=True), zero_d=True, origins=origins_of(value))


def _of_nested(x: list[Any] | tuple[Any, ...], dtype: np.dtype | None) -> Traced:
    with numpys_refusal():
        asked = np.array(_model(x), dtype=dtype)
        if dtype is None and np.array(_model(x, as_first=True)).dtype != asked.dtype:
            found = (y.either or y.several for _, y in _leaves(x, ()) if isinstance(y, Traced))
            raise PoisonUsed(next(y.poison for y in found if y is not None))
    found = nep50.require_dtype(asked.dtype, "an array of these values")
    element = types.from_dtype(found)
    leaves = list(_leaves(x, ()))
    known = np.zeros(asked.shape, found)
    for place, leaf in leaves:
        if not isinstance(leaf, Traced):
            with numpys_refusal():
                known[place] = leaf
    if all(not isinstance(leaf, Traced) for _, leaf in leaves):
        return of_array(known)
    whole = View.of(asked.shape, found)
    contents = filled(constant(0, element), asked.shape).expr if not known.any() else of_array(known).expr
    for place, leaf in leaves:
        if isinstance(leaf, Traced):
            contents = put(compose(whole, place), contents, assignable(leaf, leaf.shape, found))
    return Traced(contents)


def _model(x: Any, as_first: bool = False) -> Any:
    """A stand-in for x in questions to NumPy: ones with the same shape and dtype.

    as_first: whether a number that may have several classes has the first of them: Python's before NumPy's.
    """
    if isinstance(x, list | tuple):
        return [_model(item, as_first) for item in x]
    if not isinstance(x, Traced):
        return x
    if as_first and (undecided := x.several or x.either) is not None:
        return undecided.kinds[0](1)
    if x.weak:
        return x.kind(1)
    return np.broadcast_to(np.ones((), x.dtype), x.static_shape("np.array")) if x.is_array else x.dtype.type(1)


def _leaves(x: Any, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Traced | Number | np.ndarray]]:
    if isinstance(x, list | tuple):
        for index, item in enumerate(x):
            yield from _leaves(item, (*place, index))
    else:
        yield place, x


# --- casts ------------------------------------------------------------------------------------------------------


@compiles(method="astype")
def astype(x: Any, dtype: Any, order: Any = "K", casting: str = "unsafe", copy: bool = True) -> Traced:
    del copy  # a value is a copy
    order_of(order, "K")
    value = as_traced(x)
    target = dtype_of(dtype)
    if not nep50.may_cast(value.dtype, target, casting):
        raise DTypeError(f"Cannot cast array data from {value.dtype!r} to {target!r} according to the rule {casting!r}")
    return cast(value, target)


@compiles(np.astype)
def astype_of_array(x: Any, dtype: Any, *, copy: bool = True) -> Traced:
    """`np.astype(x, dtype)`; x may not be a list or a Python number."""
    if not isinstance(x, np.ndarray | np.generic) and not (isinstance(x, Traced) and not x.weak):
        raise DTypeError("np.astype(): its argument is an array, or a number of NumPy's")
    return astype(x, dtype, copy=copy)


@compiles(np.copy)
def copy(x: Any, order: Any = "K") -> Traced:
    """`np.copy(x)`: always an array."""
    order_of(order, "K")
    return as_array(x)


@compiles(method="copy", is_row_major=True)
def duplicate(x: Traced, order: Any = "C") -> Traced:
    """`x.copy()`; the copy of a scalar is a scalar."""
    order_of(order, "K")
    return Traced(x.expr, zero_d=x.zero_d, origins=x.origins)


def caster(scalar_type: type[np.generic]) -> Callable[[Any], Traced]:
    """`np.float64(x)` and similar: a NumPy scalar for a number, an array for an array."""

    def of_value(x: Any = 0) -> Traced:
        value = as_traced(x)
        made = cast(value, dtype_of(scalar_type))
        return Traced(made.expr, zero_d=False, origins=made.origins)

    return of_value


for scalar_type in (
    *(np.complex128, np.complex64, np.float64, np.float32, np.float16, np.bool_),
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.longlong, np.ulonglong),  # classes of their own, of the same dtypes
):
    declare(scalar_type, of_values=caster(scalar_type))
