"""Merges two states: at the end of an if, and for what a loop carries.

Reads: two trimmed states. Writes: conversions at the ends of the two blocks they come from, through `Columns`. Leaves:
the merged state, made of placeholders of columns wherever the two sides differ. A merge never refuses: values that
cannot be merged become a Poison, which refuses where it is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from xdsl.ir import SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.frontend.join.disagreements import Disagreements
from mlirad.frontend.join.join_columns import Columns, Operand
from mlirad.frontend.join.list_elements import Element, common_element
from mlirad.frontend.join.merging.correspondence import Correspondence, entry_of, head
from mlirad.frontend.join.merging.joined_views import fillers, one_kind
from mlirad.frontend.join.merging.references import References
from mlirad.frontend.join.numbering import Numbering
from mlirad.frontend.join.numbers import join_numbers
from mlirad.frontend.join.widening import Widening
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.nep50 import Either, Several
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.state import Live, Place, State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import Renaming, parts_of, with_parts, without_snapshots
from mlirad.frontend.values.values import (
    Bound,
    Buffer,
    Closure,
    Entry,
    Flagged,
    Growth,
    Lazy,
    Maybe,
    Object,
    OrNone,
    Partial,
    PullbackValue,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    is_none,
    is_number,
)
from mlirad.location import SourceLocation
from mlirad.signature import is_same_static

# Emits ops that put a list of a state into arrays, as described by the Growth.
Fill = Callable[[State, Entry, Growth], Entry]


_BESIDE_NONE = Static | Traced | Ref | Tuple | Object
"""The values that may be None on another path."""


@dataclass
class Merge:
    """One merge.

    origins: what decides between the sides. loop: the loop, if this is the merge of its header. widening: equal numbers
    that the loop carries nevertheless. fill: for the branches of an if, puts a list into arrays. elsewhere: if a side
    does not end in this way, the states in which it ends in other ways.
    """

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
    store: dict[int, Expr] = field(default_factory=dict)
    paired: Correspondence = field(init=False)
    why: Disagreements = field(init=False)
    references: References = field(init=False)

    def __post_init__(self) -> None:
        self.paired = Correspondence(self.left, self.right, self.numbering, joins_none=self.loop is None)
        self.why = Disagreements(self.location, self.loop)
        sides = self.left, self.right
        self.references = References(*sides, self.columns, self.paired.cells, self.origins, self.loop, self.why)

    def run(self) -> State:
        places = self.paired.places()
        self.paired.pair(places)
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
        for number, (a, b) in sorted(self.paired.objects.sides.items()):
            merged.heap[number] = self.entry(number, a, b)
        merged.held = self.held()
        return merged

    def alone(self, walked: Place, place: Place, a: Value, b: Value, paired: Iterable[tuple[int, int, int]]) -> Value:
        """The merged value of one place. walked: the place, reached from a name. paired: cells already paired, and the
        merged cells."""
        for left, right, merged in paired:
            self.paired.cells.add(left, right, merged)
        self.paired.pair_open([(walked, a, b)])
        self.join_cells()
        return self.value(place, a, b)

    def join_cells(self) -> None:
        own = {cell: held for state in self.elsewhere for cell, held in self.contents_elsewhere(state).items()}
        for number, (a, b) in sorted(self.paired.cells.sides.items()):
            left, right = self.contents(self.left, a), self.contents(self.right, b)
            present, cell = (right, b) if left is None else (left, a)
            assert present is not None and cell is not None
            # A side that does not end in this way may supply any array. With its own array, an update on the other side
            # is done in place.
            if cell in own and own[cell].type == present.type:
                left, right = (own[cell], right) if self.left is None else (left, own[cell])
            self.store[number] = self.columns.request(("cell", number), present.type, left, right)

    def contents_elsewhere(self, state: State) -> dict[int, Expr]:
        """Contents in `state`, where the side ends in another way, by the cells in the same places of the side that
        ends in this way."""
        present = self.left or self.right
        found: dict[int, Expr] = {}
        paired = Correspondence(present, state, self.numbering)
        for _, a, b in paired.all_pairs(paired.places()):
            if isinstance(a, Ref) and isinstance(b, Ref) and len(a.alternatives) == len(b.alternatives) == 1:
                found[a.alternatives[0].cell] = state.store[b.alternatives[0].cell]
        return {**found, **state.store}

    def held(self) -> dict[int, Growth | Poison]:
        """The cells and objects that have been replaced on either side."""
        sides = {**self.paired.cells.sides, **self.paired.objects.sides}
        found: dict[int, Growth | Poison] = {}
        for number, (a, b) in sides.items():
            for state, own in ((self.left, a), (self.right, b)):
                if state is not None and own is not None and own in state.held:
                    found[number] = state.held[own]
        return found

    def merged_live(self) -> Live | None:
        """The names that are live on either side."""
        live: dict[int, frozenset[str] | None] = {}
        for state in (self.left, self.right):
            for number, names in (state.live or {}).items() if state else ():
                known = live.get(number, frozenset())
                live[number] = None if names is None or known is None else known | names
        return live or None

    @staticmethod
    def is_unbound(place: Place, value: Value | None, state: State | None) -> bool:
        """Whether a side has no value because the name is not bound there (and not because it is not needed)."""
        return value is None and state is not None and state.is_live(place)

    @staticmethod
    def contents(state: State | None, cell: int | None) -> Expr | None:
        return None if state is None or cell is None else state.store[cell]

    # Values.

    def entry(self, number: int, a: int | None, b: int | None) -> Entry:
        left, right = entry_of(self.left, a), entry_of(self.right, b)
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
                poison = self.why.lengths_differ(number, left, right, element)
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
        """The common element of two lists merged into one; None: they cannot be kept in arrays."""
        if self.left is None or self.right is None:
            return None
        return common_element(left, right, _entries(self.left), _entries(self.right))

    def filled(self, left: Entry, right: Entry, element: Element) -> tuple[Entry, Entry]:
        """The two sides of a list, kept in arrays."""
        assert self.fill is not None and self.left is not None and self.right is not None
        by = left.growth or right.growth
        growth = Growth(element, self.numbering.fresh(), by and by.loop, by is not None and by.may_unroll)
        with building(self.columns.left), known_facts.scope():
            left = self.fill(self.left, left, growth)
        with building(self.columns.right), known_facts.scope():
            right = self.fill(self.right, right, growth)
        return left, right

    def value(
        self, place: Place, a: Value | None, b: Value | None, unbound_a: bool = False, unbound_b: bool = False
    ) -> Value:
        """Merge the two values of a place (None: that side has no value)."""
        if unbound_a or unbound_b or isinstance(a, Maybe) or isinstance(b, Maybe):
            flags = self.flag_of(Maybe, a, unbound_a), self.flag_of(Maybe, b, unbound_b)
            inner_a = a.value if isinstance(a, Maybe) else a
            inner_b = b.value if isinstance(b, Maybe) else b
            value = self.value(place, inner_a, inner_b)
            return Maybe(self.columns.request((place, "bound"), types.I1, flags[0], flags[1]), value)
        if a is None or b is None:
            return self.lifted(place, a, b)
        if isinstance(a, Poison) or isinstance(b, Poison):
            return a if isinstance(a, Poison) else b
        has_none, may_be_none = is_none(a) != is_none(b), isinstance(a, OrNone) or isinstance(b, OrNone)
        # A name that is None before a loop is not None after its first iteration: that is peeled off.
        if (has_none and self.loop is None) or (may_be_none and not has_none):
            return self.or_none(place, a, b)
        if isinstance(a, Static) and isinstance(b, Static) and is_same_static(a.value, b.value):
            is_carried = self.widening is not None and self.widening.carries(place, b)
            return self.number(place, a, b) if is_carried else a
        if is_number(a) and is_number(b):
            assert isinstance(a, Static | Traced) and isinstance(b, Static | Traced)
            return self.number(place, a, b)
        if isinstance(a, Ref) and isinstance(b, Ref):
            a, b = one_kind(a, b, self.paired.cells.left, self.paired.cells.right, in_loop=self.loop is not None)
        if isinstance(a, Ref) and isinstance(b, Ref) and (a.pattern, a.dtype) == (b.pattern, b.dtype):
            return self.references.array(place, a, b, self.store)
        if isinstance(a, Object) and isinstance(b, Object):
            number = self.paired.objects.left[a.number]
            if number == self.paired.objects.right[b.number]:
                return Object(number)
            return self.why.poison(place, "may be either of two lists here", hint="swap their items instead")
        if isinstance(a, PullbackValue) and isinstance(b, PullbackValue) and a.request is b.request:
            key = (place, "residuals")
            return dataclasses.replace(
                a, residuals=self.columns.request(key, a.residuals.type, a.residuals, b.residuals)
            )
        if isinstance(a, Buffer) and isinstance(b, Buffer) and a.contents.type == b.contents.type:
            return Buffer(self.columns.request((place, "buffer"), a.contents.type, a.contents, b.contents))
        parts_a, parts_b = parts_of(a), parts_of(b)
        if isinstance(a, Tuple | Closure | Bound | Partial | Transformed | Lazy) and head(a) == head(b):
            pairs = enumerate(zip(parts_a, parts_b, strict=True))
            return with_parts(a, tuple(self.value((*place, index), x, y) for index, (x, y) in pairs))
        return self.why.disagreement(place, a, b)

    def or_none(self, place: Place, a: Value, b: Value) -> Value:
        """The merge if one side may be None: the value of the other one is kept beside a flag."""
        sides = [None if is_none(each) else each.value if isinstance(each, OrNone) else each for each in (a, b)]
        if not all(each is None or isinstance(each, _BESIDE_NONE) for each in sides):
            return self.why.disagreement(place, a, b)
        value = self.value(place, sides[0], sides[1])
        if isinstance(value, Poison):
            return value
        why = next((each.why for each in (a, b) if isinstance(each, OrNone)), None)
        flags = self.flag_of(OrNone, a, is_none(a)), self.flag_of(OrNone, b, is_none(b))
        flag = self.columns.request((place, "present"), types.I1, flags[0], flags[1])
        return OrNone(flag, value, why or self.why.disagreement(place, a, b))

    @staticmethod
    def flag_of(kind: type[Flagged], value: Value | None, is_missing: bool) -> Operand:
        if is_missing:
            return False
        if isinstance(value, kind):
            return value.flag
        return None if value is None else True

    def lifted(self, place: Place, a: Value | None, b: Value | None) -> Value:
        """A value that only one side has: values defined inside that side become columns."""
        value = a if a is not None else b
        assert value is not None
        pairings = self.paired.cells, self.paired.objects
        cells, objects = ((each.left if a is not None else each.right) for each in pairings)
        value = without_snapshots(value)
        numbers = count()
        safe = fillers(value)

        def column(ssa: SSAValue) -> SSAValue:
            expr, key = Expr(ssa), (place, "only", next(numbers))
            filler = safe.get(ssa, 0)
            left, right = (expr, None) if a is not None else (None, expr)
            return self.columns.request(key, ssa.type, left, right, filler, share=ssa not in safe).value

        return Renaming(column, cells.__getitem__, objects.__getitem__).value(value)

    def number(self, place: Place, a: Static | Traced, b: Static | Traced) -> Value:
        joined = join_numbers(a, b)
        if joined is None:
            return self.why.disagreement(place, a, b)
        type = types.of_shape(getattr(a, "shape", ()), types.from_dtype(joined.dtype))
        expr = self.columns.request((place, "value"), type, _operand(a), _operand(b))
        origins = _origins(a) | _origins(b)
        if not all(isinstance(side, Traced) and side.expr.value is expr.value for side in (a, b)):
            origins |= self.origins  # what is the same on both sides does not depend on the choice
        either, several = None, None
        if joined.is_either:
            either = Either(joined.dtype, joined.values, self.why.undecided(place, a, b), joined.kinds)
        elif len(joined.kinds) > 1:
            several = Several(joined.kinds, self.why.several(place, a, b, joined.kinds))
        return Traced(expr, joined.weak, False, origins, either, several)


def _entries(state: State) -> Callable[[Object], Entry]:
    return lambda value: state.heap[value.number]


def _operand(value: Static | Traced) -> Operand:
    return value.expr if isinstance(value, Traced) else value.value


def _origins(value: Static | Traced) -> frozenset:
    return value.origins if isinstance(value, Traced) else frozenset()
