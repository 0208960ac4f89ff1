"""The lanes of arguments, or the parts of a batch: the axes along which they lie, and how many there are.

Reads: values, and the axes that a transform is given. Writes: transpositions that move an axis of lanes to the front.
Leaves: the leaves of the arguments, each with its axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.ops.movement import TransposeOp
from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining import outline, value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.sizes import (
    Size,
    require_equal,
)
from mlirad.frontend.values.values import Object, Ref, Static, Tuple, Value, kind_of
from mlirad.requests.lanes_and_parts import Axes, AxesByKey, axes_of


@dataclass(frozen=True, eq=False)
class Laned:
    """A leaf of the arguments. axis: the axis of its lanes (None: it has none). contents: with this axis first."""

    leaf: Value
    axis: int | None
    contents: Expr | None = None


def axes_given(context: Context, value: Value) -> Axes:
    """Axes given to the transform in the function."""
    value = context.use(value)
    if isinstance(value, Tuple):
        return tuple(axes_given(context, item) for item in value.items)
    if isinstance(value, Object):
        entry = storage.entry_of(context, value)
        items = tuple(axes_given(context, item) for item in entry.items)
        return items if entry.kind is list else AxesByKey(tuple(zip(entry.keys, items, strict=True)))
    try:
        return axes_of(storage.static(context, value, "an axis of vmap"))
    except TypeError as error:
        raise DTypeError(str(error), context.location) from None


def all_laned(context: Context, axes: Axes, args: Sequence[Value], kwargs: dict[str, Value], name: str) -> list[Laned]:
    """The leaves of all arguments. axes: those of the positional arguments; others have their lanes along axis 0."""
    if isinstance(axes, tuple) and len(axes) != len(args):
        counts = [
            f"{count} {noun}{'s' * (count != 1)}" for count, noun in ((len(axes), "item"), (len(args), "argument"))
        ]
        raise ShapeError(f"in_axes of {name} has {counts[0]} for {counts[1]}", context.location)
    each = [*(axes if isinstance(axes, tuple) else (axes,) * len(args)), *(0 for _ in kwargs)]
    return [
        laned
        for number, (value, axis) in enumerate(zip([*args, *kwargs.values()], each, strict=True))
        for laned in _laned(context, value, axis, f"argument {number} of {name}")
    ]


def outlined_for(
    context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value], leaves: Sequence[Value]
) -> Outlined:
    """The function, interpreted for arguments with the same structure and these leaves."""
    rest, owner = iter(leaves), partial(value_trees.owner_of_copy, context)
    given = [value_trees.mapped(context, each, lambda _: next(rest), owner) for each in (*args, *kwargs.values())]
    named = dict(zip(kwargs, given[len(args) :], strict=True))
    return outline.outline(context, function, given[: len(args)], named, [*args, *kwargs.values()])


def _laned(context: Context, value: Value, axes: Axes, what: str) -> Iterator[Laned]:
    """The leaves of an argument, and the axes of their lanes."""
    value = context.use(value)
    if isinstance(value, Tuple | Object) and isinstance(axes, tuple | AxesByKey):
        yield from (
            laned for item, axis in _items(context, value, axes, what) for laned in _laned(context, item, axis, what)
        )
        return
    if axes is not None and (kind := value_trees.opaque_kind_in(context, value)) is not None:
        hint = "in_axes=None passes it to all lanes or parts"
        raise DTypeError(f"{what} is a {kind}, whose arrays have no lanes or parts", context.location, hint)
    for leaf in value_trees.leaves_of(context, value):
        yield _with_lanes(context, leaf, axes, what)


def _items(
    context: Context, value: Tuple | Object, axes: tuple[Axes, ...] | AxesByKey, what: str
) -> Iterator[tuple[Value, Axes]]:
    """The items of a container with their axes."""
    entry = storage.entry_of(context, value) if isinstance(value, Object) else None
    items = value.items if isinstance(value, Tuple) else storage.entry_of(context, value).items
    keys = None if entry is None or entry.kind is list else entry.keys
    return paired(context, items, keys, axes, what)


def paired(
    context: Context, items: Sequence[Any], keys: Sequence[Any] | None, axes: tuple[Axes, ...] | AxesByKey, what: str
) -> Iterator[tuple[Any, Axes]]:
    """The items of a container, which may be a dict with these keys, with their axes."""
    if isinstance(axes, AxesByKey):
        named = dict(axes.items)
        if keys is not None and set(keys) == set(named):
            return zip(items, (named[key] for key in keys), strict=True)
    elif keys is None and len(axes) == len(items):
        return zip(items, axes, strict=True)
    raise ShapeError(f"the axes of {what} have another structure than the value", context.location)


def _with_lanes(context: Context, leaf: Value, axes: Axes, what: str) -> Laned:
    if axes is None or (isinstance(leaf, Static) and leaf.value is None):
        return Laned(leaf, None)
    if not isinstance(axes, int):
        raise ShapeError(f"the axes of {what} have another structure than the value", context.location)
    hint = "pass None as its axis in in_axes, and every lane gets the whole value"
    if not isinstance(leaf, Ref):
        raise ShapeError(f"{what} is {kind_of(leaf)}, which has no axis {axes}", context.location, hint)
    axis = required_axis(context, axes, leaf.ndim, what)
    return Laned(leaf, axis, moved(value_trees.contents(context, leaf), axis, 0))


def required_axis(context: Context, axis: int, count: int, what: str) -> int:
    """An axis, counted from 0."""
    if not -count <= axis < count:
        message = f"{what} has {count} {'axis' if count == 1 else 'axes'}, and no axis {axis}"
        raise ShapeError(message, context.location)
    return axis % count


def moved(x: Expr, source: int, target: int) -> Expr:
    """x with one axis moved."""
    order = [axis for axis in range(len(x.shape)) if axis != source]
    order.insert(target, source)
    return x if source == target else emit(TransposeOp, x, permutation=order)


def number_of_lanes(context: Context, found: Sequence[Laned], name: str) -> Size:
    sizes = [laned.leaf.shape[laned.axis] for laned in found if isinstance(laned.leaf, Ref) and laned.axis is not None]
    if not sizes:
        raise ShapeError(f"no argument of {name} has lanes", context.location, "give one an axis in in_axes")
    message = f"{name}: one argument has {{}} lanes, and another one {{}}"
    first = sizes[0]
    for size in sizes[1:]:
        if isinstance(first, int) and isinstance(size, int) and first != size:
            raise ShapeError(message.format(first, size), context.location)
        require_equal(first, size, message)
    return first
