"""Merges two states: at the end of an if, and for what a loop carries.

Reads: two trimmed states. Writes: conversions at the ends of the two blocks they come from, through `Columns`.
Leaves: the merged state, made of placeholders of columns wherever the two sides differ. A merge never refuses: what
cannot be one value becomes a Poison, which refuses where it is used.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from xdsl.ir import Block, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.frontend.join.join_columns import Columns, Operand
from mlirad.frontend.join.joined_views import fillers, one_kind
from mlirad.frontend.join.list_elements import Element, common_element
from mlirad.frontend.join.numbers import join_numbers, number_dtype
from mlirad.frontend.join.selectors import renumbered, selected
from mlirad.frontend.join.widening import Widening
from mlirad.frontend.values import known_facts, views
from mlirad.frontend.values.masked_selection import Selected
from mlirad.frontend.values.nep50 import Either, Several
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.sizes import is_static
from mlirad.frontend.values.state import Live, Place, State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import (
    SIMPLE,
    Alternative,
    Bound,
    Buffer,
    Closure,
    Entry,
    Growth,
    Lazy,
    Maybe,
    Object,
    Partial,
    PullbackValue,
    Ref,
    Renaming,
    Snapshot,
    Static,
    Transformed,
    Tuple,
    Value,
    describe,
    is_number,
    kind_of,
    parts_of,
    with_parts,
    without_snapshots,
)
from mlirad.frontend.values.views import View, safe_params
from mlirad.location import SourceLocation
from mlirad.signature import is_same_static

# What corresponds on the two sides of a merge.
Pair = tuple[Place, Value | None, Value | None]


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
class Numbering:
    """Numbers of merged cells and objects, for the branches of an if: what is one thing on both sides keeps its."""

    fresh: Callable[[], int]

    def rank(self, place: Place) -> int:
        """Places of a smaller rank are paired first."""
        return 0

    def number(self, key: Hashable, left: int | None, right: int | None) -> int:
        if left is not None and (right is None or left == right):
            return left
        return right if left is None and right is not None else self.fresh()

    def same(self, left: Collection[int], right: Collection[int]) -> list[tuple[int, int]]:
        """What is the same thing on both sides."""
        return [(number, number) for number in left if number in right]

    def keep(self, pairs: Iterable[Pair], left: Mapping[int, Expr], right: Mapping[int, Expr]) -> None:
        """Note which cells are to stay what they are; left, right: their contents."""


@dataclass
class PlaceNumbering(Numbering):
    """Numbers of merged cells for the branches of an if: the arrays of the two sides are paired by where they stand, if
    each of one side stands for one of the other wherever it is referred to. So `if c: a, b = b, new` leaves two arrays,
    and not names for one of several.

    is_asked: whether this is done, or only found out. apart: the cells that are not what they are on the other side;
    has_moved: whether there were any.
    """

    is_asked: bool = False
    apart: set[int] = field(default_factory=set)
    has_moved: bool = False

    def same(self, left: Collection[int], right: Collection[int]) -> list[tuple[int, int]]:
        pairs = super().same(left, right)
        return [pair for pair in pairs if pair[0] not in self.apart] if self.is_asked else pairs

    def keep(self, pairs: Iterable[Pair], left: Mapping[int, Expr], right: Mapping[int, Expr]) -> None:
        arrays = [(a, b) for _, a, b in pairs if isinstance(a, Ref) and isinstance(b, Ref)]
        sides = [([x.cell for x in a.alternatives], [y.cell for y in b.alternatives]) for a, b in arrays]
        staying = {x for xs, ys in sides for x in xs if x in ys}
        after: dict[int, set[int | None]] = {}
        before: dict[int, set[int | None]] = {}
        for xs, ys in sides:
            own, others = _unique([x for x in xs if x not in staying]), _unique([y for y in ys if y not in staying])
            is_single = len(own) == len(others) == 1
            for x in own if others else ():
                after.setdefault(x, set()).add(others[0] if is_single else None)
            for y in others if own else ():
                before.setdefault(y, set()).add(own[0] if is_single else None)
        single = {x: next(iter(ys)) for x, ys in after.items() if len(ys) == 1}
        moved = {x: y for x, y in single.items() if y is not None and x != y and before[y] == {x}}
        moved = {x: y for x, y in moved.items() if left[x].type == right[y].type}
        broken = {0}
        while broken:  # a cell that moves makes room for another, or has not been there
            sources = set(moved.values())
            broken = {
                x for x, y in moved.items() if (x in before and x not in sources) or (y in after and y not in moved)
            }
            moved = {x: y for x, y in moved.items() if x not in broken}
        self.apart = {*moved, *moved.values()}
        self.has_moved = self.has_moved or bool(moved)


# Makes ops that put a list of a state into arrays: the list as the Growth says.
Fill = Callable[[State, Entry, Growth], Entry]


@dataclass
class Merge:
    """One merge. `origins`: what decides between the sides; `loop`: the loop whose header this is, if it is one, and
    `widening` the equal numbers that it carries nevertheless; `fill`: of the branches of an if, puts a list into
    arrays; `elsewhere`: if a side does not end in this way, its states where it ends in others."""

    left: State | None
    right: State | None
    columns: Columns
    numbering: Numbering
    origins: frozenset
    loop: Hashable | None = None
    location: SourceLocation | None = None
    widening: Widening | None = None
    fill: Fill | None = None
    elsewhere: Sequence[State] = ()
    cells: Pairing = field(default_factory=Pairing)
    objects: Pairing = field(default_factory=Pairing)
    store: dict[int, Expr] = field(default_factory=dict)
    # The place in which two objects were met first, reached from a name; and the one in which two cells were paired.
    walked: dict[tuple[int | None, int | None], Place] = field(default_factory=dict)
    paired_at: dict[int, Place] = field(default_factory=dict)
    # Selectors made, by what they come from.
    selectors: dict[Hashable, Expr] = field(default_factory=dict)

    def run(self) -> State:
        places = self.places()
        self.pair(places)
        merged = State(live=self.merged_live())
        self.store = merged.store
        self.join_cells()
        temps: list[Value] = []
        for place, a, b in places:
            value = self.value(place, a, b, self.is_unbound(place, a, self.left), self.is_unbound(place, b, self.right))
            if place[0] == "temp":
                temps.append(value)
            else:
                merged.frames.setdefault(int(place[1]), {})[str(place[2])] = value
        for state in (self.left, self.right):
            for number in state.frames if state else ():
                merged.frames.setdefault(number, {})
        merged.temps = tuple(temps)
        for number, (a, b) in sorted(self.objects.sides.items()):
            merged.heap[number] = self.entry(number, a, b)
        merged.held = self.held()
        return merged

    def pair(self, places: list[Pair]) -> None:
        pairs = list(self.all_pairs(sorted(places, key=lambda item: self.numbering.rank(item[0]))))
        self.pair_objects(pairs)
        self.pair_cells(pairs)

    def alone(self, walked: Place, place: Place, a: Value, b: Value, paired: Iterable[tuple[int, int, int]]) -> Value:
        """What one place becomes. walked: the place, reached from a name. paired: cells that are paired, and the
        merged cells."""
        for left, right, merged in paired:
            self.cells.add(left, right, merged)
        self.pair_open([(walked, a, b)])
        self.join_cells()
        return self.value(place, a, b)

    def join_cells(self) -> None:
        own = {cell: held for state in self.elsewhere for cell, held in self.contents_elsewhere(state).items()}
        for number, (a, b) in sorted(self.cells.sides.items()):
            left, right = self.contents(self.left, a), self.contents(self.right, b)
            present, cell = (right, b) if left is None else (left, a)
            assert present is not None and cell is not None
            # Any array will do for a side that does not end in this way. If it is the side's own, an update of it on
            # the other side is done in place.
            if cell in own and own[cell].type == present.type:
                left, right = (own[cell], right) if self.left is None else (left, own[cell])
            self.store[number] = self.columns.request(("cell", number), present.type, left, right)

    def contents_elsewhere(self, state: State) -> dict[int, Expr]:
        """By the cells of the side that ends in this way: what stands in the same places in a state of the other."""
        present = self.left or self.right
        found: dict[int, Expr] = {}
        merge = Merge(present, state, self.columns, self.numbering, self.origins)
        for _, a, b in merge.all_pairs(merge.places()):
            if isinstance(a, Ref) and isinstance(b, Ref) and len(a.alternatives) == len(b.alternatives) == 1:
                found[a.alternatives[0].cell] = state.store[b.alternatives[0].cell]
        return {**found, **state.store}

    def held(self) -> dict[int, Growth]:
        """What is held on either side."""
        sides = {**self.cells.sides, **self.objects.sides}
        found: dict[int, Growth] = {}
        for number, (a, b) in sides.items():
            for state, own in ((self.left, a), (self.right, b)):
                if state is not None and own is not None and own in state.held:
                    found[number] = state.held[own]
        return found

    def merged_live(self) -> Live | None:
        """What is live on either side."""
        live: dict[int, frozenset[str] | None] = {}
        for state in (self.left, self.right):
            for number, names in (state.live or {}).items() if state else ():
                known = live.get(number, frozenset())
                live[number] = None if names is None or known is None else known | names
        return live or None

    # Places of the two sides.

    def places(self) -> list[Pair]:
        left = dict(self.left.places()) if self.left else {}
        right = dict(self.right.places()) if self.right else {}
        ordered = [*left, *(place for place in right if place not in left)]
        return [(place, left.get(place), right.get(place)) for place in ordered]

    @staticmethod
    def is_unbound(place: Place, value: Value | None, state: State | None) -> bool:
        """Whether a side has no value because the name is not bound there (and not because it is not needed)."""
        return value is None and state is not None and state.is_live(place)

    @staticmethod
    def contents(state: State | None, cell: int | None) -> Expr | None:
        return None if state is None or cell is None else state.store[cell]

    @staticmethod
    def entry_of(state: State | None, number: int | None) -> Entry | None:
        return None if state is None or number is None else state.heap[number]

    # Pairing.

    def walk(
        self, place: Place, a: Value | None, b: Value | None, seen: set[tuple[int | None, int | None]]
    ) -> Iterator[Pair]:
        """The values that correspond to one another, from one place down through the heap."""
        a = a.value if isinstance(a, Maybe) else a
        b = b.value if isinstance(b, Maybe) else b
        yield place, a, b
        number_a = a.number if isinstance(a, Object) else None
        number_b = b.number if isinstance(b, Object) else None
        if number_a is not None or number_b is not None:
            if (number_a, number_b) not in seen:
                seen.add((number_a, number_b))
                self.walked.setdefault((number_a, number_b), place)
                entry_a, entry_b = self.entry_of(self.left, number_a), self.entry_of(self.right, number_b)
                yield from self._walk_items(place, entry_a, entry_b, seen)
        elif a is None or b is None or _head(a) == _head(b):
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
        """What corresponds, of all that refers to arrays and objects."""
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
        """Pair the cells that are not paired yet by the places that refer to them."""
        left, right = self.left.store if self.left else {}, self.right.store if self.right else {}
        pairing = self.cells
        for place, a, b in pairs:
            if isinstance(a, Ref) and isinstance(b, Ref):
                open_left = [x.cell for x in a.alternatives if x.cell not in pairing.left]
                open_right = [x.cell for x in b.alternatives if x.cell not in pairing.right]
                for index, (x, y) in enumerate(zip(_unique(open_left), _unique(open_right), strict=False)):
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

    # Values.

    def entry(self, number: int, a: int | None, b: int | None) -> Entry:
        left, right = self.entry_of(self.left, a), self.entry_of(self.right, b)
        present = left or right
        assert present is not None
        poison = (left and left.poison) or (right and right.poison)
        if poison and poison.grows:
            poison = dataclasses.replace(poison, grows=(number, poison.grows[1]))
        elif left and right and (left.kind, left.keys) != (right.kind, right.keys):
            element = self.common_element(left, right)
            if element is not None and self.fill is not None:
                left, right = self.filled(left, right, element)
                present = left
            else:
                poison = self.lengths_differ(number, left, right, element)
        if poison:
            return Entry(present.kind, (), (), present.borrowed, poison)
        items = tuple(
            self.value(
                ("item", number, index), left.items[index] if left else None, right.items[index] if right else None
            )
            for index in range(len(present.items))
        )
        borrowed = (left and left.borrowed) or (right and right.borrowed)
        return Entry(present.kind, present.keys, items, borrowed)

    def common_element(self, left: Entry, right: Entry) -> Element | None:
        """What the elements of two lists have in common that are one list here; None: it cannot be in arrays."""
        if self.left is None or self.right is None:
            return None
        return common_element(left, right, _entries(self.left), _entries(self.right))

    def filled(self, left: Entry, right: Entry, element: Element) -> tuple[Entry, Entry]:
        """The two sides of a list, in arrays."""
        assert self.fill is not None and self.left is not None and self.right is not None
        by = left.growth or right.growth
        growth = Growth(element, self.numbering.fresh(), by and by.loop, by is not None and by.may_unroll)
        with building(self.columns.left), known_facts.scope():
            left = self.fill(self.left, left, growth)
        with building(self.columns.right), known_facts.scope():
            right = self.fill(self.right, right, growth)
        return left, right

    def lengths_differ(self, number: int, left: Entry, right: Entry, element: Element | None) -> Poison:
        """Why a list or dict is unknown whose length, or keys, the two sides do not agree on."""
        kinds = {left.kind, right.kind} - {list, dict}
        if kinds:
            name = min(kind.__name__ for kind in kinds)
            hint = "assign all attributes in __init__, in one order"
            return Poison(f"which attributes this {name} has depends on data", self.location, self.loop, hint)
        if left.kind is list and (owner := left.borrowed or right.borrowed) is not None:
            why = f"by how much this changes the length of {owner.name} is known at run time only"
            return Poison(why, self.location, self.loop, "append to a list that is made here, and return it")
        hint = "use an array and a count"
        if element is not None or left.kind is not list or self.loop is None:
            why = f"the length of this {left.kind.__name__} depends on data"
        else:
            why = "this list gets longer in the loop, and its elements have no one type and shape"
            if any(isinstance(item, Ref) and not is_static(item.shape) for item in (*left.items, *right.items)):
                why = "this list gets longer in the loop, and only the run knows the sizes of its arrays"
                hint = "put them into one array, made before the loop: out[i : i + n] = part"
        grows = None if element is None else (number, element)
        return Poison(why, self.location, self.loop, hint, grows)

    def value(
        self, place: Place, a: Value | None, b: Value | None, unbound_a: bool = False, unbound_b: bool = False
    ) -> Value:
        """One value for the two of a place (None: that side has none)."""
        if unbound_a or unbound_b or isinstance(a, Maybe) or isinstance(b, Maybe):
            flags = self.flag_of(a, unbound_a), self.flag_of(b, unbound_b)
            inner_a = a.value if isinstance(a, Maybe) else a
            inner_b = b.value if isinstance(b, Maybe) else b
            value = self.value(place, inner_a, inner_b)
            return Maybe(self.columns.request((place, "bound"), types.I1, flags[0], flags[1]), value)
        if a is None or b is None:
            return self.lifted(place, a, b)
        if isinstance(a, Poison) or isinstance(b, Poison):
            return a if isinstance(a, Poison) else b
        if isinstance(a, Static) and isinstance(b, Static) and is_same_static(a.value, b.value):
            is_carried = self.widening is not None and self.widening.carries(place, b)
            return self.number(place, a, b) if is_carried else a
        if is_number(a) and is_number(b):
            assert isinstance(a, Static | Traced) and isinstance(b, Static | Traced)
            return self.number(place, a, b)
        if isinstance(a, Ref) and isinstance(b, Ref):
            a, b = one_kind(a, b, self.cells.left, self.cells.right, in_loop=self.loop is not None)
        if isinstance(a, Ref) and isinstance(b, Ref) and (a.pattern, a.dtype) == (b.pattern, b.dtype):
            return self.array(place, a, b)
        if isinstance(a, Object) and isinstance(b, Object):
            number = self.objects.left[a.number]
            if number == self.objects.right[b.number]:
                return Object(number)
            return self.poison(place, "may be either of two lists here", hint="swap their items instead")
        if isinstance(a, PullbackValue) and isinstance(b, PullbackValue) and a.request is b.request:
            key = (place, "residuals")
            return dataclasses.replace(
                a, residuals=self.columns.request(key, a.residuals.type, a.residuals, b.residuals)
            )
        if isinstance(a, Buffer) and isinstance(b, Buffer) and a.contents.type == b.contents.type:
            return Buffer(self.columns.request((place, "buffer"), a.contents.type, a.contents, b.contents))
        parts_a, parts_b = parts_of(a), parts_of(b)
        if isinstance(a, Tuple | Closure | Bound | Partial | Transformed | Lazy | Selected) and _head(a) == _head(b):
            pairs = enumerate(zip(parts_a, parts_b, strict=True))
            return with_parts(a, tuple(self.value((*place, index), x, y) for index, (x, y) in pairs))
        return self.disagreement(place, a, b)

    @staticmethod
    def flag_of(value: Value | None, is_unbound: bool) -> Operand:
        if is_unbound:
            return False
        if isinstance(value, Maybe):
            return value.flag
        return None if value is None else True

    def lifted(self, place: Place, a: Value | None, b: Value | None) -> Value:
        """A value that one side only has: what is defined inside that side becomes a column."""
        value = a if a is not None else b
        assert value is not None
        pairing = (self.cells.left, self.objects.left) if a is not None else (self.cells.right, self.objects.right)
        value = without_snapshots(value)
        numbers = count()
        safe = fillers(value)

        def column(ssa: SSAValue) -> SSAValue:
            expr, key = Expr(ssa), (place, "only", next(numbers))
            filler = safe.get(ssa, 0)
            left, right = (expr, None) if a is not None else (None, expr)
            return self.columns.request(key, ssa.type, left, right, filler, share=ssa not in safe).value

        return Renaming(column, pairing[0].__getitem__, pairing[1].__getitem__).value(value)

    def number(self, place: Place, a: Static | Traced, b: Static | Traced) -> Value:
        joined = join_numbers(a, b)
        if joined is None:
            return self.disagreement(place, a, b)
        type = types.of_shape(getattr(a, "shape", ()), types.from_dtype(joined.dtype))
        expr = self.columns.request((place, "value"), type, _operand(a), _operand(b))
        origins = _origins(a) | _origins(b)
        if not all(isinstance(side, Traced) and side.expr.value is expr.value for side in (a, b)):
            origins |= self.origins  # what is the same on both sides, nothing has decided
        either, several = None, None
        if joined.is_either:
            either = Either(joined.dtype, joined.values, self.undecided(place, a, b), joined.kinds)
        elif len(joined.kinds) > 1:
            several = Several(joined.kinds, self.several(place, a, b, joined.kinds))
        return Traced(expr, joined.weak, False, origins, either, several)

    def array(self, place: Place, a: Ref, b: Ref) -> Ref | Poison:
        """One reference for two: the union of their alternatives."""
        left = {(self.cells.left[x.cell], x.view.steps): x.view for x in a.alternatives}
        right = {(self.cells.right[x.cell], x.view.steps): x.view for x in b.alternatives}
        if len(left) < len(a.alternatives) or len(right) < len(b.alternatives):
            # Two arrays have become one, and these are different views of it: no selector distinguishes them.
            return self.poison(place, "may be either of two views of one array here", hint="give each a .copy()")
        keys = sorted({*left, *right}, key=_key_order)
        if set(left) != set(right) and not all(view.is_static for view in (*left.values(), *right.values())):
            # Where it is not taken, a view must have the size of the one that is.
            why = "may be either of two arrays here, whose sizes are known at run time only"
            return self.poison(place, why, hint="give each a .copy()")
        alternatives = tuple(
            Alternative(key[0], self.view((place, "view", key), left.get(key), right.get(key))) for key in keys
        )
        if len(keys) == 1:
            return Ref(alternatives)
        selector = self.selector(
            place,
            self.selector_of(a, [keys.index(key) for key in left], self.columns.left),
            self.selector_of(b, [keys.index(key) for key in right], self.columns.right),
        )
        return Ref(alternatives, selector, self.snapshot(place, a, b, alternatives))

    def snapshot(self, place: Place, a: Ref, b: Ref, alternatives: tuple[Alternative, ...]) -> Snapshot | None:
        """What one of several arrays holds. A loop carries it, so that it selects an array where it writes one only."""
        first = alternatives[0].view
        if any(not each.view.is_static or each.view.strides != first.strides for each in alternatives):
            return None
        if not first.ndim or 0 in first.pattern:
            return None
        assert self.left is not None and self.right is not None
        left, right = a.current(self.left.store), b.current(self.right.store)
        if self.loop is None and left is None and right is None:
            return None
        view = View.of(first.shape, first.dtype, first.strides)
        cells = tuple(self.store[each.cell] for each in alternatives)
        if left is not None and right is not None and left.contents.value is right.contents.value:
            if left.view.steps == right.view.steps and left.view.params == right.view.params:
                return Snapshot(left.view, left.contents, cells)
        contents = [
            on_side(lambda ref=ref, store=state.store: contents_of(ref, store))
            for ref, state, on_side in ((a, self.left, self.columns.on_left), (b, self.right, self.columns.on_right))
        ]
        carried = self.columns.request((place, "contents"), contents[0].type, contents[0], contents[1])
        return Snapshot(view, carried, cells)

    def selector(self, place: Place, a: Operand, b: Operand) -> Expr:
        """One selector for two. References that choose alike on both sides have one, so that this is seen later."""
        key = tuple(operand.value if isinstance(operand, Expr) else operand for operand in (a, b))
        if key not in self.selectors:
            self.selectors[key] = self.columns.request((place, "selector"), types.I64, a, b)
        return self.selectors[key]

    def selector_of(self, ref: Ref, positions: list[int], block: Block) -> Operand:
        """A side's selector, in terms of the merged alternatives."""
        if ref.selector is None:
            return positions[0]
        if positions == list(range(len(positions))):
            return ref.selector
        key = ref.selector.value, tuple(positions), block
        if key not in self.selectors:
            with building(block):
                self.selectors[key] = renumbered(ref.selector, positions)
        return self.selectors[key]

    def view(self, key: Hashable, a: View | None, b: View | None) -> View:
        """One view for two of the same steps; where it is not taken its starts must still be in range."""
        present = a if a is not None else b
        assert present is not None
        params: list[int | Expr] = []
        for index, safe in enumerate(safe_params(present)):
            x, y = (None if view is None else view.params[index] for view in (a, b))
            if not isinstance(x, Expr) and not isinstance(y, Expr) and (x == y or x is None or y is None):
                static = y if x is None else x
                assert static is not None
                params.append(static)
            else:
                params.append(self.columns.request((key, index), types.I64, x, y, filler=safe, share=False))
        origins = present.origins | (b.origins if b is not None else frozenset())
        if not present.is_static and any(isinstance(x, Expr) and self.columns.is_column(x) for x in params):
            origins |= self.origins
        return dataclasses.replace(present, params=tuple(params), origins=origins)

    # What does not join.

    def poison(self, place: Place, why: str, hint: str | None = None) -> Poison:
        return Poison(f"{_name_of(place)} {why}", self.location, self.loop, hint)

    def undecided(self, place: Place, a: Static | Traced, b: Static | Traced) -> Poison:
        """Why a number that is Python's on one path and NumPy's on another cannot be used."""
        for side in (a, b):
            if isinstance(side, Traced) and side.either is not None:
                return side.either.poison
        dtype = next(known[0] for known in map(number_dtype, (a, b)) if known is not None and not known[1])
        poison = self.disagreement(place, a, b)
        why = f"{poison.why}; these take different dtypes here"
        pythons = (side.value for side in (a, b) if isinstance(side, Static) and type(side.value) in (bool, int, float))
        text = next(map(_text, pythons), "0")
        hint = f"give both the same type: start from np.{dtype}({text}), or x.dtype.type({text}), and not from {text}"
        return dataclasses.replace(poison, why=why, hint=hint)

    def several(self, place: Place, a: Static | Traced, b: Static | Traced, kinds: tuple[type, ...]) -> Poison:
        """Why a Python number of one class on one path, and of another on another, cannot be used where it matters."""
        for side in (a, b):
            if isinstance(side, Traced) and side.several is not None:
                return side.several.poison
        poison = self.disagreement(place, a, b)
        hint = "begin with 0 and not with False, or write bool(...) or int(...) on both paths"
        if kinds[-1] is float:
            hint = "begin with 0.0 and not with 0, or write float(...) on both paths"
        return dataclasses.replace(poison, why=f"{poison.why}; these mean different things here", hint=hint)

    def disagreement(self, place: Place, a: Value, b: Value) -> Poison:
        x, y = kind_of(a), kind_of(b)
        if self.loop is None:
            why = f"is {x} on one path and {y} on another"
            return self.poison(place, why, hint="give both the same type")
        if isinstance(a, Ref) and isinstance(b, Ref):
            return self.poison(place, f"is {x} before the loop and {y} after an iteration", hint="preallocate it")
        if is_number(a) and isinstance(b, Ref):
            hint = f"start from np.zeros({b.shape})"
            return self.poison(place, f"is a number before the loop and {y} in it", hint=hint)
        hint = "use an int or a bool" if isinstance(a, Static) and isinstance(b, Static) else "give both the same type"
        return self.poison(place, f"is {x} before the loop and {y} after an iteration", hint=hint)


def _entries(state: State) -> Callable[[Object], Entry]:
    return lambda value: state.heap[value.number]


def describe_state(state: State, name: Callable[[SSAValue], Hashable]) -> Hashable:
    """Two states described alike are the same state, up to what `name` says of SSA values."""
    return (
        tuple((place, describe(value, name)) for place, value in state.places()),
        tuple(
            (number, e.kind, e.keys, e.poison is not None, tuple(describe(item, name) for item in e.items))
            for number, e in sorted(state.heap.items())
        ),
        tuple((cell, name(contents.value)) for cell, contents in sorted(state.store.items())),
        tuple(sorted(state.held)),
    )


# What refers to no array and no object, nothing at all included.
_NUMBERS = frozenset({Static, Traced, type(None)})


def _text(number: Any) -> str:
    """A Python number as a program may write it."""
    return str(number) if math.isfinite(number) else f"np.{number}".replace("np.-", "-np.")


def _name_of(place: Place) -> str:
    if place[0] == "frame":
        return "the result" if place[2] == "$return" else f"{str(place[2])!r}"
    return "an item of a list, dict or dataclass" if place[0] == "item" else "the value of this expression"


def _head(value: Value) -> Hashable:
    """What two values must have in common to be merged part by part."""
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
        case Selected():
            return (Selected, value.axis, value.values.expr.type, value.mask.expr.type)
    return type(value)


def _operand(value: Static | Traced) -> Operand:
    return value.expr if isinstance(value, Traced) else value.value


def _origins(value: Static | Traced) -> frozenset:
    return value.origins if isinstance(value, Traced) else frozenset()


def _unique(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


def _key_order(key: tuple[int, Hashable]) -> tuple[int, str]:
    return key[0], repr(key[1])


def contents_of(array: Ref, store: Mapping[int, Expr]) -> Expr:
    """The elements of an array, where the cells hold `store`."""
    if (snapshot := array.current(store)) is not None:
        return views.get(snapshot.view, snapshot.contents)
    parts = [views.get(each.view, store[each.cell]) for each in array.alternatives]
    return selected(array.selector, range(len(parts)), parts)
