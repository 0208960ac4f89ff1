"""The correspondence between the two sides of a merge: of places, values, cells and objects.

Reads: two states. Writes: nothing. Leaves: pairs of values, and the cells and objects of the merged state.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from mlirad.frontend.join.numbering import Numbering, Pair, unique
from mlirad.frontend.values.state import Place, State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import SIMPLE, parts_of
from mlirad.frontend.values.values import (
    Bound,
    Closure,
    Entry,
    Lazy,
    Object,
    Partial,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    bare,
    is_none,
)

# Values that refer to no array and no object, including no value at all.
_NUMBERS = frozenset({Static, Traced, type(None)})


@dataclass
class Pairing:
    """An injective map from each side's cells (or objects) to the cells of the merged state."""

    left: dict[int, int] = field(default_factory=dict)
    right: dict[int, int] = field(default_factory=dict)
    sides: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)

    def add(self, left: int | None, right: int | None, merged: int) -> None:
        if left is not None:
            self.left[left] = merged
        if right is not None:
            self.right[right] = merged
        self.sides[merged] = (left, right)


@dataclass
class Correspondence:
    """The correspondence between two sides.

    cells, objects: their pairs. walked: the place in which two objects first met, reached from a name. paired_at: the
    place in which the two cells of a merged one were paired. joins_none: whether a side that is None joins any value.
    """

    left: State | None
    right: State | None
    numbering: Numbering
    joins_none: bool = False
    cells: Pairing = field(default_factory=Pairing)
    objects: Pairing = field(default_factory=Pairing)
    walked: dict[tuple[int | None, int | None], Place] = field(default_factory=dict)
    paired_at: dict[int, Place] = field(default_factory=dict)

    def places(self) -> list[Pair]:
        """The values in the places of both sides."""
        left = dict(self.left.places()) if self.left else {}
        right = dict(self.right.places()) if self.right else {}
        ordered = [*left, *(place for place in right if place not in left)]
        return [(place, left.get(place), right.get(place)) for place in ordered]

    def pair(self, places: list[Pair]) -> None:
        """Pair the objects and cells of the two sides."""
        pairs = list(self.all_pairs(sorted(places, key=lambda item: self.numbering.rank(item[0]))))
        self.pair_objects(pairs)
        self.pair_cells(pairs)

    def walk(
        self, place: Place, a: Value | None, b: Value | None, seen: set[tuple[int | None, int | None]]
    ) -> Iterator[Pair]:
        """The values that correspond, from one place down through the heap."""
        a, b = (side if side is None else bare(side) for side in (a, b))
        if self.joins_none and a is not None and b is not None and is_none(a) != is_none(b):
            a, b = (None if is_none(side) else side for side in (a, b))
        yield place, a, b
        number_a = a.number if isinstance(a, Object) else None
        number_b = b.number if isinstance(b, Object) else None
        if number_a is not None or number_b is not None:
            if (number_a, number_b) not in seen:
                seen.add((number_a, number_b))
                self.walked.setdefault((number_a, number_b), place)
                entry_a, entry_b = entry_of(self.left, number_a), entry_of(self.right, number_b)
                yield from self._walk_items(place, entry_a, entry_b, seen)
        elif a is None or b is None or head(a) == head(b):
            parts_a = () if a is None else parts_of(a)
            parts_b = () if b is None else parts_of(b)
            for index in range(max(len(parts_a), len(parts_b))):
                yield from self.walk(
                    (*place, index),
                    parts_a[index] if index < len(parts_a) else None,
                    parts_b[index] if index < len(parts_b) else None,
                    seen,
                )
        else:
            yield from self.walk(place, a, None, seen)
            yield from self.walk(place, None, b, seen)

    def _walk_items(
        self, place: Place, a: Entry | None, b: Entry | None, seen: set[tuple[int | None, int | None]]
    ) -> Iterator[Pair]:
        if a and b and (a.kind, a.keys) != (b.kind, b.keys):
            yield from self._walk_items(place, a, None, seen)
            yield from self._walk_items(place, None, b, seen)
            return
        items_a, items_b = a.items if a else (), b.items if b else ()
        for index in range(max(len(items_a), len(items_b))):
            yield from self.walk(
                (*place, "item", index), items_a[index] if a else None, items_b[index] if b else None, seen
            )

    def all_pairs(self, places: list[Pair]) -> Iterator[Pair]:
        """All corresponding values that refer to arrays and objects."""
        seen: set[tuple[int | None, int | None]] = set()
        for place, a, b in places:
            if a.__class__ not in _NUMBERS or b.__class__ not in _NUMBERS:
                yield from self.walk(place, a, b, seen)

    def pair_objects(self, pairs: list[Pair]) -> None:
        left, right = self.left.heap if self.left else {}, self.right.heap if self.right else {}
        pairing = self.objects
        for a, b in self.numbering.same(left, right):
            pairing.add(a, b, self.numbering.number(("object", "same", a), a, b))
        for place, a, b in pairs:
            if not isinstance(a, Object) or not isinstance(b, Object):
                continue
            if a.number not in pairing.left and b.number not in pairing.right:
                pairing.add(a.number, b.number, self.numbering.number(("object", place), a.number, b.number))
        for place, a, b in pairs:
            if isinstance(a, Object) and a.number not in pairing.left:
                pairing.add(a.number, None, self.numbering.number(("object", place, "left"), a.number, None))
            if isinstance(b, Object) and b.number not in pairing.right:
                pairing.add(None, b.number, self.numbering.number(("object", place, "right"), None, b.number))

    def pair_cells(self, pairs: list[Pair]) -> None:
        left, right = self.left.store if self.left else {}, self.right.store if self.right else {}
        pairing = self.cells
        self.numbering.keep(pairs, left, right)
        for a, b in self.numbering.same(left, right):
            pairing.add(a, b, self.numbering.number(("cell", "same", a), a, b))
        self.pair_open(pairs)

    def pair_open(self, pairs: list[Pair]) -> None:
        """Pair the remaining cells by the places that refer to them."""
        left, right = self.left.store if self.left else {}, self.right.store if self.right else {}
        pairing = self.cells
        for place, a, b in pairs:
            if isinstance(a, Ref) and isinstance(b, Ref):
                open_left = [x.cell for x in a.alternatives if x.cell not in pairing.left]
                open_right = [x.cell for x in b.alternatives if x.cell not in pairing.right]
                for index, (x, y) in enumerate(zip(unique(open_left), unique(open_right), strict=False)):
                    if left[x].type == right[y].type:
                        number = self.numbering.number(("cell", place, index), x, y)
                        pairing.add(x, y, number)
                        self.paired_at[number] = place
        for place, a, b in pairs:
            for index, x in enumerate(a.alternatives if isinstance(a, Ref) else ()):
                if x.cell not in pairing.left:
                    pairing.add(x.cell, None, self.numbering.number(("cell", place, index, "left"), x.cell, None))
            for index, y in enumerate(b.alternatives if isinstance(b, Ref) else ()):
                if y.cell not in pairing.right:
                    pairing.add(None, y.cell, self.numbering.number(("cell", place, index, "right"), None, y.cell))


def head(value: Value) -> Hashable:
    """The key that two values must share to be merged part by part."""
    if value.__class__ in SIMPLE:
        return value.__class__
    match value:
        case Tuple():
            return (Tuple, value.kind, len(value.items))
        case Closure():
            return (Closure, id(value.node), value.frame)
        case Bound():
            return (Bound, value.name, value.function)
        case Partial():
            return (Partial, len(value.args), tuple(name for name, _ in value.keywords))
        case Transformed():
            return (Transformed, value.request)
        case Lazy():
            return (Lazy, value.kind, len(value.parts), value.used is None)
    return type(value)


def entry_of(state: State | None, number: int | None) -> Entry | None:
    return None if state is None or number is None else state.heap[number]
