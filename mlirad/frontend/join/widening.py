"""Finds numbers that are static before a loop and vary in it, a whole group at a time.

Reads: the state that a pass began with. Writes: nothing. Leaves: the places of loop-carried numbers.

A pass shows only the numbers that vary because of values already carried: for a delay line `a, b, c = f(x), a, b` that
begins with zeros, the first pass shows `a`, the next one `b`. So a trial pass carries every number that the body binds.
The origins (origins.py) then show which of them depend on a varying number, and only these are carried.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mlirad.frontend.join.numbers import number_dtype
from mlirad.frontend.values.state import Place, State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import SIMPLE, parts_of, with_leaves
from mlirad.frontend.values.values import Flagged, Ref, Static, Value

# The values that a pass begins with: each value without parts is an object of its own, and its id identifies its place.
Given = Mapping[int, tuple[Value, Place]]


@dataclass
class Widening:
    """Equal numbers, static before a loop and after an iteration, that a merge carries nevertheless.

    start: the values that the pass began with. places: their places. is_trial: carry all numbers that the body binds.
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


def with_own_values(state: State) -> State:
    """The state with an object of its own for each number and array, to recognise moves by identity."""

    def own(leaf: Value) -> Value:
        return dataclasses.replace(leaf) if isinstance(leaf, Static | Traced | Ref) else leaf

    return state.mapped(lambda value: with_leaves(value, own))


def given(state: State) -> Given:
    """The initial values of a state and their places, named as a merge names them."""
    return {id(leaf): (leaf, place) for place, leaf in leaves_of(state)}


def leaves_of(state: State) -> Iterator[tuple[Place, Value]]:
    """The values without parts, and their places."""
    for place, value in state.places():
        yield from _leaves(place, value)
    for number, entry in state.heap.items():
        for index, item in enumerate(entry.items):
            yield from _leaves(("item", number, index), item)


def _leaves(place: Place, value: Value) -> Iterator[tuple[Place, Value]]:
    if isinstance(value, Flagged):
        yield from _leaves(place, value.value)
    elif value.__class__ in SIMPLE:
        yield place, value
    else:
        for index, part in enumerate(parts_of(value)):
            yield from _leaves((*place, index), part)
