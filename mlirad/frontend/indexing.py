"""Basic indexing: from what stands in `x[...]` to a view, with its bounds checked.

Reads: a View and an index of ints, slices, None and Ellipsis, static or traced. Writes: the checks, as nd ops.
Leaves: a View.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from mlirad.dialect import types
from mlirad.dialect.check import check, check_index
from mlirad.dialect.compare import cast as cast_expr
from mlirad.dialect.constant import ConstantOp
from mlirad.dialect.elementwise import AddOp, MulOp, NegOp, SubOp
from mlirad.dialect.expr import Expr, constant, emit
from mlirad.dialect.indexing import WrapIndexOp
from mlirad.errors import DTypeError, StaticIndexError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.traced import NeedStatic, Traced, origins_of, require_static
from mlirad.frontend.views import Affine, New, Start, View

_NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and "
    "integer or boolean arrays are valid indices"
)


def is_basic(index: Any) -> bool:
    """Whether `x[index]` is a view: of ints, slices, None and Ellipsis only."""
    entries = index if isinstance(index, tuple) else (index,)
    return not any(_is_advanced(entry) for entry in entries)


def _is_advanced(entry: Any) -> bool:
    if isinstance(entry, Traced):
        return entry.ndim > 0 or entry.kind is bool
    if isinstance(entry, np.ndarray):
        return entry.ndim > 0 or entry.dtype == bool
    return isinstance(entry, list | tuple | bool | np.bool_)


def compose(view: View, index: Any, boundscheck: bool = True) -> View:
    """The view that `x[index]` is of the view x. Checks of traced ints are emitted here.

    Raises StaticIndexError for what is certainly out of bounds, NeedStatic where the length of a slice is not known.
    """
    entries = _expanded(index if isinstance(index, tuple) else (index,), view.ndim)
    starts: list[Start] = []
    sizes: list[int] = []
    strides: list[int] = []
    axes: list[int | New] = []
    for entry in entries:
        if entry is None:
            axes.append(New(1))
            continue
        axis, length = len(starts), view.shape[len(starts)]
        if isinstance(entry, slice):
            start, size, stride = _slice(entry, length, boundscheck)
            axes.append(axis)
        else:
            start, size, stride = _element(entry, axis, length, boundscheck), 1, 1
        starts.append(start)
        sizes.append(size)
        strides.append(stride)
    return view.affine(Affine(view.shape, tuple(sizes), tuple(strides), tuple(axes)), starts)


def _expanded(entries: Sequence[Any], rank: int) -> list[Any]:
    """The entries with the ellipsis replaced by the slices it stands for, and those at the end added."""
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


def _element(entry: Any, axis: int, length: int, boundscheck: bool) -> Start:
    if isinstance(entry, np.ndarray) and entry.ndim == 0 and entry.dtype.kind in "iu":
        entry = entry[()]
    if isinstance(entry, Traced) and not entry.ndim and entry.kind is int:
        return checked(_as_i64(entry), axis, length, boundscheck)
    if _is_advanced(entry):
        raise UnsupportedSyntaxError("indexing by arrays, lists and bools is not supported here")
    if isinstance(entry, Traced) or not hasattr(entry, "__index__"):
        raise StaticIndexError(_NOT_AN_INDEX)
    position = int(entry)
    if not -length <= position < length:
        raise StaticIndexError(f"index {position} is out of bounds for axis {axis} with size {length}")
    return position % length


def checked(index: Expr, axis: int, length: int, boundscheck: bool) -> Expr:
    """An i64 index made non-negative, with its run-time check."""
    size = constant(length, types.I64)
    return check_index(index, size, axis) if boundscheck else emit(WrapIndexOp, index, size)


def _as_i64(x: Traced) -> Expr:
    return cast_expr(x.scalar, types.I64)


# --- slices -----------------------------------------------------------------------------------------------------


def _slice(entry: slice, length: int, boundscheck: bool) -> tuple[Start, int, int]:
    """(start, size, stride) of a slice of an axis of `length` elements."""
    start, stop = _bound(entry.start), _bound(entry.stop)
    stride = require_static(_bound(entry.step), "the step of a slice")
    if stride == 0:
        raise StaticValueError("slice step cannot be zero")
    if isinstance(start, Traced) or isinstance(stop, Traced):
        return _moving_slice(start, stop, 1 if stride is None else stride, length, boundscheck)
    first, last, stride = slice(start, stop, stride).indices(length)
    size = len(range(first, last, stride))
    return (first if size else 0), size, stride


def _bound(bound: Any) -> int | Traced | None:
    if isinstance(bound, Traced) and not bound.ndim and bound.kind is int:
        return bound
    if isinstance(bound, np.ndarray) and bound.ndim == 0 and bound.dtype.kind in "iu":
        return int(bound)
    if bound is None or (not isinstance(bound, Traced | np.ndarray) and hasattr(bound, "__index__")):
        return None if bound is None else int(bound)
    raise DTypeError("slice indices must be integers or None or have an __index__ method")


def _moving_slice(start: Any, stop: Any, stride: int, length: int, boundscheck: bool) -> tuple[Start, int, int]:
    """A slice that starts anywhere and has one length, `x[i:i+3]`.

    Where Python would shorten it at the array's end, it is a ValueError at run time.
    """
    span = None if start is None or stop is None else _difference(stop, start)
    size = 0 if span is None else len(range(0, span, stride))
    reach = (size - 1) * abs(stride) + 1
    if span is None or (size == 0 and span != 0) or reach > length:
        raise NeedStatic(origins_of(start, stop), "the length of a slice")
    if size == 0:
        return 0, 0, stride
    first = _as_i64(start) if isinstance(start, Traced) else constant(start, types.I64)
    wrapped = emit(WrapIndexOp, first, constant(length, types.I64))
    if boundscheck:
        # Negative bounds count from the end, but only if both are negative: x[-2:1] is empty.
        if stride > 0:
            fits = (wrapped >= 0) & (wrapped <= length - reach) & ((first >= 0) | (first < -span))
        else:
            fits = (wrapped >= reach - 1) & (wrapped < length) & ((first < 0) | (first >= -span))
        message = f"a slice of {size} elements that starts at {{0}} does not fit in an axis of {length}"
        check(fits, "ValueError", message, first)
    return wrapped, size, stride


def _difference(stop: int | Traced, start: int | Traced) -> int | None:
    """stop - start, where their affine forms have it known."""
    last, first = _affine_form(stop), _affine_form(start)
    terms = {value: last[0].get(value, 0) - first[0].get(value, 0) for value in {*last[0], *first[0]}}
    return None if any(terms.values()) else last[1] - first[1]


# A sum of coefficients times SSA values, and a constant.
_Form = tuple[dict[SSAValue, int], int]


def _affine_form(x: int | Traced) -> _Form:
    if not isinstance(x, Traced):
        return {}, x
    if x.dtype != np.int64:
        return {x.expr.value: 1}, 0
    return _form_of(x.expr.value, {})


def _form_of(value: SSAValue, known: dict[SSAValue, _Form]) -> _Form:
    if value not in known:
        known[value] = _form_of_new(value, known)
    return known[value]


def _form_of_new(value: SSAValue, known: dict[SSAValue, _Form]) -> _Form:
    op = value.owner
    if isinstance(op, ConstantOp):
        return {}, int(op.reference())
    if isinstance(op, NegOp):
        return _scaled(_form_of(op.x, known), -1)
    if isinstance(op, AddOp | SubOp):
        return _sum(_form_of(op.x, known), _form_of(op.y, known), 1 if isinstance(op, AddOp) else -1)
    if isinstance(op, MulOp):
        x, y = _form_of(op.x, known), _form_of(op.y, known)
        for factor, other in ((x, y), (y, x)):
            if not factor[0]:
                return _scaled(other, factor[1])
    return {value: 1}, 0


def _scaled(form: _Form, factor: int) -> _Form:
    return {value: factor * c for value, c in form[0].items()}, factor * form[1]


def _sum(x: _Form, y: _Form, sign: int) -> _Form:
    terms = {value: x[0].get(value, 0) + sign * y[0].get(value, 0) for value in {*x[0], *y[0]}}
    return {value: c for value, c in terms.items() if c}, x[1] + sign * y[1]
