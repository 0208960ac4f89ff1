"""np.where and np.clip: elements chosen by a condition or by limits.

Reads: values. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, emit
from mlirad.dialect.ops.choice import SelectOp
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.errors import DTypeError, StaticValueError
from mlirad.frontend.numpy import numpy_elementwise
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.values import masks, nep50
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.sizes import Shape, broadcast_shapes, filled, stretched
from mlirad.frontend.values.traced import Number, Traced, as_operand, as_traced, in_type, origins_of, shape_of, stand_in

_MISSING = object()


def _where_checks_ints() -> bool:
    try:
        np.where(True, -1, np.uint8(0))
    except OverflowError:
        return True
    return False


_WHERE_CHECKS_INTS = _where_checks_ints()
"""Whether np.where converts Python ints as operators do: from NumPy 2.5 on. Earlier versions wrapped them."""


@compiles(np.nonzero, method="nonzero", is_row_major=True)
def nonzero(a: Any) -> tuple[Traced, ...]:
    """For each axis, the indices of the elements that are not zero."""
    x = as_traced(a)
    if not x.ndim:
        raise StaticValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead. If the context "
            "of this error is of the form `arr[nonzero(cond)]`, just use `arr[cond]`."
        )
    return tuple(masks.indices(Traced(numpy_elementwise.truths(x, x.shape))))


@compiles(np.where)
def where(condition: Any, x: Any = _MISSING, y: Any = _MISSING) -> Traced | tuple[Traced, ...]:
    if x is _MISSING and y is _MISSING:
        return nonzero(condition)
    if x is _MISSING or y is _MISSING:
        raise StaticValueError("either both or neither of x and y should be given")
    test, left, right = as_operand(condition), as_operand(x), as_operand(y)
    shape = broadcast_shapes(*map(shape_of, (test, left, right)))
    dtype = nep50.common_dtype([stand_in(left), stand_in(right)])
    chosen = emit(SelectOp, numpy_elementwise.truths(test, shape), *(_as(x, dtype, shape) for x in (left, right)))
    return Traced(chosen, zero_d=not shape, origins=origins_of(test, left, right))


def _as(x: Traced | Number, dtype: np.dtype, shape: Shape) -> Expr:
    """x, cast to a dtype and broadcast, as in np.where."""
    if _WHERE_CHECKS_INTS and stand_in(x) is int and dtype.kind in "iu":
        return in_type(x, dtype, shape)
    element = types.from_dtype(dtype)
    if isinstance(x, Traced):
        return stretched(cast_expr(x.expr if x.ndim else x.scalar, element), shape)
    with numpys_refusal(), np.errstate(all="ignore"):
        return filled(np.asarray(x).astype(dtype), shape, element)


@compiles(np.clip)
def clip(a: Any, a_min: Any = _MISSING, a_max: Any = _MISSING, *, min: Any = _MISSING, max: Any = _MISSING) -> Any:
    """`np.clip`; each limit has two names."""
    is_given = [limit is not _MISSING for limit in (a_min, a_max)]
    if is_given == [False, False]:
        return clipped(a, *(None if limit is _MISSING else limit for limit in (min, max)))
    if is_given != [True, True]:
        missing = "a_max" if is_given[0] else "a_min"
        raise DTypeError(f"clip() missing 1 required positional argument: '{missing}'")
    if min is not _MISSING or max is not _MISSING:
        text = "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
        raise StaticValueError(text)
    return clipped(a, a_min, a_max)


@compiles(method="clip")
def clipped(a: Any, min: Any = None, max: Any = None) -> Any:
    """min(max(a, low), high) in the common dtype, as in NumPy: a Python int out of range of `a`'s dtype is no limit."""
    value = as_operand(a)
    own = nep50.strong(stand_in(value))
    low = _limit(min, own, np.maximum)
    high = _limit(max, own, np.minimum)
    result: Any = _strong(value, own)
    if low is None and high is None:
        return numpy_elementwise.call(np.positive, result)
    if low is not None and high is not None:
        common = nep50.common_dtype([own, stand_in(low), stand_in(high)])
        result, low, high = (_strong(x, common) for x in (result, low, high))
    if low is not None:
        result = numpy_elementwise.call(np.maximum, result, low)
    return result if high is None else numpy_elementwise.call(np.minimum, result, high)


def _strong(x: Traced | Number, dtype: np.dtype) -> Traced:
    """x in a dtype, checked like operands; the result is no longer a Python number."""
    expr = in_type(x, dtype, shape_of(x))
    return Traced(expr, zero_d=isinstance(x, Traced) and x.zero_d, origins=origins_of(x))


def _limit(x: Any, dtype: np.dtype, bound: np.ufunc) -> Traced | Number | None:
    """A limit, unless every number of that dtype satisfies it. bound: np.maximum for a lower limit, else np.minimum."""
    if x is None:
        return None
    limit = as_operand(x)
    if dtype.kind not in "iu" or stand_in(limit) is not int:
        return limit
    info = np.iinfo(dtype)
    least = int(info.min if bound is np.maximum else info.max)
    if not isinstance(limit, Traced):
        return None if bound(limit, least, dtype=object) == least else limit
    if dtype == np.uint64 and bound is np.minimum:
        return limit
    return Traced(apply(bound, limit.scalar, constant(least, types.I64)), weak=True, origins=limit.origins)
