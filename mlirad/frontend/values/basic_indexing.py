"""Basic indexing: turns the index in `x[...]` into a view, and checks its bounds.

Reads: a View and an index of ints, slices, None and Ellipsis, static or traced. Writes: the checks, as nd ops. Leaves:
a View.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, emit
from mlirad.dialect.core.intervals import HIGHEST
from mlirad.dialect.ops.check import check, check_index
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.wrapped_index import WrapIndexOp
from mlirad.errors import DTypeError, StaticIndexError, StaticOverflowError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.values import affine
from mlirad.frontend.values.affine import Int
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.sizes import Dim, Size, as_size, value_of
from mlirad.frontend.values.traced import Traced, origins_of, require_static
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import New, Start

_NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and "
    "integer or boolean arrays are valid indices"
)
_TOO_LARGE = "Python int too large to convert to C long"


def is_basic(index: Any) -> bool:
    """Whether `x[index]` is a view: the index holds only ints, slices, None and Ellipsis."""
    entries = index if isinstance(index, tuple) else (index,)
    return not any(_is_advanced(entry) for entry in entries)


def _is_advanced(entry: Any) -> bool:
    if isinstance(entry, Traced):
        if entry.several is not None and bool in entry.several.kinds:
            raise PoisonUsed(entry.several.poison)  # a bool is a mask
        return entry.ndim > 0 or entry.kind is bool
    if isinstance(entry, np.ndarray):
        return entry.ndim > 0 or entry.dtype == bool
    return isinstance(entry, list | tuple | bool | np.bool_)


def compose(view: View, index: Any, boundscheck: bool = True) -> View:
    """The view `x[index]` of the view x. Emits the checks of traced ints.

    Raises StaticIndexError if an index is certainly out of bounds.
    """
    entries = _expanded(index if isinstance(index, tuple) else (index,), view.ndim)
    shape = view.shape
    starts: list[Start] = []
    sizes: list[Size] = []
    strides: list[int] = []
    axes: list[int | New] = []
    for entry in entries:
        if entry is None:
            axes.append(New(1))
            continue
        axis, length = len(starts), shape[len(starts)]
        if isinstance(entry, slice):
            start, size, stride = _slice(entry, length, boundscheck)
            axes.append(axis)
        else:
            start, size, stride = _element(entry, axis, length, boundscheck), 1, 1
        starts.append(start)
        sizes.append(size)
        strides.append(stride)
    return view.affine(axes, starts, sizes, strides)


def _expanded(entries: Sequence[Any], rank: int) -> list[Any]:
    """The entries, with the ellipsis replaced by slices, and missing slices added at the end."""
    ellipses = [place for place, entry in enumerate(entries) if entry is Ellipsis]
    if len(ellipses) > 1:
        raise StaticIndexError("an index can only have a single ellipsis ('...')")
    given = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if given > rank:
        kind = "0-dimensional" if rank == 0 else f"{rank}-dimensional"
        raise StaticIndexError(f"too many indices for array: array is {kind}, but {given} were indexed")
    place = ellipses[0] if ellipses else len(entries)
    whole = [slice(None)] * (rank - given)
    return [*entries[:place], *whole, *entries[place + len(ellipses) :]]


def _element(entry: Any, axis: int, length: Size, boundscheck: bool) -> Start:
    if isinstance(entry, np.ndarray) and entry.ndim == 0 and entry.dtype.kind in "iu":
        entry = entry[()]
    if isinstance(entry, Traced) and not entry.ndim and entry.kind is int:
        return checked(_as_i64(entry), axis, length, boundscheck)
    if _is_advanced(entry):
        raise UnsupportedSyntaxError("indexing by arrays, lists and bools is not supported here")
    if isinstance(entry, Traced) and entry.dtype == np.float64:
        # A value of several kinds may be an int on the path that is taken.
        raise UnsupportedSyntaxError("an index is a float here, or may be one on some path", hint="write x[int(i)]")
    if isinstance(entry, Traced) or not hasattr(type(entry), "__index__"):
        raise StaticIndexError(_NOT_AN_INDEX)
    position = int(entry)
    if getattr(entry, "dtype", None) == np.uint64 and position > HIGHEST:
        raise StaticOverflowError(_TOO_LARGE)
    if isinstance(length, Dim):
        return checked(constant(position, types.I64), axis, length, boundscheck)
    if not -length <= position < length:
        raise StaticIndexError(f"index {position} is out of bounds for axis {axis} with size {length}")
    return position % length


def checked(index: Expr, axis: int, length: Size, boundscheck: bool) -> Expr:
    """An i64 index made non-negative, and checked at run time."""
    size = affine.as_expr(value_of(length))
    return check_index(index, size, axis) if boundscheck else emit(WrapIndexOp, index, size)


def _as_i64(x: Traced) -> Expr:
    """An integer as an index. NumPy raises OverflowError for a uint64 from 2**63 on."""
    if x.dtype == np.uint64:
        check(x.scalar <= HIGHEST, "OverflowError", _TOO_LARGE)
    return cast_expr(x.scalar, types.I64)


# --- slices -----------------------------------------------------------------------------------------------------


def _slice(entry: slice, length: Size, boundscheck: bool) -> tuple[Start, Size, int]:
    """(start, size, stride) of a slice along an axis of `length` elements."""
    start, stop = _bound(entry.start), _bound(entry.stop)
    step = require_static(_bound(entry.step), "the step of a slice")
    if step == 0:
        raise StaticValueError("slice step cannot be zero")
    stride = 1 if step is None else step
    if not isinstance(length, Dim) and not isinstance(start, Traced) and not isinstance(stop, Traced):
        first, last, stride = slice(start, stop, step).indices(length)
        size = len(range(first, last, stride))
        return (first if size else 0), size, stride
    begin, end = _value(start), _value(stop)
    count = None if begin is None or end is None or isinstance(length, Dim) else affine.difference(end, begin)
    if count == 0:
        return 0, 0, stride
    size = 0 if count is None else len(range(0, count, stride))
    if size and not isinstance(length, Dim) and (size - 1) * abs(stride) < length:
        assert begin is not None and count is not None
        fits = _fits(begin, count, stride, length)
        if fits is not False:
            return _moving_slice(begin, count, fits, stride, length, boundscheck), size, stride
    origins = origins_of(start, stop) | (length.origins if isinstance(length, Dim) else frozenset())
    first, number = _clipped(begin, end, stride, value_of(length))
    return first, as_size(number, origins), stride


def _bound(bound: Any) -> int | Traced | None:
    if isinstance(bound, Traced) and not bound.ndim and bound.kind is int:
        return bound
    if isinstance(bound, np.ndarray) and bound.ndim == 0 and bound.dtype.kind in "iu":
        return int(bound)
    if bound is None or (not isinstance(bound, Traced | np.ndarray) and hasattr(type(bound), "__index__")):
        return None if bound is None else int(bound)
    raise DTypeError("slice indices must be integers or None or have an __index__ method")


def _value(bound: int | Traced | None) -> Int | None:
    if not isinstance(bound, Traced):
        return bound
    # Bounds beyond every possible length are clipped, like those of slices.
    expr = apply(np.minimum, bound.scalar, HIGHEST) if bound.dtype == np.uint64 else bound.scalar
    return affine.simplified(cast_expr(expr, types.I64))


# Slices of fixed length that may start anywhere: `x[i:i+3]`.


def _fits(begin: Int, count: int, stride: int, length: int) -> bool | None:
    """Whether a slice from `begin` to `begin + count` fits in the axis, by the bounds of the loop that `begin` depends
    on. None: unknown."""
    reach = (len(range(0, count, stride)) - 1) * abs(stride)
    lowest, highest = (0, length - 1 - reach) if stride > 0 else (max(reach, -count), length - 1)
    if affine.is_at_least(begin, lowest) and affine.is_at_least(highest, begin):
        return True
    return False if affine.is_of_this_block(begin) else None


def _moving_slice(begin: Int, count: int, fits: bool | None, stride: int, length: int, boundscheck: bool) -> Start:
    """The start of a slice of fixed length. Where Python would shorten the slice, it is a ValueError at run time."""
    if fits:
        return begin
    first = affine.as_expr(begin)
    wrapped = emit(WrapIndexOp, first, constant(length, types.I64))
    if boundscheck:
        size = len(range(0, count, stride))
        reach = (size - 1) * abs(stride) + 1
        # Negative bounds count from the end, but only if both are negative: x[-2:1] is empty.
        if stride > 0:
            inside = (wrapped >= 0) & (wrapped <= length - reach) & ((first >= 0) | (first < -count))
        else:
            inside = (wrapped >= reach - 1) & (wrapped < length) & ((first < 0) | (first >= -count))
        message = f"a slice of {size} elements that starts at {{0}} does not fit in an axis of {length}"
        check(inside, "ValueError", message, first)
    return wrapped


# Slices of a length known only at run time.


def _clipped(begin: Int | None, end: Int | None, stride: int, length: Int) -> tuple[Int, Int]:
    """(start, size) as in `slice.indices(length)` and range; the start is in range even if the size is 0."""
    if stride > 0:
        first = 0 if begin is None else affine.maximum(_wrapped(begin, length), 0)
        last = length if end is None else affine.minimum(_wrapped(end, length), length)
        span = _difference(last, first, 0, length)
        return affine.minimum(first, length), _ceiling(span, min(stride, affine.SMALL))
    highest = affine.subtract(length, 1)
    first = highest if begin is None else affine.minimum(_wrapped(begin, length), highest)
    last = -1 if end is None else affine.maximum(_wrapped(end, length), -1)
    span = _difference(first, last, -1, highest)
    return affine.maximum(first, 0), _ceiling(span, min(-stride, affine.SMALL))


def _difference(x: Int, y: Int, lowest: Int, highest: Int) -> Int:
    """x - y, for x up to `highest` and y from `lowest` on. If the difference might not fit, both are clamped to these
    limits. A negative difference stays negative or becomes 0."""
    x = x if affine.is_small(x) else affine.maximum(x, lowest)
    y = y if affine.is_small(y) else affine.minimum(y, highest)
    return affine.subtract(x, y)


def _ceiling(span: Int, stride: int) -> Int:
    """ceil(span / stride), at least 0: the number of elements in a slice."""
    return affine.floor_divide(affine.maximum(affine.add(span, stride - 1), 0), stride)


def _wrapped(bound: Int, length: Int) -> Int:
    """Resolve a bound: a negative one counts from the end."""
    if affine.is_at_least(bound, 0):
        return bound
    if affine.is_at_least(-1, bound):
        return affine.add(bound, length)
    return emit(WrapIndexOp, affine.as_expr(bound), affine.as_expr(length))
