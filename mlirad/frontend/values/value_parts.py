"""Visits, changes and renames the values inside a value."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.views.view import View

if TYPE_CHECKING:
    pass
from mlirad.frontend.values.values import (
    Alternative,
    Bound,
    Buffer,
    Closure,
    Flagged,
    Lazy,
    Object,
    Partial,
    PullbackValue,
    Ref,
    Snapshot,
    Static,
    Transformed,
    Tuple,
    Value,
)

# The values that contain no others: the most common ones.
SIMPLE = frozenset({Static, Traced, Ref, Object, Poison, PullbackValue, Buffer})


def parts_of(value: Value) -> tuple[Value, ...]:
    """The values that a value contains directly (without those that it refers to in the state)."""
    if value.__class__ in SIMPLE:
        return ()
    match value:
        case Tuple():
            return value.items
        case Closure():
            return value.defaults + tuple(default for _, default in value.keyword_defaults)
        case Bound():
            return (value.receiver,)
        case Partial():
            return (value.function, *value.args, *(part for _, part in value.keywords))
        case Transformed():
            return (value.function,)
        case Lazy():
            return value.parts if value.used is None else (*value.parts, value.used)
        case Flagged():
            return (value.value,)
    return ()


def with_parts(value: Value, parts: tuple[Value, ...]) -> Value:
    """The same value with other parts."""
    match value:
        case Tuple():
            return dataclasses.replace(value, items=parts)
        case Closure():
            split = len(value.defaults)
            names = (name for name, _ in value.keyword_defaults)
            named = tuple(zip(names, parts[split:], strict=True))
            return dataclasses.replace(value, defaults=parts[:split], keyword_defaults=named)
        case Bound():
            return dataclasses.replace(value, receiver=parts[0])
        case Partial():
            split = 1 + len(value.args)
            named = tuple((name, part) for (name, _), part in zip(value.keywords, parts[split:], strict=True))
            return Partial(parts[0], parts[1:split], named)
        case Transformed():
            return dataclasses.replace(value, function=parts[0])
        case Lazy():
            if value.used is None:
                return dataclasses.replace(value, parts=parts)
            *rest, used = parts
            assert isinstance(used, Object)
            return Lazy(value.kind, tuple(rest), used)
        case Flagged():
            return dataclasses.replace(value, value=parts[0])
    return value


@dataclass(frozen=True)
class Renaming:
    """A simultaneous renaming of SSA values, cells and objects."""

    ssa: Callable[[SSAValue], SSAValue] = lambda value: value
    cell: Callable[[int], int] = lambda cell: cell
    object: Callable[[int], int] = lambda number: number

    def expr(self, expr: Expr) -> Expr:
        new = self.ssa(expr.value)
        return expr if new is expr.value else Expr(new)

    def traced(self, value: Traced) -> Traced:
        new = self.ssa(value.expr.value)
        return value if new is value.expr.value else dataclasses.replace(value, expr=Expr(new))

    def view(self, view: View) -> View:
        if not view.params:
            return view
        params = tuple([self.expr(p) if isinstance(p, Expr) else p for p in view.params])
        return view if _are_same(params, view.params) else dataclasses.replace(view, params=params)

    def alternative(self, alternative: Alternative) -> Alternative:
        cell, view = self.cell(alternative.cell), self.view(alternative.view)
        is_same = cell == alternative.cell and view is alternative.view
        return alternative if is_same else Alternative(cell, view)

    def snapshot(self, snapshot: Snapshot | None) -> Snapshot | None:
        if snapshot is None:
            return None
        cells = tuple([self.expr(cell) for cell in snapshot.cells])
        view, contents = self.view(snapshot.view), self.expr(snapshot.contents)
        is_same = view is snapshot.view and contents is snapshot.contents and _are_same(cells, snapshot.cells)
        return snapshot if is_same else Snapshot(view, contents, cells)

    def value(self, value: Value) -> Value:
        match value:
            case Traced():
                return self.traced(value)
            case Ref():
                alternatives = tuple([self.alternative(each) for each in value.alternatives])
                selector = None if value.selector is None else self.expr(value.selector)
                snapshot = self.snapshot(value.snapshot)
                is_same = _are_same(alternatives, value.alternatives) and selector is value.selector
                return value if is_same and snapshot is value.snapshot else Ref(alternatives, selector, snapshot)
            case Object():
                return Object(self.object(value.number))
            case PullbackValue():
                return dataclasses.replace(value, residuals=self.expr(value.residuals))
            case Buffer():
                return Buffer(self.expr(value.contents))
            case Flagged():
                return dataclasses.replace(value, flag=self.expr(value.flag), value=self.value(value.value))
            case Static() | Poison():
                return value
        return _with_changed(value, self.value)


def _with_changed(value: Value, change: Callable[[Value], Value]) -> Value:
    """The value with each of its parts changed; the value itself if no part changes."""
    before = parts_of(value)
    after = tuple([change(part) for part in before])
    return value if _are_same(before, after) else with_parts(value, after)


def _are_same(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    """Whether two tuples of equal length contain the same objects."""
    return all(map(operator.is_, before, after))


def with_leaves(value: Value, change: Callable[[Value], Value]) -> Value:
    """The value, with each value in it changed that contains no others."""
    if value.__class__ in SIMPLE:
        return change(value)
    return _with_changed(value, lambda part: with_leaves(part, change))


def without_snapshots(value: Value) -> Value:
    """The value, without the known contents of its arrays."""

    def stripped(leaf: Value) -> Value:
        return Ref(leaf.alternatives, leaf.selector) if isinstance(leaf, Ref) and leaf.snapshot is not None else leaf

    return with_leaves(value, stripped)


def read_only(value: Value) -> Value:
    """The value, with its arrays as read-only views."""
    if isinstance(value, Ref):
        views = (dataclasses.replace(each.view, readonly=True) for each in value.alternatives)
        return value.seen_as(views, lambda view: dataclasses.replace(view, readonly=True))
    return with_parts(value, tuple(read_only(part) for part in parts)) if (parts := parts_of(value)) else value


def inside(value: Value) -> Iterable[Value]:
    """A value and all values inside it."""
    return (value,) if value.__class__ in SIMPLE else _inside(value)


def _inside(value: Value) -> Iterator[Value]:
    yield value
    for part in parts_of(value):
        yield from inside(part)
