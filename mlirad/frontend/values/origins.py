"""The origins of traced numbers, while the interpreter finds out what a loop carries.

Reads: values, states. Writes: nothing. Leaves: the same values with other origins.

During a pass over the body, a loop-carried value has one origin: the Mark of its key in the loop's header. After the
pass, the marks in the origins of a key say which keys it depends on, and all origins follow at once. Without marks, a
chain of numbers, each computed from the one before, would need one pass for each number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Hashable, Mapping

from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import with_leaves
from mlirad.frontend.values.values import Ref, Value

Origins = frozenset[Hashable]


@dataclasses.dataclass(frozen=True, eq=False)
class Mark:
    """The origin of the value that a loop carries under a key."""

    key: Hashable


def with_origins(value: Value, change: Callable[[Origins], Origins]) -> Value:
    """The value, with new origins for each number and each run-time size in it."""

    def changed(leaf: Value) -> Value:
        if isinstance(leaf, Traced):
            origins = change(leaf.origins)
            return leaf if origins == leaf.origins else dataclasses.replace(leaf, origins=origins)
        if not isinstance(leaf, Ref) or all(each.view.is_static for each in leaf.alternatives):
            return leaf
        views = [dataclasses.replace(each.view, origins=change(each.view.origins)) for each in leaf.alternatives]
        return leaf.seen_as(views, lambda view: view)

    return with_leaves(value, changed)


def state_with_origins(state: State, change: Callable[[Origins], Origins]) -> State:
    return state.mapped(lambda value: with_origins(value, change))


def resolved(origins: Origins, known: Mapping[Mark, Origins]) -> Origins:
    """The origins, with each mark replaced by the known origins of its key, transitively."""
    if not any(isinstance(origin, Mark) and origin in known for origin in origins):
        return origins
    found: set[Hashable] = set()
    waiting = list(origins)
    while waiting:
        origin = waiting.pop()
        if origin not in found:
            found.add(origin)
            if isinstance(origin, Mark):
                waiting.extend(known.get(origin, ()))
    return frozenset(origin for origin in found if origin not in known)


def dependent(doubtful: Collection[Mark], known: Mapping[Mark, Origins], apart_from: Origins) -> set[Mark]:
    """The keys that depend on anything other than one another. apart_from: origins that do not count."""
    readers: dict[Hashable, list[Mark]] = {mark: [] for mark in doubtful}
    waiting: list[Mark] = []
    for mark in doubtful:
        for origin in known.get(mark, frozenset()) - apart_from:
            if origin in readers:
                readers[origin].append(mark)
            else:
                waiting.append(mark)
    found: set[Mark] = set()
    while waiting:
        mark = waiting.pop()
        if mark not in found:
            found.add(mark)
            waiting.extend(readers[mark])
    return found
