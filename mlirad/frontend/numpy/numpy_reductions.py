"""NumPy's reductions: sums, means, extremes, variances, any, all, and the place of an extreme.

Reads: values; static axes. Writes: nd ops. Leaves: Traced values, scalars where all axes are reduced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, emit, where
from mlirad.dialect.core.op import NdOp, op_classes
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import broadcast_like, reshape
from mlirad.dialect.ops.reduction import MaxOp, MinOp, ReductionOp, SumOp
from mlirad.errors import StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy import declarations, numpy_elementwise
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.numpy.numpy_elementwise import OF_BOOLS, truths
from mlirad.frontend.values import affine, nep50, shapes
from mlirad.frontend.values.sizes import (
    Dim,
    Shape,
    Size,
    filled,
    is_static,
    number,
    of_shape,
    shape_of,
    stretched,
    value_of,
)
from mlirad.frontend.values.sizes import total as size_of
from mlirad.frontend.values.traced import Traced, as_operand, as_traced, cast, origins_of, require_static


def _axes(axis: Any, x: Traced) -> tuple[int, ...]:
    require_static(axis, "the axis of a reduction")
    return shapes.normalize_axes(axis, x.ndim)


def _axes_of_ufunc(axis: Any, x: Traced) -> tuple[int, ...]:
    """The same for a reduction by a ufunc, which takes a number for an array of one: `np.sum(2.0, axis=0)`."""
    require_static(axis, "the axis of a reduction")
    return _axes(None if not x.ndim and not isinstance(axis, tuple) and axis in (0, -1) else axis, x)


def _count(x: Traced, axes: tuple[int, ...]) -> Size:
    """How many elements are reduced to one."""
    shape = x.shape
    return size_of([shape[axis] for axis in axes])


def _require_some(x: Traced, axes: tuple[int, ...], message: str) -> None:
    """ValueError unless there are elements to reduce."""
    for size in [x.shape[axis] for axis in axes]:
        if isinstance(size, Dim):
            if not affine.is_at_least(size.expr, 1):
                check(size.expr > 0, "ValueError", message)
        elif size == 0:
            raise StaticValueError(message)


def _kept_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def _reduced(op_class: type[NdOp], expr: Expr, axes: tuple[int, ...], keepdims: bool = False) -> Expr:
    if not expr.is_tensor:
        return expr
    folded = emit(op_class, expr, axes=axes) if axes else expr
    return reshape(folded, of_shape(_kept_shape(shape_of(expr), axes), expr.element)) if keepdims else folded


def _expr(x: Traced) -> Expr:
    return x.expr if x.ndim else x.scalar


def _result(expr: Expr, x: Traced) -> Traced:
    return Traced(expr, origins=origins_of(x))


_GIVEN_NONE: Any = object()
"""What `initial` is if the caller gives none."""


@cache
def of_op(op_class: type[ReductionOp]) -> Callable[..., Traced]:
    """What compiles the functions that a reduction spells. Which arguments they take is asked of NumPy."""
    function, ufunc = op_class.spellings[0], op_class.ufunc()

    def reduced(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Traced:
        x = as_traced(a)
        target = nep50.result_dtype(function, x.dtype) if dtype is None else nep50.dtype_of(dtype)
        axes, element = _axes_of_ufunc(axis, x), types.from_dtype(target)
        if initial is _GIVEN_NONE and ufunc.identity is None:
            if where is not True:
                raise StaticValueError(
                    f"reduction operation '{ufunc.__name__}' does not have an identity, "
                    "so to use a where mask one has to specify 'initial'"
                )
            _require_some(x, axes, f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
        if target.kind == "b" and ufunc in OF_BOOLS:
            of_bools = declarations.of(OF_BOOLS[ufunc]).of_reduce
            assert of_bools is not None
            found = of_bools(x, axes, keepdims=keepdims, where=where)
        else:
            expr = _masked(cast_expr(_expr(x), element), where, op_class.neutral(element))
            found = _result(_reduced(op_class, expr, axes, keepdims), x)
        if initial is _GIVEN_NONE:
            return found
        return numpy_elementwise.call(ufunc, found, cast(as_traced(initial), target))

    if "dtype" not in signature(function).parameters:

        def of_array(
            a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = _GIVEN_NONE, where: Any = True
        ) -> Traced:
            return reduced(a, axis, None, keepdims, initial, where)

        return of_array

    def with_dtype(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        keepdims: bool = False,
        initial: Any = _GIVEN_NONE,
        where: Any = True,
    ) -> Traced:
        return reduced(a, axis, dtype, keepdims, initial, where)

    return with_dtype


for _class in op_classes():
    if issubclass(_class, ReductionOp):
        _functions = [each for each in _class.spellings if not isinstance(getattr(each, "__self__", None), np.ufunc)]
        _method = next((each.__name__ for each in _functions if hasattr(np.ndarray, each.__name__)), None)
        compiles(*_functions, method=_method, reduces=[_class.ufunc()])(of_op(_class))
total, maximum, minimum = of_op(SumOp), of_op(MaxOp), of_op(MinOp)


def _masked(expr: Expr, mask: Any, otherwise: Any) -> Expr:
    """The elements where the mask holds, `otherwise` elsewhere."""
    if mask is True:
        return expr
    return where(truths(as_traced(mask), shape_of(expr)), expr, otherwise)


@compiles(np.mean, method="mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Traced:
    x = as_traced(a)
    target = nep50.result_dtype(np.mean, x.dtype) if dtype is None else nep50.dtype_of(dtype)
    if target.kind == "b":
        return any_(a, axis, keepdims=keepdims, where=where)
    axes = _axes(axis, x)
    element = types.from_dtype(target)
    total = _reduced(SumOp, _masked(cast_expr(_expr(x), element), where, 0), axes, keepdims)
    if target.kind == "f":
        return _result(total / _number_of(x, where, axes, keepdims, element), x)
    quotient = cast_expr(total, types.F64) / _number_of(x, where, axes, keepdims, types.F64)
    return _result(cast_expr(quotient, element), x)


def _number_of(x: Traced, where: Any, axes: tuple[int, ...], keepdims: bool, element: Any) -> float | Expr:
    """How many elements are reduced to one, as a number of a type."""
    if where is True:
        return number(_count(x, axes), element)
    return _reduced(SumOp, cast_expr(truths(as_operand(where), x.shape), element), axes, keepdims)


def _deviations(
    function: Any, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, mean: Any, correction: Any
) -> tuple[Traced, Expr]:
    """The value, and its variance: the mean of the squared distances to the mean."""
    if correction is not _GIVEN_NONE:
        if ddof != 0:
            raise StaticValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = as_traced(a)
    require_static(ddof, "ddof")
    axes = _axes(axis, x)
    target = nep50.result_dtype(function, x.dtype) if dtype is None else nep50.dtype_of(dtype)
    if target.kind != "f":
        raise UnsupportedSyntaxError(f"np.{function.__name__}(dtype={target}) is not supported", hint="use a float")
    expr = cast_expr(_expr(x), types.from_dtype(target))
    count = _number_of(x, where, axes, keepdims, expr.element)
    if mean is _GIVEN_NONE:
        total = _reduced(SumOp, _masked(expr, where, 0.0), axes, keepdims=True)
        centre = total / _number_of(x, where, axes, True, expr.element)
    else:
        centre = cast_expr(_expr(as_traced(mean)), expr.element)
    distance = expr - stretched(centre, x.shape)
    if where is True and mean is _GIVEN_NONE:
        distance = of_several(distance, count)
    degrees = max(count - ddof, 0.0) if isinstance(count, float) else apply(np.maximum, count - float(ddof), 0.0)
    return x, _reduced(SumOp, _masked(distance * distance, where, 0.0), axes, keepdims) / degrees


def of_several(distance: Expr, count: float | Expr) -> Expr:
    """The distances of so many numbers to their mean. For one number it is 0 (nan if the number is not finite): a
    constant, as the derivative of the square root would be 0 times infinity."""
    if isinstance(count, float) and count != 1.0:
        return distance
    shape = shape_of(distance)
    zero, nan = (filled(value, shape, distance.element) for value in (0.0, np.nan))
    of_one = where(apply(np.equal, distance, zero), zero, nan)
    return of_one if isinstance(count, float) else where(apply(np.equal, count, 1.0), of_one, distance)


@compiles(np.var, method="var")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = _GIVEN_NONE,
    correction: Any = _GIVEN_NONE,
) -> Traced:
    x, variance = _deviations(np.var, a, axis, dtype, ddof, keepdims, where, mean, correction)
    return _result(variance, x)


@compiles(np.std, method="std")
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = _GIVEN_NONE,
    correction: Any = _GIVEN_NONE,
) -> Traced:
    x, variance = _deviations(np.std, a, axis, dtype, ddof, keepdims, where, mean, correction)
    return _result(apply(np.sqrt, variance), x)


def _quantifier(op_class: type[NdOp], of_nothing: bool) -> Callable[..., Traced]:
    """any is the largest, all the smallest of the truths."""

    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True) -> Traced:
        x = as_traced(a)
        axes = _axes_of_ufunc(axis, x)
        holding = _masked(truths(x, x.shape), where, of_nothing)
        kept = _kept_shape(x.shape, axes) if keepdims else tuple(s for i, s in enumerate(x.shape) if i not in axes)
        if x.size == 0:
            return _result(filled(of_nothing, kept, types.I1), x)
        shape = x.shape
        if not is_static(shape):
            # A largest of no elements is none of NumPy's: count those that decide.
            deciding = holding != of_nothing
            found = _reduced(SumOp, cast_expr(deciding, types.I64), axes, keepdims)
            return _result((found == 0) if of_nothing else (found > 0), x)
        return _result(_reduced(op_class, holding, axes, keepdims), x)

    return of_array


any_ = compiles(np.any, method="any", reduces=[np.logical_or])(_quantifier(MaxOp, of_nothing=False))
all_ = compiles(np.all, method="all", reduces=[np.logical_and])(_quantifier(MinOp, of_nothing=True))


@compiles(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    x = as_traced(a)
    return _result(_reduced(SumOp, cast_expr(truths(x, x.shape), types.I64), _axes_of_ufunc(axis, x), keepdims), x)


def _place_of(op_class: type[NdOp], name: str) -> Callable[..., Traced]:
    """The first place of the extreme along an axis; of the first nan, if there is one."""

    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
        x = as_traced(a)
        require_static(axis, "the axis of a reduction")
        is_one = not x.ndim  # NumPy looks at one number as at an array of one
        place = 0 if axis is None else shapes.normalize_axis(axis, max(x.ndim, 1))
        expr = _expr(x)
        if is_one or (axis is None and x.ndim > 1):
            expr = reshape(x.contents, types.tensor((operator.index(x.size),), x.expr.element))
        length = shape_of(expr)[place]
        _require_some(Traced(expr), (place,), f"attempt to get {name} of an empty sequence")
        others = [i for i in range(len(expr.shape)) if i != place]
        is_best = expr == broadcast_like(_reduced(op_class, expr, (place,)), others, expr)
        if types.is_float(expr.type):
            is_best = is_best | (expr != expr)
        candidates = where(
            is_best,
            broadcast_like(counted(length if isinstance(length, int) else value_of(length)), [place], expr),
            value_of(length),
        )
        found = _reduced(MinOp, candidates, (place,))
        if keepdims:
            kept = () if is_one else _kept_shape(x.shape, _axes(axis, x))
            found = reshape(found, of_shape(kept, types.I64))
        return _result(found, x)

    return of_array


argmax = compiles(np.argmax, method="argmax", is_row_major=True)(_place_of(MaxOp, "argmax"))
argmin = compiles(np.argmin, method="argmin", is_row_major=True)(_place_of(MinOp, "argmin"))
