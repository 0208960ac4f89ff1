"""Pytrees of values: their leaves, values of the same structure, and the operands for leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from xdsl.ir import Attribute

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values import numpy_strides, sizes
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Object, Owner, Ref, Tuple, Value
from mlirad.tree import GeneratorParts, SparseParts

# Pytrees of values.


def leaves_of(context: Context, value: Value) -> Iterator[Value]:
    """The leaves of a value, as `mlirad.tree` orders them."""
    value = context.use(value)
    if isinstance(value, Tuple):
        for item in value.items:
            yield from leaves_of(context, item)
    elif isinstance(value, Object):
        for item in storage.entry_of(context, value).items:
            yield from leaves_of(context, item)
    else:
        yield value


def mapped(
    context: Context,
    value: Value,
    function: Callable[[Value], Value],
    owner: Callable[[Object], Owner | None] | None = None,
    has_patterns: bool = False,
) -> Value:
    """A value with the same structure and other leaves; its lists, dicts and dataclasses are new. owner: the owner of
    each.

    has_patterns: the index arrays of sparse matrices stay the same.
    """
    value = context.use(value)
    if isinstance(value, Tuple):
        items = tuple(mapped(context, item, function, owner, has_patterns) for item in value.items)
        return Tuple(items, value.kind)
    if isinstance(value, Object):
        entry = storage.entry_of(context, value)
        first = 1 if has_patterns and isinstance(entry.keys, SparseParts) else len(entry.items)
        changed = (mapped(context, item, function, owner, has_patterns) for item in entry.items[:first])
        items = (*changed, *entry.items[first:])
        return context.new_object(Entry(entry.kind, entry.keys, items, None if owner is None else owner(value)))
    return function(value)


def owner_of_copy(context: Context, value: Object) -> Owner:
    """The owner of a copy of a list, dict or dataclass."""
    entry = storage.entry_of(context, value)
    owner = entry.borrowed or Owner(f"a copy of a {entry.kind.__name__}")
    return dataclasses.replace(owner, of=original(context, value))


def original(context: Context, value: Object) -> int:
    """The original of a list, dict or dataclass that is a copy; otherwise the object itself."""
    owner = context.state.heap[value.number].borrowed
    return value.number if owner is None or owner.of is None else owner.of


def objects_in(context: Context, value: Value) -> Iterator[Object]:
    """The lists, dicts and dataclasses in a value."""
    value = context.use(value)
    if isinstance(value, Object):
        yield value
    items = (
        storage.entry_of(context, value).items
        if isinstance(value, Object)
        else value.items
        if isinstance(value, Tuple)
        else ()
    )
    for item in items:
        yield from objects_in(context, item)


def contents(context: Context, value: Ref | Traced) -> Expr:
    """A leaf as an operand or a result: a tensor for an array, a scalar for a number."""
    return context.read(value).contents if isinstance(value, Ref) else value.expr


def contents_type(leaf: Ref | Traced) -> Attribute:
    """The type of the contents of a leaf of a plain result."""
    if isinstance(leaf, Traced):
        return leaf.expr.type
    return types.tensor(sizes.pattern(leaf.shape), types.from_dtype(leaf.dtype))


def like(context: Context, leaf: Ref | Traced, expr: Expr, strides: tuple[int, ...] | None = None) -> Value:
    """A new value of the same kind as `leaf`: a C-contiguous array, unless strides are given."""
    if isinstance(leaf, Ref):
        return context.new_array(expr, strides, tuple(leaf.shape) if sizes.is_static(leaf.shape) else None)
    return dataclasses.replace(leaf, expr=expr)


def copy_of(context: Context, leaf: Ref | Traced, expr: Expr) -> Value:
    """A copy of an argument that looks like the argument to the function, including its layout."""
    if isinstance(leaf, Traced):
        return like(context, leaf, expr)
    made = context.new_array(expr, numpy_strides.strides_of_all(leaf), leaf.shape)
    (alternative,) = made.alternatives
    readonly = all(each.view.readonly for each in leaf.alternatives)
    view = dataclasses.replace(alternative.view, readonly=readonly)
    return Ref((dataclasses.replace(alternative, view=view),))


def opaque_kind_in(context: Context, value: Value) -> str | None:
    """The class of a sparse matrix, or of a random generator, in a value."""
    entries = (storage.entry_of(context, each) for each in objects_in(context, value))
    opaque = (entry.kind.__name__ for entry in entries if isinstance(entry.keys, SparseParts | GeneratorParts))
    return next(opaque, None)
