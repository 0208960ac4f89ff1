"""Indices in the form that the layers below take, views of arrays, and results of NumPy's functions with their layout.

Reads: values. Writes: ops. Leaves: operands, and arrays that are views.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlirad.errors import StaticIndexError, StaticOverflowError, StaticZeroDivisionError
from mlirad.frontend.interpreter import dispatch, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.selectors import renumbered, selected_start
from mlirad.frontend.numpy.result_strides import Asked, strides_as
from mlirad.frontend.values import numpy_strides
from mlirad.frontend.values.basic_indexing import compose
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.sizes import is_static
from mlirad.frontend.values.state import reached
from mlirad.frontend.values.traced import require_static
from mlirad.frontend.values.values import Alternative, Lazy, Ref, Static, Tuple, Value
from mlirad.frontend.values.views.row_major import c_strides
from mlirad.frontend.values.views.view import View
from mlirad.library.spells import is_in_library

_signature = lru_cache(256)(inspect.signature)
# Exceptions that compiled code raises if, and only if, it reaches them, as Python does.
RUNTIME_ERRORS = (ZeroDivisionError, IndexError, OverflowError, KeyError, ValueError)


def computed(context: Context, compute: Callable[[], Any], strides: tuple[int, ...] | None = None) -> Value:
    """A value that Python or NumPy computes: from traced operands (as ops), or from static ones (now)."""
    try:
        with np.errstate(all="ignore"), numpys_refusal():
            return storage.result(context, compute(), strides)
    except RUNTIME_ERRORS as error:
        # The path with this certain error may never be taken, so it is raised at run time.
        raise certain_error(context, error) from None


def certain_error(context: Context, error: Exception) -> Exception:
    """The exception to raise for a certain error; an error of run time is emitted."""
    for kind, name in (
        (StaticZeroDivisionError, "ZeroDivisionError"),
        (StaticIndexError, "IndexError"),
        (StaticOverflowError, "OverflowError"),
    ):
        if isinstance(error, kind):
            return context.failed(name, error.message)
    return error


def elementwise_strides(*operands: Value) -> tuple[int, ...] | None:
    return numpy_strides.elementwise([numpy_strides.view_of_all(value) for value in operands if isinstance(value, Ref)])


def laid_out(
    context: Context, result: Value, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """The result of a call of NumPy's function, or of a method by name, with the layout that NumPy gives it."""
    asked = Asked(function, args, kwargs, lambda each: context.state.heap[each.number])
    if isinstance(result, Ref) and not result.shape:
        # np.reshape(s, ()) calls the method of a NumPy number, which returns a number; np.flip(x) is x[()].
        found = asked.results()
        if isinstance(found, np.generic | bool | int | float):
            return dataclasses.replace(context.read_scalar(result), weak=not isinstance(found, np.generic))
    if asked.is_row_major:
        return result
    if isinstance(result, Ref) and result.ndim > 1:
        return with_strides(result, strides_as(asked.results(), result.shape))
    if isinstance(result, Tuple):
        found = asked.results()
        parts = found if isinstance(found, tuple) and len(found) == len(result.items) else (None,) * len(result.items)
        pairs = zip(result.items, parts, strict=True)
        items = (with_strides(x, strides_as(y, x.shape)) if isinstance(x, Ref) else x for x, y in pairs)
        return Tuple(tuple(items), result.kind)
    return result


def with_strides(array: Ref, strides: tuple[int, ...] | None) -> Ref:
    """A new array with this memory layout."""
    (alternative,) = array.alternatives
    if strides is None:
        return array
    return Ref((dataclasses.replace(alternative, view=dataclasses.replace(alternative.view, strides=strides)),))


def viewed(context: Context, array: Ref, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref | None:
    """A view of an array, by a view function; None if NumPy makes a copy."""
    try:
        _signature(function).bind(None, *args, **kwargs)
    except TypeError as error:
        raise context.refusal(f"this view of an array is not compiled with these arguments: {error}") from None
    views = [function(alternative.view, *args, **kwargs) for alternative in array.alternatives]
    if all(view is None for view in views):
        unknown = any(
            _depends_on_layout(alternative.view, lambda view: function(view, *args, **kwargs))
            for alternative in array.alternatives
        )
        if unknown and is_seen(context, array) and not _is_read_only(context):
            raise context.refusal(
                "whether this is a view depends on the memory layout of the array", "copy it first: x.copy()"
            )
        return None
    if any(view is None for view in views):
        raise context.refusal(
            "this may be one of several arrays: the result is a view of one, and a copy of another",
            "copy it first: x.copy()",
        )
    return distinct(array.seen_as(views, lambda view: function(view, *args, **kwargs)))


def _depends_on_layout(view: View, function: Callable[[View], View | None]) -> bool:
    """Whether a function that gives a copy of a view of unknown layout gives a view of a contiguous array."""
    if not numpy_strides.is_unknown(view) or not is_static(view.shape):
        return numpy_strides.is_unknown(view)
    layouts = (c_strides(view.shape), c_strides(view.shape[::-1])[::-1])
    return any(function(dataclasses.replace(view, strides=strides)) is not None for strides in layouts)


def _is_read_only(context: Context) -> bool:
    """Whether the code that asks for a view is the library's. It reads a view that may be a copy, and neither writes it
    nor returns it: what it writes are elements, parts, and `as_line`, which is always a view."""
    return bool(context.active) and is_in_library(context.frame.source.filename)


def is_seen(context: Context, array: Ref) -> bool:
    """Whether anything else in the program refers to the array: if not, a view of it is as good as a copy."""
    found = reached(context.state, (value for _, value in context.state.places()), context.seen_by)
    return any(alternative.cell in found.cells for alternative in array.alternatives)


def distinct(array: Ref) -> Ref:
    """The array, with alternatives merged that have become one view of one cell with several starts."""
    groups: dict[tuple[int, Any], list[int]] = {}
    for position, alternative in enumerate(array.alternatives):
        groups.setdefault((alternative.cell, alternative.view.lens), []).append(position)
    if array.selector is None or len(groups) == len(array.alternatives):
        return array
    made: list[Alternative] = []
    numbers = [0] * len(array.alternatives)
    for group, positions in enumerate(groups.values()):
        chosen = [array.alternatives[position].view for position in positions]
        for position in positions:
            numbers[position] = group
        params = tuple(
            selected_start(array.selector, positions, starts)
            for starts in zip(*(view.params for view in chosen), strict=True)
        )
        known = all(view.strides == chosen[0].strides for view in chosen)
        strides = chosen[0].strides if known else numpy_strides.unknown_strides(chosen[0].shape)
        view = dataclasses.replace(chosen[0], params=params, strides=strides)
        made.append(Alternative(array.alternatives[positions[0]].cell, view))
    return Ref(tuple(made), None if len(made) == 1 else renumbered(array.selector, numbers))


def index_operand(context: Context, index: Value) -> Any:
    """An index in the form that views take: 0-d arrays and numbers are read."""
    index = context.use(index)
    if isinstance(index, Lazy) and index.kind is slice:
        return slice(*(index_operand(context, part) for part in index.parts))
    if isinstance(index, Tuple):
        return tuple(index_operand(context, part) for part in index.items)
    if isinstance(index, Ref) and not index.shape:
        return context.read_scalar(index)
    if isinstance(index, Static) and isinstance(index.value, range):
        return list(index.value)
    if isinstance(index, Lazy) and index.kind is range:
        numbers = dispatch.call(context, Static(np.arange), index.parts, {})
        assert isinstance(numbers, Ref)
        return context.read(numbers)
    return storage.operand(context, index)


def as_slice(context: Context, index: Value) -> Value:
    """An index with static parts; slices become Python slices."""
    return Static(require_static(index_operand(context, index), "an index")) if isinstance(index, Lazy) else index


def part(context: Context, array: Ref, position: Any) -> Ref:
    """The view `array[position]`, for a basic index."""
    try:
        parts = [compose(a.view, position, context.boundscheck) for a in array.alternatives]
    except RUNTIME_ERRORS as error:
        raise certain_error(context, error) from None
    return distinct(array.seen_as(parts, lambda view: compose(view, position, boundscheck=False)))
