"""NumPy's reductions: sums, means, extremes, variances, any, all, and the place of an extreme.

Reads: values; static axes. Writes: nd ops. Leaves: Traced values, scalars where all axes are reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from mlirad.dialect import types
from mlirad.dialect.compare import cast as cast_expr
from mlirad.dialect.expr import Expr, apply, constant, emit, where
from mlirad.dialect.movement import broadcast, reshape
from mlirad.dialect.op import NdOp
from mlirad.dialect.reduction import MaxOp, MinOp, SumOp
from mlirad.errors import StaticValueError
from mlirad.frontend import promotion
from mlirad.frontend.numpy_elementwise import truths
from mlirad.frontend.traced import Traced, as_traced, in_shape, origins_of, require_static

_INT64 = np.dtype(np.int64)


def _axes(axis: Any, x: Traced) -> tuple[int, ...]:
    require_static(axis, "the axis of a reduction")
    return promotion.normalize_axes(axis, x.ndim)


def _kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def _reduced(op_class: type[NdOp], expr: Expr, axes: tuple[int, ...], keepdims: bool = False) -> Expr:
    if not expr.is_tensor:
        return expr
    folded = emit(op_class, expr, axes=axes) if axes else expr
    return reshape(folded, types.tensor(_kept_shape(expr.shape, axes), expr.element)) if keepdims else folded


def _expr(x: Traced) -> Expr:
    return x.expr if x.ndim else x.scalar


def _result(expr: Expr, x: Traced) -> Traced:
    return Traced(expr, origins=origins_of(x))


def total(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Traced:
    x = as_traced(a)
    target = promotion.result_dtype(np.sum, x.dtype) if dtype is None else promotion.dtype_of(dtype)
    expr = _masked(cast_expr(_expr(x), types.from_dtype(target)), where, 0)
    return _result(_reduced(SumOp, expr, _axes(axis, x), keepdims), x)


def _masked(expr: Expr, mask: Any, otherwise: Any) -> Expr:
    """The elements where the mask holds, `otherwise` elsewhere."""
    if mask is True:
        return expr
    return where(truths(as_traced(mask), expr.shape), expr, otherwise)


def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Traced:
    x = as_traced(a)
    target = promotion.result_dtype(np.mean, x.dtype) if dtype is None else promotion.dtype_of(dtype)
    axes = _axes(axis, x)
    count = prod(x.shape[i] for i in axes)
    expr = cast_expr(_expr(x), types.from_dtype(target))
    return _result(_reduced(SumOp, expr, axes, keepdims) / float(count), x)


def _deviations(a: Any, axis: Any, ddof: Any, keepdims: bool, function: Any) -> tuple[Traced, Expr]:
    """The value, and its variance: the mean of the squared distances to the mean."""
    x = as_traced(a)
    require_static(ddof, "ddof")
    axes = _axes(axis, x)
    expr = cast_expr(_expr(x), types.from_dtype(promotion.result_dtype(function, x.dtype)))
    count = prod(x.shape[i] for i in axes)
    centre = _reduced(SumOp, expr, axes, keepdims=True) / float(count)
    distance = expr - in_shape(centre, x.shape)
    return x, _reduced(SumOp, distance * distance, axes, keepdims) / max(float(count - ddof), 0.0)


def var(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Traced:
    x, variance = _deviations(a, axis, ddof, keepdims, np.var)
    return _result(variance, x)


def std(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Traced:
    x, variance = _deviations(a, axis, ddof, keepdims, np.std)
    return _result(apply(np.sqrt, variance), x)


def _extreme(op_class: type[NdOp], name: str) -> Callable[..., Traced]:
    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
        x = as_traced(a)
        axes = _axes(axis, x)
        if 0 in (x.shape[i] for i in axes):
            raise StaticValueError(f"zero-size array to reduction operation {name} which has no identity")
        return _result(_reduced(op_class, _expr(x), axes, keepdims), x)

    return of_array


maximum = _extreme(MaxOp, "maximum")
minimum = _extreme(MinOp, "minimum")


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return maximum(a, axis, keepdims=keepdims) - minimum(a, axis, keepdims=keepdims)


def _quantifier(op_class: type[NdOp], of_nothing: bool) -> Callable[..., Traced]:
    """any is the largest, all the smallest of the truths."""

    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
        x = as_traced(a)
        axes = _axes(axis, x)
        if x.size == 0:
            asked = np.any(np.empty(x.shape), axis=axes, keepdims=keepdims)
            return _result(constant(of_nothing, types.of_shape(np.shape(asked), types.I1)), x)
        return _result(_reduced(op_class, truths(x, x.shape), axes, keepdims), x)

    return of_array


any_ = _quantifier(MaxOp, of_nothing=False)
all_ = _quantifier(MinOp, of_nothing=True)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    x = as_traced(a)
    return _result(_reduced(SumOp, cast_expr(truths(x, x.shape), types.I64), _axes(axis, x), keepdims), x)


def _place_of(op_class: type[NdOp], name: str) -> Callable[..., Traced]:
    """The first place of the extreme along an axis; of the first nan, if there is one."""

    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
        x = as_traced(a)
        (place,) = _axes(axis, x) if axis is not None else (0,)
        expr = _expr(x) if axis is not None else reshape(x.expr, types.tensor((x.size,), x.expr.element))
        length = expr.shape[place]
        if length == 0:
            raise StaticValueError(f"attempt to get {name} of an empty sequence")
        others = [i for i in range(len(expr.shape)) if i != place]
        best = broadcast(_reduced(op_class, expr, (place,)), others, expr.shape)
        is_best = expr == best
        if types.is_float(expr.type):
            is_best = is_best | (expr != expr)
        counted = constant(np.arange(length), types.tensor((length,), types.I64))
        candidates = where(is_best, broadcast(counted, [place], expr.shape), length)
        found = _reduced(MinOp, candidates, (place,))
        if keepdims:
            found = reshape(found, types.tensor(_kept_shape(x.shape, _axes(axis, x)), types.I64))
        return _result(found, x)

    return of_array


argmax = _place_of(MaxOp, "argmax")
argmin = _place_of(MinOp, "argmin")
