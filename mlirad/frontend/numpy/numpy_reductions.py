"""NumPy's reductions: sums, means, extremes, variances, any, all, argmin and argmax.

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
from mlirad.dialect.core.expr import Expr, emit, where
from mlirad.dialect.core.op import NdOp, op_classes
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import broadcast_like, reshape
from mlirad.dialect.ops.reduction import MaxOp, MinOp, ReductionOp, SumOp
from mlirad.errors import StaticValueError
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
    of_shape,
    shape_of,
    value_of,
)
from mlirad.frontend.values.sizes import total as size_of
from mlirad.frontend.values.traced import Traced, as_traced, cast, origins_of, require_axis


def _axes(axis: Any, x: Traced) -> tuple[int, ...]:
    require_axis(axis, "a reduction")
    return shapes.normalize_axes(axis, x.ndim)


def _axes_of_ufunc(axis: Any, x: Traced) -> tuple[int, ...]:
    """The same for a reduction by a ufunc, which treats a number as an array: `np.sum(2.0, axis=0)`."""
    require_axis(axis, "a reduction")
    return _axes(None if not x.ndim and not isinstance(axis, tuple) and axis in (0, -1) else axis, x)


def _count(x: Traced, axes: tuple[int, ...]) -> Size:
    """The number of elements reduced to one."""
    shape = x.shape
    return size_of([shape[axis] for axis in axes])


def _require_some(x: Traced, axes: tuple[int, ...], message: str) -> None:
    """Raise ValueError unless there are elements to reduce."""
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
"""The default of `initial`."""


@cache
def of_op(op_class: type[ReductionOp]) -> Callable[..., Traced]:
    """The implementation of a reduction op's NumPy functions. NumPy's signatures say which arguments they take."""
    function, ufunc = op_class.spellings[0], op_class.ufunc()

    def reduced(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Traced:
        x = as_traced(a)
        target = nep50.result_dtype(function, x.dtype) if dtype is None else nep50.dtype_of(dtype)
        axes, element = _axes_of_ufunc(axis, x), types.from_dtype(target)
        op_class.require_taken([element])
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
    """The elements where the mask is true, `otherwise` elsewhere."""
    if mask is True:
        return expr
    return where(truths(as_traced(mask), shape_of(expr)), expr, otherwise)


def _quantifier(op_class: type[NdOp], of_nothing: bool) -> Callable[..., Traced]:
    """any is the largest of the truth values, all the smallest."""

    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True) -> Traced:
        x = as_traced(a)
        axes = _axes_of_ufunc(axis, x)
        holding = _masked(truths(x, x.shape), where, of_nothing)
        kept = _kept_shape(x.shape, axes) if keepdims else tuple(s for i, s in enumerate(x.shape) if i not in axes)
        if x.size == 0:
            return _result(filled(of_nothing, kept, types.I1), x)
        shape = x.shape
        if not is_static(shape):
            # NumPy has no largest of zero elements: count the elements that decide.
            deciding = holding != of_nothing
            found = _reduced(SumOp, cast_expr(deciding, types.I64), axes, keepdims)
            return _result((found == 0) if of_nothing else (found > 0), x)
        return _result(_reduced(op_class, holding, axes, keepdims), x)

    return of_array


any_ = compiles(np.any, method="any", reduces=[np.logical_or])(_quantifier(MaxOp, of_nothing=False))
all_ = compiles(np.all, method="all", reduces=[np.logical_and])(_quantifier(MinOp, of_nothing=True))


def _place_of(op_class: type[NdOp], name: str) -> Callable[..., Traced]:
    """The index of the first extreme along an axis, or of the first nan, if there is one."""

    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
        x = as_traced(a)
        require_axis(axis, "a reduction")
        is_one = not x.ndim  # NumPy treats a single number as an array
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
