"""The caller's lists, dicts and dataclasses that a function changes: their items when it ends.

Reads: the state at the end. Writes: names in frame 0 that keep the containers alive. Leaves: the new items, which are
further results, and their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlirad.contract.results import ContainerChange
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.descriptions import is_same
from mlirad.frontend.values.value_parts import inside
from mlirad.frontend.values.values import Entry, Object, Owner, Tuple, Value

_NAME = "$container "


@dataclass
class CallersContainers:
    """The containers in the arguments of a build, numbered from the outside in."""

    context: Context
    count: int = 0
    kept: list[int] = field(default_factory=list)

    def new(self, kind: type, keys: tuple, items: Sequence[Value], number: int) -> Object:
        """Bind a container of the caller."""
        owner = Owner(f"the caller's {kind.__name__}", container=number)
        made = self.context.new_object(Entry(kind, keys, tuple(items), owner))
        if number in self.context.findings.changed:
            # Keep the initial items too, under the names that the container has at the end.
            self.context.state.frames[0][f"{_NAME}{number}"] = Tuple((made, Tuple(tuple(items))))
            self.kept.append(number)
        return made

    def number(self) -> int:
        """The number of the next container; call it before visiting its items."""
        self.count += 1
        return self.count - 1

    def changes(self) -> tuple[tuple[ContainerChange, ...], list[Value]]:
        """The containers whose items have changed, and the new items.

        Raises CompileError if the set of items depends on data, or if a container of the caller was put in another.
        """
        changes: list[ContainerChange] = []
        values: list[Value] = []
        for number in sorted(self.kept):
            held = self.context.state.frames[0][f"{_NAME}{number}"]
            assert isinstance(held, Tuple)
            container, first = held.items
            assert isinstance(container, Object) and isinstance(first, Tuple)
            entry = storage.entry_of(self.context, container)
            before = dict(zip(self._keys(number), first.items, strict=True))
            places: list[int | None] = []
            for key, item in zip(entry.keys, entry.items, strict=True):
                if key in before and is_same(before[key], item):
                    places.append(None)
                    continue
                self._require_new(item)
                places.append(len(values))
                values.append(item)
            if entry.keys != self._keys(number) or any(place is not None for place in places):
                changes.append(ContainerChange(number, entry.keys, tuple(places)))
        return tuple(changes), values

    def _keys(self, number: int) -> tuple:
        return self.context.findings.changed[number]

    def _require_new(self, item: Value) -> None:
        for value in inside(item):
            if not isinstance(value, Object) or self.context.state.heap[value.number].growth is not None:
                continue  # a list that loops have filled is the program's own
            entry = storage.entry_of(self.context, value)
            if entry.borrowed is not None:
                what = f"this puts {entry.borrowed.name} in a list, dict or dataclass of the caller"
                raise self.context.refusal(what, "put a copy there")
            for each in entry.items:
                self._require_new(each)
