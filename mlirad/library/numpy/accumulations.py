"""Cumulative sums and products; methods of ufuncs that combine the elements along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from mlirad.library.numpy.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.cumsum", method="cumsum", complex=True)
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _accumulated(np.add, a, axis, dtype)


@spells("numpy.cumprod", method="cumprod", complex=True)
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _accumulated(np.multiply, a, axis, dtype)


@spells(ufunc_method="accumulate", complex=True)
def accumulate(ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """`np.maximum.accumulate` and similar methods."""
    x = np.asarray(array)
    place = _only_axis(axis, x.ndim, "accumulate")
    if dtype is not None or (ufunc is not np.add and ufunc is not np.multiply):
        dtype = _dtype_of(ufunc, x, dtype, is_accumulated=True)
    return _accumulated(ufunc, x, place, dtype)


def _only_axis(axis: Any, rank: int, method: str) -> Any:
    """The axis of a method with a single axis: a number, a tuple of one, or None if there is no other axis."""
    if isinstance(axis, tuple):
        for each in axis:
            if each is None:
                raise TypeError("'NoneType' object cannot be interpreted as an integer")
            require_axis(each)
        normalize_axis_tuple(axis, rank)
        if len(axis) != 1:
            raise ValueError(f"{method} does not allow multiple axes")
        return axis[0]
    require_axis(axis)
    if axis is not None:
        normalize_axis_index(axis, max(rank, 1))
    if rank == 0:
        raise TypeError(f"cannot {method} on a scalar")
    if axis is None and rank > 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return 0 if axis is None else axis


def _accumulated(combine: np.ufunc, a: Any, axis: Any, dtype: Any) -> Any:
    """Accumulate into an array with the operand's layout, in the dtype of a sum."""
    require_axis(axis)
    x = np.ravel(a) if axis is None else np.atleast_1d(a)
    if dtype is None:
        dtype = np.sum(np.zeros(0, x.dtype)).dtype
    x = x.astype(dtype)
    made, along = np.empty_like(x), 0 if axis is None else axis
    before, after = np.rollaxis(x, along), np.rollaxis(made, along)
    if len(before):
        after[0] = before[0]
    for k in range(1, len(before)):
        after[k] = combine(after[k - 1], before[k])
    return made


@spells("numpy.cumulative_sum", complex=True)
def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _cumulative(np.add, x, axis, dtype, include_initial)


@spells("numpy.cumulative_prod", complex=True)
def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _cumulative(np.multiply, x, axis, dtype, include_initial)


def _cumulative(ufunc: Any, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    if axis is None and np.ndim(x) > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    lines = np.atleast_1d(x)
    place = _only_axis(0 if axis is None else axis, lines.ndim, "accumulate")
    found = _accumulated(ufunc, lines, place, dtype)
    if not include_initial:
        return found
    if isinstance(axis, tuple):
        raise TypeError("list indices must be integers or slices, not tuple")
    moved = np.moveaxis(found, place, 0)
    first = np.full((1, *moved.shape[1:]), ufunc.identity, found.dtype)
    return np.moveaxis(np.concatenate((first, moved)), 0, place)


_OF_ARRAYS = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}


@spells(ufunc_method="reduce", complex=True)
def reduce(
    ufunc: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """`np.maximum.reduce` and similar methods: a loop over the elements, unless a function of arrays computes it."""
    if ufunc in _OF_ARRAYS and (dtype is None or ufunc is np.add or ufunc is np.multiply):
        named = {"keepdims": keepdims, "where": where}
        if initial is not None:
            named["initial"] = initial
        if dtype is not None:
            named["dtype"] = dtype
        return _OF_ARRAYS[ufunc](array, axis, **named)
    _require_two_operands(ufunc, "reduce")
    x = np.asarray(array)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim) if x.ndim > 0 else ()
    if len(axes) > 1 and ufunc.identity is None and ufunc not in (np.fmax, np.fmin, np.lcm, np.hypot):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    x = x.astype(_dtype_of(ufunc, x, dtype))
    lines = np.moveaxis(x, axes, range(len(axes)))
    count = 1
    for k in axes:
        count *= x.shape[k]
    lines = np.reshape(lines, (count, *lines.shape[len(axes) :]))
    held = np.broadcast_to(where, x.shape)
    held = np.reshape(np.moveaxis(held, axes, range(len(axes))), lines.shape)
    start = ufunc.identity if initial is None else initial
    if start is None and where is not True:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to "
            "specify 'initial'"
        )
    if start is None and len(lines) == 0:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    # These ufuncs do not return the number itself: the greatest common divisor of -4 and 0 is 4.
    has_start = initial is not None or where is not True or len(lines) == 0 or ufunc in (np.hypot, np.gcd)
    found = np.full(lines.shape[1:], start, x.dtype) if has_start else np.array(lines[0])[()]
    for k in range(0 if has_start else 1, len(lines)):
        combined = ufunc(found, lines[k])
        found = combined if where is True else np.where(held[k], combined, found)
    shape = [1 if k in axes else x.shape[k] for k in range(x.ndim)]
    return np.reshape(found, shape) if keepdims else np.asarray(found)[()]


@spells(ufunc_method="reduceat", complex=True)
def reduceat(ufunc: Any, array: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """Combine the elements from each index up to the next one; the element itself, if the next index is not larger."""
    _require_two_operands(ufunc, "reduceat")
    x, starts = np.asarray(array), np.asarray(indices).astype(np.int64)
    if starts.ndim != 1:
        raise ValueError(f"object {'too deep' if starts.ndim else 'of too small depth'} for desired array")
    place = normalize_axis_index(_only_axis(axis, x.ndim, "reduceat"), x.ndim)
    if dtype is None and (ufunc is np.add or ufunc is np.multiply):
        dtype = np.sum(np.zeros(0, x.dtype)).dtype
    count, length = len(starts), x.shape[place]
    for k in range(count):
        if starts[k] < 0 or starts[k] >= length:
            raise IndexError(f"index {starts[k]} out-of-bounds in {ufunc.__name__}.reduceat [0, {length})")
    if length == 0 and count > 0:
        raise IndexError(f"index 0 out-of-bounds in {ufunc.__name__}.reduceat [0, 0)")
    lines = np.moveaxis(x.astype(_dtype_of(ufunc, x, dtype)), place, 0)
    made = np.empty((count, *lines.shape[1:]), lines.dtype)
    for k in range(count):
        made[k] = lines[starts[k]]
        for each in range(starts[k] + 1, len(lines) if k == count - 1 else starts[min(k + 1, count - 1)]):
            made[k] = ufunc(made[k], lines[each])
    return np.moveaxis(made, 0, place)


@spells(ufunc_method="outer", complex=True)
def outer(ufunc: Any, A: Any, B: Any, /, **options: Any) -> Any:
    """The ufunc of every pair of elements."""
    _require_two_operands(ufunc, "outer")
    x, y = np.asarray(A), np.asarray(B)
    return ufunc(np.reshape(x, x.shape + (1,) * y.ndim), y, **options)


def _require_two_operands(ufunc: Any, name: str) -> None:
    if ufunc.nin != 2:
        raise ValueError(f"{name} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{name} only supported for functions returning a single value")


def _dtype_of(ufunc: Any, x: Any, dtype: Any, is_accumulated: bool = False) -> Any:
    """The dtype in which the elements are combined. Raises NumPy's error if the ufunc gives another dtype."""
    none = np.zeros(0, x.dtype if dtype is None else dtype)
    found = ufunc(none, none).dtype
    if dtype is not None and found != none.dtype:
        raise TypeError(f"No loop matching the specified signature and casting was found for ufunc {ufunc.__name__}")
    if found.kind == "b" and x.dtype.kind != "b" and dtype is None and (is_accumulated or ufunc is not np.logical_xor):
        raise NotImplementedError(
            "a ufunc that gives bools is not compiled here for other numbers", "write it as a loop"
        )
    return found
