"""NumPy functions that move elements: views read as values; arrays joined, split and sorted.

Reads: values; static shapes, axes and counts. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from mlirad.dialect.arrays import sort as sort_ops
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.movement import TransposeOp, reshape
from mlirad.errors import DTypeError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy.declarations import compiles, declare
from mlirad.frontend.numpy.numpy_creation import filled
from mlirad.frontend.numpy.view_functions import ViewFunction, flattened, flipped
from mlirad.frontend.values import affine, nep50, shapes, sizes
from mlirad.frontend.values.basic_indexing import compose
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.traced import (
    DATA,
    Traced,
    as_operand,
    as_traced,
    cast,
    is_static,
    require_axis,
    require_static,
    shape_of,
    visible,
    visible_shape,
)
from mlirad.frontend.values.views.row_major import c_strides
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_contents import get, put
from mlirad.library.primitives import fixed, is_fixed


@cache
def of_view_function(function: ViewFunction) -> Callable[..., Traced]:
    """A function that makes a view, on values: a value has no layout, so the view always exists."""

    def of_value(a: Any, *args: Any, **kwargs: Any) -> Traced:
        x = as_traced(a)
        view = function(View.of(x.shape, x.dtype), *args, **kwargs)
        if view is None:
            in_fortran_order = c_strides(x.shape[::-1])[::-1]
            view = function(View.of(x.shape, x.dtype, in_fortran_order), *args, **kwargs)
        assert view is not None
        return Traced(get(view, x.contents), zero_d=not view.shape, origins=x.origins)

    return of_value


declare(method="flatten", of_values=of_view_function(flattened), is_row_major=True)


def part(x: Traced, index: Any) -> Expr:
    """x[index], for static ints and slices."""
    return get(compose(View.of(x.shape, x.dtype), index), x.contents)


@compiles(np.flip)
def flip(m: Any, axis: Any = None) -> Traced:
    x = as_traced(m)
    if flipped(View.of(x.shape, x.dtype), axis) is None:
        return Traced(x.scalar, origins=x.origins)
    return of_view_function(flipped)(x, axis)


@compiles(is_fixed)
def is_known(size: Any) -> bool:
    """Whether a size is known at compile time."""
    return is_static(size)


@compiles(fixed)
def known(count: Any) -> Any:
    """A count. Raises NeedStatic."""
    return require_static(count, "a number of elements")


@compiles(np.size)
def size(a: Any, axis: Any = None) -> int | Traced:
    """`np.size`: the number of elements, in all or along some axes."""
    own = as_traced(a).shape
    require_axis(axis, "np.size")
    with numpys_refusal():
        axes = range(len(own)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, len(own))
    return visible(sizes.total([own[axis] for axis in axes]))


def flat(x: Traced) -> Traced:
    """The elements in row-major order."""
    size = prod(x.static_shape("a function of the flattened array"))
    return Traced(reshape(x.contents, _vector(x, size)))


def _vector(x: Traced, size: int) -> Any:
    return types.tensor((size,), x.expr.element)


# --- joining ----------------------------------------------------------------------------------------------------


def _as_arrays(arrays: Any) -> list[Traced]:
    """The arrays of a list, or the rows of an array."""
    if isinstance(arrays, Traced):
        return [Traced(part(arrays, i), zero_d=arrays.ndim == 1) for i in range(len(arrays))]
    return [as_traced(x) for x in arrays]


def _require_rows(count: sizes.Size) -> None:
    """Raise ValueError unless there are arrays to stack."""
    message = "need at least one array to stack"
    if not isinstance(count, sizes.Dim):
        if not count:
            raise StaticValueError(message)
    elif not affine.is_at_least(count.expr, 1):
        check(count.expr > 0, "ValueError", message)


def _is_rows(arrays: Any, rank: int) -> bool:
    """Whether the arrays are the rows of an array with at least this rank, so that their number does not matter."""
    return isinstance(arrays, Traced) and arrays.ndim >= rank


@compiles(np.concatenate, positional=("arrays", "axis", "out"))
def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None, casting: str = "same_kind") -> Traced:
    if _is_rows(arrays, 2) and is_static(axis) and axis == 0 and dtype is None and sizes.is_static(arrays.shape):
        count, length, *rest = arrays.shape
        return Traced(reshape(arrays.expr, types.tensor((count * length, *rest), arrays.expr.element)))
    values = _as_arrays(arrays)
    _require_casts(values, dtype, casting)
    return _joined(values, axis, dtype, np.concatenate)


def _require_casts(values: Sequence[Traced], dtype: Any, casting: str) -> None:
    """Raise TypeError unless all arrays may be cast to the requested dtype."""
    target = None if dtype is None else nep50.dtype_of(dtype)
    for x in values:
        if target is not None and not nep50.may_cast(x.dtype, target, casting):
            raise DTypeError(f"Cannot cast array data from {x.dtype!r} to {target!r} according to the rule {casting!r}")


def _joined(values: Sequence[Traced], axis: Any, dtype: Any, function: Callable[..., Any]) -> Traced:
    """Join the arrays along an axis; errors name `function`."""
    require_axis(axis, "np.concatenate")
    if not all(sizes.is_static(x.shape) for x in values):
        lines = values if axis is not None else [x if x.ndim == 1 else flat(x) for x in values]
        return _joined_at_run_time(lines, 0 if axis is None else axis, dtype, function)
    with numpys_refusal():
        shadows = [np.broadcast_to(np.ones((), x.dtype), x.static_shape("np.concatenate")) for x in values]
        asked = function(shadows, axis=axis)
    found = nep50.require_dtype(asked.dtype, "a concatenation") if dtype is None else nep50.dtype_of(dtype)
    values = [cast(x, found) for x in values]
    if axis is None:
        values = [flat(x) for x in values]
    place = 0 if axis is None else shapes.normalize_axis(axis, asked.ndim)
    whole = View.of(asked.shape, found)
    contents = filled(constant(0, types.from_dtype(found)), asked.shape).expr
    begin = 0
    for x in values:
        end = begin + x.shape[place]
        contents = put(compose(whole, (slice(None),) * place + (slice(begin, end),)), contents, x.expr)
        begin = end
    return Traced(contents)


def _joined_at_run_time(values: Sequence[Traced], axis: int, dtype: Any, function: Callable[..., Any]) -> Traced:
    """Join arrays with run-time sizes along an axis."""
    with numpys_refusal():
        asked = function([np.ones((1,) * x.ndim, x.dtype) for x in values], axis=axis)
    found = nep50.require_dtype(asked.dtype, "a concatenation") if dtype is None else nep50.dtype_of(dtype)
    place, first = shapes.normalize_axis(axis, asked.ndim), values[0].shape
    for number, x in enumerate(values[1:], 1):
        for other in range(asked.ndim):
            if other != place:
                _require_match(first[other], x.shape[other], other, number)
    total: affine.Int = 0
    for x in values:
        total = affine.add(total, sizes.value_of(x.shape[place]))
    length = sizes.as_size(total, sizes.origins_of([x.shape[place] for x in values]))
    shape = (*first[:place], length, *first[place + 1 :])
    whole = View.of(shape, found)
    contents = filled(constant(0, types.from_dtype(found)), shape).expr
    begin: affine.Int = 0
    for x in values:
        size = x.shape[place]
        starts = [begin if other == place else 0 for other in range(asked.ndim)]
        part = whole.affine(range(asked.ndim), starts, (*shape[:place], size, *shape[place + 1 :]))
        contents = put(part, contents, sizes.fitted(cast(x, found).expr, part.shape))
        begin = affine.add(begin, sizes.value_of(size))
    return Traced(contents, origins=frozenset({DATA}))


def _require_match(first: sizes.Size, other: sizes.Size, axis: int, number: int) -> None:
    message = (
        "all the input array dimensions except for the concatenation axis must match exactly, but along dimension "
        f"{axis}, the array at index 0 has size {{0}} and the array at index {number} has size {{1}}"
    )
    if isinstance(first, int) and isinstance(other, int):
        if first != other:
            raise StaticValueError(message.format(first, other))
        return
    sizes.require_equal(first, other, message)


def _with_axis(x: Traced, axis: int) -> Traced:
    shape = (*x.expr.shape[:axis], 1, *x.expr.shape[axis:])
    return Traced(reshape(x.expr, types.tensor(shape, x.expr.element)), origins=x.origins)


@compiles(np.stack)
def stack(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    if dtype is None and _is_rows(arrays, 1) and is_static(axis):
        _require_rows(arrays.shape[0])
        place = shapes.normalize_axis(axis, arrays.ndim)
        order = [*range(1, place + 1), 0, *range(place + 1, arrays.ndim)]
        moved = emit(TransposeOp, arrays.expr, permutation=order) if place else arrays.expr
        return Traced(moved, origins=arrays.origins)
    values = _as_arrays(arrays)
    require_axis(axis, "np.stack")
    with numpys_refusal():
        np.stack([np.broadcast_to(np.ones(()), x.static_shape("np.stack")) for x in values], axis)
    place = shapes.normalize_axis(axis, values[0].ndim + 1)
    _require_casts(values, dtype, casting)
    return _joined([_with_axis(x, place) for x in values], place, dtype, np.concatenate)


# --- sorting -----------------------------------------------------------------------------------------------------

_KINDS = {
    None: sort_ops.QUICKSORT,
    "quicksort": sort_ops.QUICKSORT,
    "stable": sort_ops.STABLE,
    "mergesort": sort_ops.STABLE,
}


@compiles(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Traced:
    x = as_traced(a)
    # The sorted values are the same for each algorithm.
    order = _kind("np.sort", None if kind == "heapsort" else kind, stable)
    x = flat(x) if axis is None and x.ndim != 1 else x
    return _along(x, axis, lambda rows: emit(sort_ops.SortOp, rows, kind=order))


@compiles(np.argsort, method="argsort", is_row_major=True)
def argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Traced:
    x = as_traced(a)
    order = _kind("np.argsort", kind, stable)
    x = flat(x) if not x.ndim or (axis is None and x.ndim != 1) else x
    return _along(x, axis, lambda rows: emit(sort_ops.ArgsortOp, rows, kind=order))


def _kind(function: str, kind: Any, stable: Any) -> str:
    require_static((kind, stable), f"the kind of {function}")
    if stable is not None:
        if kind is not None:
            message = "`kind` and keyword parameters can't be provided at the same time. Use only one of them."
            raise StaticValueError(message)
        return sort_ops.STABLE if stable else sort_ops.QUICKSORT
    if not isinstance(kind, str | None) or kind not in _KINDS:
        names = ", ".join(repr(name) for name in _KINDS if name)
        raise UnsupportedSyntaxError(f"{function}(kind={kind!r}) is not compiled", hint=f"the kinds are {names}")
    return _KINDS[kind]


def _along(x: Traced, axis: Any, function: Callable[[Expr], Expr]) -> Traced:
    """Apply a function of the last axis along another one."""
    require_axis(axis, "a sort")
    place = -1 % x.ndim if axis is None else shapes.normalize_axis(axis, x.ndim)
    order = [*(each for each in range(x.ndim) if each != place), place]
    if place == x.ndim - 1:
        return Traced(function(x.contents), origins=frozenset({DATA}))
    rows = function(emit(TransposeOp, x.contents, permutation=order))
    back = [order.index(each) for each in range(x.ndim)]
    return Traced(emit(TransposeOp, rows, permutation=back), origins=frozenset({DATA}))


# --- questions --------------------------------------------------------------------------------------------------


@compiles(np.shape)
def shape(a: Any) -> Any:
    return visible_shape(shape_of(as_operand(a)))


@compiles(np.ndim)
def ndim(a: Any) -> int:
    return len(shape_of(as_operand(a)))
