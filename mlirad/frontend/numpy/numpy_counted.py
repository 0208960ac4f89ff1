"""NumPy functions that make arrays of counted numbers: arange, linspace, eye, tri.

Reads: shapes, static or known only at run time, and values. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, emit, where
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.constant import STORED, counted
from mlirad.dialect.ops.movement import TransposeOp, broadcast
from mlirad.errors import DTypeError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.numpy.numpy_creation import check_order_of_new, run_size
from mlirad.frontend.values import nep50, shapes
from mlirad.frontend.values.nep50 import dtype_of
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.sizes import (
    Dim,
    Shape,
    Size,
    broadcast_shapes,
    lengths,
    number,
    pattern,
    stretched,
    value_of,
)
from mlirad.frontend.values.traced import (
    DATA,
    Number,
    Traced,
    as_operand,
    cast,
    in_type,
    is_static,
    of_array,
    origins_of,
    require_static,
    shape_of,
    stand_in,
)


def _places(size: Size, shape: Shape, axis: int = 0) -> Expr:
    """0, 1, ... along an axis of an array of that shape. The size of the axis is given."""
    return broadcast(counted(value_of(size)), [axis], pattern(shape), lengths(shape))


def _depends_on_data(*values: Any) -> bool:
    return DATA in origins_of(list(values))


# --- by index ---------------------------------------------------------------------------------------------------


@compiles(np.eye, is_made=True)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C") -> Traced:
    check_order_of_new(order)
    return _by_place(np.eye, np.equal, N, M, k, dtype)


@compiles(np.identity, is_made=True)
def identity(n: Any, dtype: Any = None) -> Traced:
    return _by_place(np.eye, np.equal, n, None, 0, float if dtype is None else dtype)


@compiles(np.tri, is_made=True)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Traced:
    return _by_place(np.tri, np.greater_equal, N, M, k, dtype)


def _by_place(function: Callable[..., Any], relation: np.ufunc, N: Any, M: Any, k: Any, dtype: Any) -> Traced:
    """Ones where `row + k` has this relation to the column."""
    what = f"np.{function.__name__}"
    require_static(dtype, f"the dtype of {what}")
    name = dtype_of(dtype)
    if _depends_on_data(N, M):
        sizes = [run_size(each, what) for each in (N, N if M is None else M)]
    else:
        require_static((N, M), f"the shape of {what}")
        with numpys_refusal():
            sizes = [operator.index(N), operator.index(N if M is None else M)]
            np.broadcast_to(np.empty(()), [max(each, 0) for each in sizes])
            if function is np.eye and any(isinstance(each, bool | np.bool_) for each in (N, M)):
                raise DTypeError("an integer is required")
            if is_static(k) and (sizes[0] < 0 or sizes[1] < 0 or sizes[0] * sizes[1] <= STORED**2):
                return of_array(function(*sizes, k, dtype=name))
    shape = tuple(max(each, 0) if isinstance(each, int) else each for each in sizes)
    moved = as_operand(k)
    dtype = nep50.common_dtype([stand_in(moved), np.dtype(np.int64)])
    if shape_of(moved) and function is np.tri:
        raise StaticValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
        )
    if shape_of(moved):
        raise DTypeError("only integer scalar arrays can be converted to a scalar index")
    if dtype.kind == "f":
        if function is np.eye:
            raise DTypeError("'float' object cannot be interpreted as an integer")
        raise UnsupportedSyntaxError(f"a diagonal of {what} that is no integer is not compiled", hint="use int(k)")
    down, along = (cast_expr(_places(shape[axis], shape, axis), types.from_dtype(dtype)) for axis in range(2))
    holds = apply(relation, down + stretched(in_type(moved, dtype, ()), shape), along)
    return Traced(cast_expr(holds, types.from_dtype(name)))


# --- ranges of numbers ------------------------------------------------------------------------------------------


@compiles(np.arange, is_made=True, is_row_major=True)
def arange(*args: Any, start: Any = None, stop: Any = None, step: Any = None, dtype: Any = None) -> Traced:
    args = _arguments_of_arange(args, start, stop, step)
    require_static(dtype, "the dtype of np.arange")
    if _depends_on_data(*args):
        return _arange_of_data(*(args if len(args) > 1 else (0, *args)), dtype=dtype)
    require_static(args, "the length of np.arange")
    with numpys_refusal():
        numbers = np.arange(*args, dtype=dtype)
    if numbers.size <= STORED:
        return of_array(numbers)
    element = types.from_dtype(nep50.require_dtype(numbers.dtype, "a counted array"))
    # Computed as in NumPy, where integers wrap too.
    first, by = (constant(each, element) for each in (numbers[0], (numbers[1:] - numbers[:-1])[0]))
    shape = numbers.shape
    return Traced(stretched(first, shape) + cast_expr(counted(numbers.size), element) * stretched(by, shape))


def _arguments_of_arange(args: tuple[Any, ...], start: Any, stop: Any, step: Any) -> tuple[Any, ...]:
    """All arguments by position. `np.arange(start=3)` counts up to 3."""
    names = ("start", "stop", "step")
    for name, value in zip(names[: len(args)], (start, stop, step), strict=False):
        if value is not None and not (name == "start" and len(args) == 1 and stop is None):
            raise DTypeError(f"argument for arange() given by name ('{name}') and position")
    if len(args) > len(names):
        raise DTypeError(f"arange() takes at most {len(names)} numbers, and {len(args)} were given")
    first, last, by = (*args, *(start, stop, step)[len(args) :])
    if first is None and last is None:
        raise DTypeError("arange() requires stop to be specified.")
    if last is None:
        first, last = 0, first
    by = 1 if by is None else by
    return (last,) if first is None and by is None else (0 if first is None else first, last, by)


def _arange_of_data(start: Any, stop: Any, step: Any = 1, *, dtype: Any) -> Traced:
    """The number of steps below `stop`."""
    operands: list[Any] = [as_operand(each) for each in (start, stop, step)]
    if any(map(shape_of, operands)):
        raise StaticValueError("The truth value of an array with more than one element is ambiguous.")
    stand_ins = [stand_in(each) for each in operands]
    common = nep50.agreed(stand_ins, lambda chosen: np.arange(*map(nep50.sample, chosen)).dtype)
    asked = common if dtype is None else dtype_of(dtype)
    # The numbers themselves are subtracted, divided and added, in their own dtypes.
    begin, end, by = operands
    count = apply(np.ceil, in_type(as_operand((end - begin) / by), np.dtype(np.float64), ()))
    check(count == count, "ValueError", "arange: cannot compute length")
    check(apply(np.absolute, count) < 2.0**62, "ValueError", "Maximum allowed size exceeded")
    length = cast_expr(apply(np.maximum, count, 0.0), types.I64)
    shape = (Dim(length, origins_of(operands)),)
    element = types.from_dtype(asked)
    # NumPy casts the first two numbers, and continues with their difference.
    low, second = (cast_expr(in_type(as_operand(each), common, ()), element) for each in (begin, begin + by))
    return Traced(stretched(low, shape) + cast_expr(counted(length), element) * stretched(second - low, shape))


@compiles(np.linspace, is_made=True, is_row_major=True)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Computed as in NumPy: start + step * (0, 1, ...), and the last number is exactly `stop`."""
    require_static((endpoint, retstep, dtype, axis), "how np.linspace counts")
    count = _count(num)
    first, last = as_operand(start), as_operand(stop)
    own = broadcast_shapes(shape_of(first), shape_of(last))
    place = shapes.normalize_axis(axis, len(own) + 1)
    if is_static((start, stop, num)):
        with numpys_refusal():
            spread, step = np.linspace(start, stop, num, endpoint, retstep=True, dtype=dtype, axis=axis)
        if spread.size <= STORED:
            return (of_array(spread), step) if retstep else of_array(spread)
    computed = nep50.common_dtype([stand_in(first), stand_in(last), float])
    spread, step = _spread(first, last, computed, own, count, endpoint)
    if place:
        spread = emit(TransposeOp, spread, permutation=[*range(1, place + 1), 0, *range(place + 1, len(own) + 1)])
    made = Traced(spread)
    if dtype is not None and dtype_of(dtype).kind in "iu":
        made = Traced(apply(np.floor, spread))
    found = made if dtype is None else cast(made, dtype_of(dtype))
    return (found, Traced(step, origins=origins_of(start, stop, num))) if retstep else found


def _count(num: Any) -> Size:
    if _depends_on_data(num):
        return run_size(num, "np.linspace")
    require_static(num, "the length of np.linspace")
    with numpys_refusal():
        count = operator.index(num)
        if count < 0:
            raise ValueError(f"Number of samples, {num}, must be non-negative.")
        return np.empty(count).size


def _spread(
    first: Traced | Number, last: Traced | Number, dtype: np.dtype, own: Shape, count: Size, endpoint: bool
) -> tuple[Expr, Expr]:
    """The numbers along the first axis, and the step between them."""
    element, shape = types.from_dtype(dtype), (count, *own)
    low, high = in_type(first, dtype, own), in_type(last, dtype, own)
    places = _places(count, shape)
    parts = number(count, element) - (1.0 if endpoint else 0.0)
    if isinstance(parts, Expr):
        some = where(parts > 0.0, parts, 1.0)
        step = (high - low) / stretched(some, own)
        shown = where(stretched(parts > 0.0, own), step, stretched(constant(np.nan, element), own))
    else:
        step = (high - low) / parts if parts > 0 else high - low
        shown = step if parts > 0 else stretched(constant(np.nan, element), own)
    spread = stretched(low, shape) + cast_expr(places, element) * stretched(step, shape)
    if endpoint and not (isinstance(count, int) and count <= 1):
        end = value_of(count) - 1
        is_last = (places == (stretched(end, shape) if isinstance(end, Expr) else end)) & (places > 0)
        spread = where(is_last, stretched(high, shape), spread)
    return spread, shown
