"""Numbers that are static before a loop and vary in it, a whole group of them at once.

Reads: the state that a pass began with. Writes: nothing. Leaves: the places where numbers are carried.

A pass only shows the numbers that vary because of what is carried already: of a delay line `a, b, c = f(x), a, b` that
begins with zeros, the first pass shows `a`, the next one `b`. So a trial pass carries every number that the body binds,
and their origins (origins.py) tell which of them depend on one that does vary. Only these are carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mlirad.frontend.numbers import number_dtype
from mlirad.frontend.state import Place, State
from mlirad.frontend.values import SIMPLE, Maybe, Static, Value, parts_of, with_leaves

# The static numbers that a pass begins with: each is an object of its own, whose id tells where it was.
Given = Mapping[int, tuple[Static, Place]]


@dataclass
class Widening:
    """The equal numbers, static before a loop and after an iteration, that a merge carries nevertheless.

    start: what the pass began with. places: where they are. is_trial: all that the body has bound are.
    """

    start: Given
    places: frozenset[Place] = frozenset()
    is_trial: bool = False
    carried: set[Place] = field(default_factory=set)

    def carries(self, place: Place, after: Static) -> bool:
        is_carried = place in self.places or (self.is_trial and self._is_bound(place, after))
        if is_carried:
            self.carried.add(place)
        return is_carried

    def _is_bound(self, place: Place, after: Static) -> bool:
        _, origin = self.start.get(id(after), (None, None))
        return origin != place and number_dtype(after) is not None


def with_own_numbers(state: State) -> State:
    """The state with an object of its own for each static number in it, so that one that is moved is recognised."""

    def own(leaf: Value) -> Value:
        return Static(leaf.value, leaf.path) if isinstance(leaf, Static) else leaf

    return state.mapped(lambda value: with_leaves(value, own))


def given(state: State) -> Given:
    """The static numbers of a state and where they are, in the places that a merge has for them."""
    items = (
        (("item", number, index), item)
        for number, entry in state.heap.items()
        for index, item in enumerate(entry.items)
    )
    places = (found for place, value in (*state.places(), *items) for found in _statics(place, value))
    return {id(static): (static, place) for place, static in places}


def _statics(place: Place, value: Value) -> Iterator[tuple[Place, Static]]:
    if isinstance(value, Static):
        yield place, value
    elif isinstance(value, Maybe):
        yield from _statics(place, value.value)
    elif value.__class__ not in SIMPLE:
        for index, part in enumerate(parts_of(value)):
            yield from _statics((*place, index), part)
