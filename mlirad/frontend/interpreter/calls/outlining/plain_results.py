"""Plain results: a function's result without the heap of its state, and values built from it in another state."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining.value_trees import like
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import buffers_of, is_short, list_in_arrays
from mlirad.frontend.values import numpy_strides, sizes
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Growth, Object, Ref, Static, Tuple, Value, kind_of
from mlirad.tree import GeneratorParts, SparseParts


@dataclass(frozen=True, eq=False)
class MadeObject:
    """A list, dict or dataclass in a plain result."""

    kind: type
    keys: tuple[Hashable, ...]
    items: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class InArrays:
    """A list that loops have filled, in a plain result. parts: its length, and the array of each leaf of its elements;
    the arrays' lengths are known only at run time."""

    growth: Growth
    parts: tuple[Static | Traced, ...]


# A result without a heap.
Plain = MadeObject | InArrays | Tuple | Ref | Traced | Static


def require_sizes(context: Context, result: Any, name: str) -> None:
    """Require that a differentiated function returns shapes that are known, or depend on data."""
    for leaf in result_leaves(context, result):
        if not isinstance(leaf, Ref):
            continue  # a number, or an array of a list
        try:
            sizes.require_known(leaf.shape, f"the shape of the result of {name}")
        except sizes.NeedStatic as need:
            need.place(context.returned.get(name, context.location))
            raise


def plain_result(context: Context, value: Value) -> Any:
    """A result with its containers copied out of the heap of the callee's state."""
    value = context.use(value)
    if isinstance(value, Tuple):
        return Tuple(tuple(plain_result(context, item) for item in value.items), value.kind)
    if isinstance(value, Object):
        grown = context.grown(value)
        if grown is not None and grown.growth is not None and not is_short(grown):
            length = grown.items[0]
            assert isinstance(length, Static | Traced)
            return InArrays(grown.growth, (length, *map(Traced, buffers_of(grown))))
        entry = storage.entry_of(context, value)
        return MadeObject(entry.kind, entry.keys, tuple(plain_result(context, item) for item in entry.items))
    if isinstance(value, Ref | Traced | Static):
        return value
    raise context.refusal(f"a function that is differentiated returns {kind_of(value)}", "return arrays and numbers")


def result_leaves(context: Context, value: Any, with_static: bool = False) -> Iterator[Any]:
    """The arrays and traced numbers of a plain result, and its static parts if requested."""
    if isinstance(value, MadeObject | Tuple):
        for item in value.items:
            yield from result_leaves(context, item, with_static)
    elif isinstance(value, InArrays):
        for part in value.parts:
            yield from result_leaves(context, part, with_static)
    elif with_static or isinstance(value, Ref | Traced):
        yield value


def rebuilt(
    context: Context, value: Any, results: Iterator[Expr], *, is_row_major: bool = False, has_patterns: bool = False
) -> Value:
    """A plain result in the caller's state: its leaves come from `results`, with the layouts of the plain result.

    has_patterns: the index arrays of sparse matrices are copied from it.
    """
    if has_patterns and isinstance(value, MadeObject) and isinstance(value.keys, SparseParts):
        numbers, *places = value.items
        items = (
            rebuilt(context, numbers, results, is_row_major=is_row_major),
            *(copied(context, each) for each in places),
        )
        return context.new_object(Entry(value.kind, value.keys, items))
    if isinstance(value, MadeObject | Tuple):
        items = tuple(
            rebuilt(context, item, results, is_row_major=is_row_major, has_patterns=has_patterns)
            for item in value.items
        )
        if isinstance(value, Tuple):
            return Tuple(items, value.kind)
        return context.new_object(Entry(value.kind, value.keys, items))
    if isinstance(value, InArrays):
        length, *arrays = (
            like(context, part, next(results)) if isinstance(part, Traced) else part for part in value.parts
        )
        arrays = [each.expr for each in arrays if isinstance(each, Traced)]
        return context.new_object(list_in_arrays(own(context, value.growth), length, arrays))
    if isinstance(value, Ref):
        contents = next(results)
        if is_row_major:
            return like(context, value, contents)
        if not sizes.is_static(value.shape):  # its sizes are values of the callee
            strides = None if value.ndim < 2 else numpy_strides.unknown_strides(sizes.shape_of(contents))
            return like(context, value, contents, strides)
        return like(context, value, contents, numpy_strides.strides_of_all(value))
    return like(context, value, next(results)) if isinstance(value, Traced) else value


def own(context: Context, growth: Growth) -> Growth:
    """Each list gets arrays of its own: loops count the appended elements by their number."""
    return dataclasses.replace(growth, number=context.fresh())


def opaque_kind_in_result(value: Any) -> str | None:
    """The class of a sparse matrix, or of a random generator, in a plain result."""
    if isinstance(value, MadeObject) and isinstance(value.keys, SparseParts | GeneratorParts):
        return value.kind.__name__
    inner = value.items if isinstance(value, MadeObject | Tuple) else ()
    return next(filter(None, map(opaque_kind_in_result, inner)), None)


def cotangents(context: Context, value: Any, results: Iterator[Expr]) -> Value:
    """A value with the structure of a plain result, made of C-contiguous arrays. The patterns of sparse matrices are
    copied."""
    return rebuilt(context, value, results, is_row_major=True, has_patterns=True)


def copied(context: Context, value: Value) -> Value:
    """A copy of an array."""
    return context.new_array(context.read(value).contents) if isinstance(value, Ref) else value
