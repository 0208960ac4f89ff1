"""NumPy's functions on masked selections: what can be done without knowing how many elements there are.

Reads: Selected values, arrays and numbers. Writes: nd ops on whole arrays. Leaves: Selected values from elementwise
functions, Traced values from reductions. Everything else is refused.

Each function works on whole arrays in which the elements that are not selected are harmless: 1 before an elementwise
function, the neutral element before a reduction. So they neither raise nor make a gradient nan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError
from mlirad.frontend.numpy import (
    numpy_choice,
    numpy_creation,
    numpy_elementwise,
    numpy_reductions,
    numpy_scalars,
    operators,
)
from mlirad.frontend.values import nep50, shapes, sizes
from mlirad.frontend.values.assignment import assignable, check_in_place
from mlirad.frontend.values.masked_selection import Selected, is_same_value, refusal, transposed
from mlirad.frontend.values.traced import Number, Traced, as_operand, require_static, shape_of, visible


def binary(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """A Python operator on selections."""
    if ufunc is np.matmul:
        return _dot(left, right)
    return elementwise(lambda x, y: operators.binary(ufunc, x, y), left, right)


def unary(ufunc: np.ufunc, x: Selected) -> Selected:
    return elementwise(lambda values: operators.unary(ufunc, values), x)


def call(
    function: Any, made: Callable[..., Any] | None, args: Sequence[Any], kwargs: Mapping[str, Any], name: str
) -> Any:
    """`function(*args, **kwargs)`, compiled by `made` on whole arrays; `name` is how users write it."""
    reduction = _REDUCTIONS.get(made)
    if reduction is not None and isinstance(args[0], Selected) and not _has_selected(args[1:], kwargs):
        return reduction(args[0], *args[1:], **kwargs)
    if function in _WHOLE:
        return _WHOLE[function](*args, **kwargs)
    is_elementwise = (isinstance(function, np.ufunc) and function.nout == 1 and function is not np.matmul) or (
        made in _ELEMENTWISE
    )
    if made is None or not is_elementwise:
        raise refusal(f"{name} needs it")
    names = list(kwargs)
    return elementwise(
        lambda *values: made(*values[: len(args)], **dict(zip(names, values[len(args) :], strict=True))),
        *args,
        *kwargs.values(),
    )


def _has_selected(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Selected) for value in (*args, *kwargs.values()))


# --- elementwise ------------------------------------------------------------------------------------------------


def elementwise(function: Callable[..., Any], *operands: Any) -> Selected:
    """A function of the selected elements, of whole arrays and numbers that broadcast with them."""
    model = max((x for x in operands if isinstance(x, Selected)), key=lambda x: x.ndim)
    result = function(*(_beside(model, operand) for operand in operands))
    return Selected(result, model.mask, result.ndim - model.mask.ndim - model.trailing)


def _beside(model: Selected, operand: Any) -> Any:
    """An operand in whole arrays' shape, for a function of the values of `model`."""
    if isinstance(operand, Selected):
        require_same_mask(model, operand)
        return operand.harmless
    if not isinstance(operand, Traced | np.ndarray | list | tuple):
        return operand
    return aligned(as_operand(operand), model)


def require_same_mask(x: Selected, y: Selected) -> None:
    if x.trailing != y.trailing:
        raise refusal("it stands beside one of another mask")
    require_one_mask(x, y)


def require_one_mask(x: Selected, y: Selected) -> None:
    if x.mask.shape != y.mask.shape:
        raise refusal("it stands beside one of another mask")
    if not is_same_value(x.mask.expr.value, y.mask.expr.value):
        raise refusal("it stands beside one whose mask may be another (bind the mask to a name)")


def aligned(operand: Traced | Number, model: Selected) -> Traced | Number:
    """An array that broadcasts with a selection, with axes that stand for the mask's."""
    shape = shape_of(operand)
    if not isinstance(operand, Traced) or len(shape) <= model.trailing:
        return operand
    lead = len(shape) - model.trailing - 1
    if shape[lead] != 1:
        raise refusal(f"it stands beside an array of shape {shape}")
    shape = sizes.require_static(shape, "the shape of an array beside a masked selection")
    spread = (*shape[:lead], *(1,) * model.mask.ndim, *shape[lead + 1 :])
    return Traced(reshape(operand.expr, types.tensor(spread, operand.expr.element)), origins=operand.origins)


# --- reductions -------------------------------------------------------------------------------------------------


def _axes(x: Selected, axis: Any) -> tuple[tuple[int, ...], bool]:
    """The axes of the values that are reduced, and whether the mask's axis is among them."""
    require_static(axis, "the axis of a reduction")
    axes = shapes.normalize_axes(axis, x.ndim)
    count = x.mask.ndim - 1
    found: list[int] = []
    for number in axes:
        found += x.mask_axes if number == x.axis else [number if number < x.axis else number + count]
    return tuple(found), x.axis in axes


def _reduction(function: Callable[..., Traced], neutral: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    """A reduction with a neutral element, which stands where the mask is false."""

    def of_selected(x: Selected, axis: Any = None, **options: Any) -> Any:
        _no_kept_axes(options)
        axes, is_whole = _axes(x, axis)
        reduced = function(x.filled(neutral(x.dtype)), axes, **options)
        return reduced if is_whole else _rest(x, reduced, axes)

    return of_selected


def _rest(x: Selected, reduced: Traced, axes: Sequence[int]) -> Selected:
    """A reduction of other axes than the mask's."""
    return Selected(reduced, x.mask, x.axis - sum(axis < x.axis for axis in axes))


def _no_kept_axes(options: dict[str, Any]) -> None:
    if options.pop("keepdims", False):
        raise refusal("keepdims=True keeps it")
    if "where" in options:
        raise refusal("where= has to have it too")


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return False
    return -np.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return True
    return np.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)


def _extreme(function: Callable[..., Traced], neutral: Callable[[np.dtype], Any], name: str) -> Callable[..., Any]:
    reduction = _reduction(function, neutral)

    def of_selected(x: Selected, axis: Any = None, **options: Any) -> Any:
        if _axes(x, axis)[1]:
            check(
                x.count.expr > 0,
                "ValueError",
                f"zero-size array to reduction operation {name} which has no identity",
            )
        return reduction(x, axis, **options)

    return of_selected


_total = _reduction(numpy_reductions.total, lambda dtype: 0)
_maximum = _extreme(numpy_reductions.maximum, _lowest, "maximum")
_minimum = _extreme(numpy_reductions.minimum, _highest, "minimum")


def _mean(x: Selected, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    axes, is_whole = _axes(x, axis)
    if not is_whole:
        _no_kept_axes(options)
        return _rest(x, numpy_reductions.mean(x.harmless, axes, dtype), axes)
    target = nep50.result_dtype(np.mean, x.dtype) if dtype is None else nep50.dtype_of(dtype)
    return _total(x, axis, dtype=target, **options) / _number(x, axes, target)


def _number(x: Selected, axes: Sequence[int], dtype: np.dtype, fewer: int | float = 0) -> Traced:
    """How many elements each result is made of, less some, as a float."""
    others = visible(sizes.total([x.values.shape[axis] for axis in axes if axis not in x.mask_axes]))
    number = x.count * others - fewer
    return numpy_elementwise.call(np.maximum, number, 0) * dtype.type(1) if fewer else number * dtype.type(1)


def _variance(x: Selected, axis: Any = None, *, ddof: Any = 0, **options: Any) -> Any:
    require_static(ddof, "ddof")
    axes, _ = _axes(x, axis)
    if len(axes) < x.values.ndim and (x.axis > 0 or axes != x.mask_axes):
        raise refusal("a variance along other axes than the mask's needs it")
    _no_kept_axes(options)
    dtype = nep50.result_dtype(np.var, x.dtype)
    count = _number(x, axes, dtype).scalar
    distance = elementwise(lambda each: Traced(numpy_reductions.of_several(each.expr, count)), x - _mean(x, axis))
    return _total(distance * distance, axis) / _number(x, axes, dtype, ddof)


def _deviation(x: Selected, axis: Any = None, *, ddof: Any = 0, **options: Any) -> Any:
    return numpy_elementwise.call(np.sqrt, _variance(x, axis, ddof=ddof, **options))


def _count_nonzero(x: Selected, axis: Any = None, **options: Any) -> Any:
    return _total(elementwise(lambda values: numpy_elementwise.call(np.not_equal, values, 0), x), axis, **options)


_any = _reduction(numpy_reductions.any_, lambda dtype: 0)
_all = _reduction(numpy_reductions.all_, lambda dtype: 1)


def _inner(x: Any, y: Any) -> Any:
    """The product of two selections of rank 1 by one mask."""
    if not (isinstance(x, Selected) and isinstance(y, Selected) and x.ndim == y.ndim == 1):
        raise refusal("a matrix product needs it")
    return _total(x * y)


def _dot(x: Any, y: Any) -> Any:
    """A matrix product: over the axis that one mask makes in both, or over another one of one selection."""
    if isinstance(x, Selected) and isinstance(y, Selected) and x.ndim == y.ndim == 1:
        return _total(x * y)
    if any(isinstance(each, Selected) and (each.mask.ndim != 1 or each.ndim > 2) for each in (x, y)):
        raise refusal("a matrix product needs it")
    if isinstance(x, Selected) and isinstance(y, Selected):
        if x.axis != x.ndim - 1 or y.axis != 0:
            raise refusal("a matrix product needs it")
        require_one_mask(x, y)
        return operators.binary(np.matmul, x.filled(0), y.filled(0))
    if isinstance(x, Selected) and x.ndim == 2 and x.axis == 0 and len(shape_of(as_operand(y))) in (1, 2):
        return Selected(operators.binary(np.matmul, x.harmless, as_operand(y)), x.mask, 0)
    if isinstance(y, Selected) and y.ndim == 2 and y.axis == 1 and len(shape_of(as_operand(x))) in (1, 2):
        product = operators.binary(np.matmul, as_operand(x), y.harmless)
        return Selected(product, y.mask, product.ndim - 1)
    raise refusal("a matrix product needs it")


# --- assignment -------------------------------------------------------------------------------------------------


def stored(value: Any, target: Selected) -> Expr:
    """`value` as what `target = value` stores, in the shape and dtype of the target's values."""
    shape, dtype = target.values.shape, target.dtype
    if isinstance(value, Selected):
        if value.ndim > target.ndim:
            raise DTypeError("could not broadcast a masked selection of more axes into one of fewer")
        require_same_mask(target, value)
        return assignable(value.harmless, shape, dtype)
    operand = as_operand(value)
    if not shape_of(operand):
        # A Python number is stored as a number is: nan in an integer array raises.
        return assignable(assignable_number(operand, dtype), shape, dtype)
    return assignable(aligned(operand, target), shape, dtype)


def assignable_number(value: Traced | Number, dtype: np.dtype) -> Traced:
    return Traced(assignable(value, (), dtype, casts_scalars=True))


def changed_in_place(new: Selected, current: Selected, ufunc: np.ufunc) -> Selected:
    """What `x[m] op= y` stores: the result of the ufunc, of the dtype and the number of axes of x[m]."""
    if new.ndim > current.ndim:
        raise DTypeError("non-broadcastable output operand: the right side has more axes than the masked selection")
    check_in_place(new.values, current.values.shape, current.dtype, ufunc)
    return Selected(Traced(assignable(new.harmless, current.values.shape, current.dtype)), new.mask, current.axis)


_REDUCTIONS: Mapping[Any, Callable[..., Any]] = {
    numpy_reductions.total: _total,
    numpy_reductions.mean: _mean,
    numpy_reductions.var: _variance,
    numpy_reductions.std: _deviation,
    numpy_reductions.maximum: _maximum,
    numpy_reductions.minimum: _minimum,
    numpy_reductions.any_: _any,
    numpy_reductions.all_: _all,
    numpy_reductions.count_nonzero: _count_nonzero,
}

_ELEMENTWISE = (
    numpy_choice.where,
    numpy_choice.clip,
    numpy_choice.clipped,
    numpy_creation.astype,
    numpy_creation.copy,
    numpy_creation.duplicate,
    numpy_scalars.absolute,
)

_WHOLE: Mapping[Any, Callable[..., Any]] = {
    np.size: lambda x: x.size,
    np.ndim: lambda x: x.ndim,
    np.shape: lambda x: x.shape,
    np.dot: _dot,
    np.matmul: _dot,
    np.inner: _inner,
    np.vdot: _inner,
    np.transpose: transposed,
}
