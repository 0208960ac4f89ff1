"""Hashable descriptions of values and states: equal descriptions mean equal values.

Reads: values and states. Writes: nothing. Leaves: descriptions, up to the names of SSA values, cells and objects.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import parts_of
from mlirad.frontend.values.values import (
    Bound,
    Buffer,
    Closure,
    Flagged,
    Lazy,
    Object,
    Partial,
    PullbackValue,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    bare,
)
from mlirad.frontend.values.views.view import View
from mlirad.signature import COMPARABLE, NUMBERS, text_of_number
from mlirad.xdsl_support.once_per_object import once


def describe(
    value: Value, name: Callable[[SSAValue], Hashable], number: Callable[[int], Hashable] = lambda number: number
) -> Hashable:
    """A hashable description: values with equal descriptions are the same value, up to the names that `name` gives SSA
    values and `number` gives cells and objects."""
    match value:
        case Static():
            known = value.value
            if isinstance(known, NUMBERS):
                return ("static", type(known), text_of_number(known))
            is_comparable = type(known) in COMPARABLE or isinstance(known, np.dtype)
            return ("static", type(known), repr(known) if is_comparable else id(known))
        case Traced():
            either = None if value.either is None else value.either.key
            return (
                "number",
                name(value.expr.value),
                value.weak,
                either,
                None if value.several is None else value.several.kinds,
                value.zero_d,
                value.origins,
            )
        case Ref():
            arrays = tuple(
                (number(a.cell), a.view.steps, _describe_params(a.view, name), a.view.origins)
                for a in value.alternatives
            )
            selector = None if value.selector is None else name(value.selector.value)
            return ("array", arrays, selector, None if value.snapshot is None else name(value.snapshot.contents.value))
        case Object():
            return ("object", number(value.number))
        case Poison():
            return ("poison", value.why)
        case PullbackValue():
            return ("pullback", name(value.residuals.value))
        case Buffer():
            return ("buffer", name(value.contents.value))
        case Flagged():
            return (type(value).__name__, name(value.flag.value), describe(value.value, name, number))
        case Tuple():
            head: Hashable = ("tuple", value.kind)
        case Closure():
            head = ("closure", id(value.node), value.frame)
        case Bound():
            head = ("bound", value.name, value.function)
        case Partial():
            head = ("partial", len(value.args), tuple(name for name, _ in value.keywords))
        case Transformed():
            head = ("transformed", value.request)
        case Lazy():
            head = ("lazy", value.kind)
    return (head, tuple(describe(part, name, number) for part in parts_of(value)))


def is_same(a: Value, b: Value) -> bool:
    """Whether two values of one state are the same value."""
    return _describe_all(a) == _describe_all(b)


def _describe_all(value: Value) -> Hashable:
    return describe(value, lambda ssa: ssa), layouts(value)


def _describe_params(view: View, name: Callable[[SSAValue], Hashable]) -> Hashable:
    return tuple(name(p.value) if isinstance(p, Expr) else p for p in view.params)


def layouts(value: Value) -> Hashable:
    """The memory layout of each array in a value, and whether it is read-only."""
    inner = bare(value)
    own = tuple((a.view.strides, a.view.readonly) for a in inner.alternatives) if isinstance(inner, Ref) else ()
    return own, tuple(layouts(part) for part in parts_of(inner))


def describe_state(state: State, name: Callable[[SSAValue], Hashable]) -> Hashable:
    """A hashable description: states with equal descriptions are the same state, up to the names that `name` gives SSA
    values."""
    return (
        tuple((place, describe(value, name)) for place, value in state.places()),
        tuple(
            (number, e.kind, e.keys, e.poison is not None, tuple(describe(item, name) for item in e.items))
            for number, e in sorted(state.heap.items())
        ),
        tuple((cell, name(contents.value)) for cell, contents in sorted(state.store.items())),
        tuple(sorted(state.held)),
    )


@once
def _text_of(type: Attribute) -> str:
    return str(type)


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The structure of a state: everything except its SSA values and the numbers of its cells and objects, both in the
    order met."""

    description: Hashable
    values: tuple[SSAValue, ...]
    numbers: tuple[int, ...]

    @staticmethod
    def of(state: State) -> Skeleton:
        values: dict[SSAValue, int] = {}
        numbers: dict[int, int] = {}
        waiting: list[int] = []

        def name(value: SSAValue) -> Hashable:
            return values.setdefault(value, len(values)), _text_of(value.type)

        def number(met: int) -> int:
            if met not in numbers:
                numbers[met] = len(numbers)
                waiting.append(met)
            return numbers[met]

        # Frames without bound names have no places.
        described: list[Hashable] = [tuple(sorted(state.frames))]
        described += [(place, describe(value, name, number), layouts(value)) for place, value in state.places()]
        for met in waiting:  # which grows: the contents of an object are appended to it
            if met in state.store:
                described.append(name(state.store[met].value))
            else:
                entry = state.heap[met]
                items = tuple((describe(item, name, number), layouts(item)) for item in entry.items)
                described.append((entry.kind, entry.keys, entry.poison is not None, entry.borrowed, items))
        described.append(tuple(place for met, place in numbers.items() if met in state.held))
        return Skeleton(tuple(described), tuple(values), tuple(numbers))
