"""Everything a program can observe at one point: the names of all live frames, objects, contents of arrays, operands.

Reads: nothing. Writes: nothing. Leaves: a State that is forked for each branch and merged again (merge.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import Renaming, inside
from mlirad.frontend.values.values import Closure, Entry, Flagged, Growth, Object, Ref, Static, Tuple, Value

# The place of a value: ("frame", number, name), ("temp", position) or ("item", object, position).
Place = tuple[str | int, ...]
# The live names of each active frame; None: all of them.
Live = Mapping[int, frozenset[str] | None]
# The names that a closure may look up, and their frames.
SeenBy = Callable[[Closure], Iterable[tuple[int, str]]]


@dataclass
class State:
    """frames: the names of every frame that can still be seen; heap: objects; store: the contents of cells; temps:
    operands already evaluated, of unfinished expressions. live: the names that the state was trimmed to, if it was.
    held: cells and objects that have been replaced by copies, in lists that grow (named by a Growth) or at a join
    (named by a Poison). They may no longer change."""

    frames: dict[int, dict[str, Value]] = field(default_factory=dict)
    heap: dict[int, Entry] = field(default_factory=dict)
    store: dict[int, Expr] = field(default_factory=dict)
    temps: tuple[Value, ...] = ()
    live: Live | None = None
    held: dict[int, Growth | Poison] = field(default_factory=dict)

    def fork(self) -> State:
        frames = {number: dict(names) for number, names in self.frames.items()}
        return State(frames, dict(self.heap), dict(self.store), self.temps, held=dict(self.held))

    def places(self) -> Iterator[tuple[Place, Value]]:
        """Every place outside the heap with its value, in a fixed order."""
        for number in sorted(self.frames):
            for name, value in sorted(self.frames[number].items()):
                yield ("frame", number, name), value
        for position, value in enumerate(self.temps):
            yield ("temp", position), value

    def values(self) -> Iterator[Value]:
        """Every value, including those in the heap."""
        yield from (value for _, value in self.places())
        for entry in self.heap.values():
            yield from entry.items

    def is_live(self, place: Place) -> bool:
        """Whether the trimmed state would hold this place's value, if there were one."""
        if self.live is None or place[0] != "frame":
            return place[0] == "frame"
        number, name = place[1], place[2]
        names = self.live.get(int(number), frozenset())
        return names is None or name in names

    def decide(self, known: State) -> None:
        """The state in which undecided numbers (Python's or NumPy's, or of several classes) are as in `known`.

        This state comes from `known`, and both have one form: it is a merge of `known` with another state.
        """
        origin: dict[int, int] = {}

        def decided(value: Value, other: Value | None) -> Value:
            if isinstance(value, Flagged):
                inner = other.value if isinstance(other, Flagged) else other
                return dataclasses.replace(value, value=decided(value.value, inner))
            if isinstance(value, Object) and isinstance(other, Object) and value.number not in origin:
                origin[value.number] = other.number
                entry, others = self.heap[value.number], known.heap[other.number].items
                if len(entry.items) == len(others):
                    items = tuple(map(decided, entry.items, others))
                    self.heap[value.number] = dataclasses.replace(entry, items=items)
            if isinstance(value, Tuple) and isinstance(other, Tuple) and len(value.items) == len(other.items):
                return dataclasses.replace(value, items=tuple(map(decided, value.items, other.items)))
            if isinstance(value, Traced) and value.several is not None and isinstance(other, Static):
                return dataclasses.replace(value, several=None) if type(other.value) is value.kind else value
            if not isinstance(value, Traced) or not isinstance(other, Traced):
                return value
            if (value.either or value.several) is None:
                return value
            if (other.either or other.several) is not None or other.dtype != value.dtype:
                return value
            return dataclasses.replace(value, weak=other.weak, either=None, several=None)

        for number, names in self.frames.items():
            others = known.frames.get(number, {})
            names.update({name: decided(value, others.get(name)) for name, value in names.items()})
        if len(self.temps) == len(known.temps):
            self.temps = tuple(map(decided, self.temps, known.temps))

    def mapped(self, change: Callable[[Value], Value]) -> State:
        """The state with every value changed, except the contents of cells."""
        frames = {n: {name: change(value) for name, value in names.items()} for n, names in self.frames.items()}
        heap = {number: entry.mapped(change) for number, entry in self.heap.items()}
        temps = tuple(change(value) for value in self.temps)
        return State(frames, heap, dict(self.store), temps, self.live, dict(self.held))

    def renamed(self, ssa: Callable[[SSAValue], SSAValue]) -> State:
        """The same state with other SSA values."""
        renaming = Renaming(ssa=ssa)
        made = self.mapped(renaming.value)
        made.store = {cell: renaming.expr(contents) for cell, contents in self.store.items()}
        return made


@dataclass
class Reached:
    """Everything visible from some values: cells, objects, and names that closures capture."""

    cells: set[int] = field(default_factory=set)
    objects: set[int] = field(default_factory=set)
    captured: dict[int, set[str]] = field(default_factory=dict)


def reached(state: State, roots: Iterable[Value], seen_by: SeenBy) -> Reached:
    found = Reached()
    work = list(roots)
    while work:
        for value in inside(work.pop()):
            if isinstance(value, Ref):
                found.cells.update(alternative.cell for alternative in value.alternatives)
            elif isinstance(value, Object) and value.number not in found.objects:
                found.objects.add(value.number)
                work.extend(state.heap[value.number].items)
            elif isinstance(value, Closure):
                for number, name in seen_by(value):
                    names = found.captured.setdefault(number, set())
                    frame = state.frames.get(number, {})
                    if name in frame and name not in names:
                        names.add(name)
                        work.append(frame[name])
    return found


def trim(state: State, live: Live, seen_by: SeenBy) -> State:
    """The state without dead parts: names that are neither live nor captured by a live closure, and what only they
    refer to. A frame that is not active (not in `live`) keeps only what closures see of it."""
    roots: list[Value] = list(state.temps)
    for number, names in live.items():
        frame = state.frames.get(number, {})
        roots.extend(value for name, value in frame.items() if names is None or name in names)
    found = reached(state, roots, seen_by)
    frames: dict[int, dict[str, Value]] = {}
    for number, frame in state.frames.items():
        if number not in live and number not in found.captured:
            continue
        names, captured = live.get(number, frozenset()), found.captured.get(number, set())
        frames[number] = {name: v for name, v in frame.items() if names is None or name in names or name in captured}
    heap = {number: entry for number, entry in state.heap.items() if number in found.objects}
    store = {cell: contents for cell, contents in state.store.items() if cell in found.cells}
    held = {number: growth for number, growth in state.held.items() if number in heap or number in store}
    return State(frames, heap, store, state.temps, live, held)
