"""Moves: values that a loop's body passes on unchanged from one place to another (`a, b = new, a`).

Reads: the states before and after a pass over the body, and their merge. Writes: operands in place of values, in the
block of the pass, which is dropped. Leaves: the state that the next pass will leave, if moves determine it.

A pass shows one step of a chain: if `a` becomes one of two arrays, or a number of another type, then `b` follows one
pass later. Moves are recognised by the identity of values, so a chain can be followed to its end at once: each place is
merged with the new value of its source. The next pass begins with the result, and must confirm it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.join.carried.loop_header import Header, Pass, cells_in, kind_in_loop, names_of
from mlirad.frontend.join.carried.value_pairs import ValuePair, value_pairs
from mlirad.frontend.join.join_columns import Columns
from mlirad.frontend.join.merging.correspondence import Correspondence
from mlirad.frontend.join.merging.merge import Merge
from mlirad.frontend.join.widening import leaves_of
from mlirad.frontend.values.state import Place, State
from mlirad.frontend.values.value_parts import Renaming, with_parts
from mlirad.frontend.values.values import Flagged, Tuple, Value

# How often one place is followed. A chain visits a place once; rotating arrays visit it until each place has had them
# all.
ROUNDS = 4


@dataclass(eq=False)
class Moves:
    """The moves that a pass shows. header: the state it began with; merged: the header that follows from it."""

    header: Header
    made: Pass
    merged: Header
    targets: dict[Place, list[ValuePair]] = field(default_factory=dict)
    # The cells known to be written or created in an iteration.
    _afterwards: set[int] = field(default_factory=set)
    _known: dict[int, frozenset[Place] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.merged.merge is not None
        self.merge = self.merged.merge
        for pair in value_pairs(self.merge.paired):
            places = self._from(pair.after)
            # A choice between several arrays is followed only if the number of alternatives does not keep growing.
            if places is None or (len(places) > 1 and not self.header.numbering.through_ifs):
                continue
            if len(others := places - {pair.place}) <= 1:
                (source,) = others or (pair.place,)
                self.targets.setdefault(source, []).append(pair)

    def _from(self, value: Value) -> frozenset[Place] | None:
        """The places of a value at the start of the iteration: several if an if chooses it; None: it is new."""
        if id(value) not in self._known:
            self._known[id(value)] = self._found(value)
        return self._known[id(value)]

    def _found(self, value: Value) -> frozenset[Place] | None:
        start, chosen = self.made.start.get(id(value)), self.made.chosen.get(id(value))
        if start is not None:
            return frozenset({start[1]})
        if chosen is None:
            return None
        (a, b) = map(self._from, chosen[1:])
        return None if a is None or b is None else a | b

    @property
    def sources(self) -> dict[Place, Place]:
        """The source of each place that a value is moved to."""
        return {pair.place: source for source, pairs in self.targets.items() for pair in pairs}

    def followed(self, alone: Callable[[State], Merge]) -> State | None:
        """The state after an iteration that begins with the new values of the sources; None if it is the one already
        known.

        alone: merges the state before the loop with a given one.
        """
        back, kinds, before = self.merge.right, self.merged.kinds(), self.header.kinds()
        waiting = deque(source for source in self.targets if source in kinds and kinds[source] != before.get(source))
        if back is None or not any(pair.place != source for source in waiting for pair in self.targets[source]):
            return None
        stand_ins = _StandIns(self.made.block)
        values = {place: stand_ins.value(value, self.merged.columns) for place, value in leaves_of(self.merged.state)}
        store = self._store(back, stand_ins)
        if store is None:
            return None
        known = [(source, pairs) for source, pairs in self.targets.items() if source in values]
        moved = {pair.own: values[source] for source, pairs in known for pair in pairs}
        met = self._pairs(alone(self._replaced(back, moved, store)).paired)
        rounds: Counter[Place] = Counter()
        while waiting:
            source = waiting.popleft()
            for pair in self.targets.get(source, ()):
                moved[pair.own] = value = values[source]
                if pair.place == source or rounds[pair.place] == ROUNDS:
                    continue
                rounds[pair.place] += 1
                paired = met.of(pair, value)
                cells = {*cells_in(value), *(right for _, right, _ in paired)}
                merge = alone(State(store={cell: store[cell] for cell in cells}))
                made = merge.alone(pair.walked, pair.place, pair.before, value, paired)
                kind = kind_in_loop(made, merge.store, names_of(merge.columns))
                if kind != kinds[pair.place]:
                    kinds[pair.place], values[pair.place] = kind, stand_ins.value(made, merge.columns)
                    own = {cell for cell in cells_in(made) if cell not in self._afterwards}
                    store |= {cell: stand_ins.expr(merge.store[cell], merge.columns) for cell in own}
                    waiting.append(pair.place)
        return self._replaced(back, moved, store)

    def _store(self, back: State, stand_ins: _StandIns) -> dict[int, Expr] | None:
        """The contents of arrays after an iteration that begins with the merged state; None if the type of an array
        changes."""
        own, began = self.merge.paired.cells.left, self.header.state.store
        store = {cell: stand_ins.expr(held, self.merged.columns) for cell, held in self.merged.state.store.items()}
        for cell, contents in back.store.items():
            number = own.get(cell, cell)
            if number in store and store[number].type != contents.type:
                return None
            is_written = cell not in began or began[cell].value is not contents.value
            if is_written or number not in store:
                store[number] = contents
                self._afterwards.add(number)
        return store

    def _pairs(self, paired: Correspondence) -> _Pairs:
        """The pairs of cells of a merge."""
        paired.pair(paired.places())
        met = _Pairs(paired.paired_at)
        for number, (left, right) in paired.cells.sides.items():
            if left is not None and right is not None:
                met.left[left] = met.right[right] = left, right, number
        return met

    def _replaced(self, back: State, moved: Mapping[Place, Value], store: Mapping[int, Expr]) -> State:
        """The state after an iteration, with its cells and objects renumbered as in the merged state."""
        cells, objects = self.merge.paired.cells.left, self.merge.paired.objects.left
        renaming = Renaming(cell=lambda n: cells.get(n, n), object=lambda n: objects.get(n, n))

        def changed(place: Place, value: Value) -> Value:
            if place in moved:
                return dataclasses.replace(value, value=moved[place]) if isinstance(value, Flagged) else moved[place]
            if isinstance(value, Tuple):
                parts = (changed((*place, index), part) for index, part in enumerate(value.items))
                return with_parts(value, tuple(parts))
            return renaming.value(value)

        made = State(live=back.live)
        for number, names in back.frames.items():
            made.frames[number] = {name: changed(("frame", number, name), value) for name, value in names.items()}
        made.temps = tuple(changed(("temp", index), value) for index, value in enumerate(back.temps))
        for number, entry in back.heap.items():
            items = tuple(changed(("item", number, index), item) for index, item in enumerate(entry.items))
            made.heap[objects.get(number, number)] = dataclasses.replace(entry, items=items)
        used = {cell for _, leaf in leaves_of(made) for cell in cells_in(leaf)}
        made.store = {cell: store[cell] for cell in sorted(used)}
        held = {cells.get(number, objects.get(number, number)): growth for number, growth in back.held.items()}
        made.held = {number: growth for number, growth in held.items() if number in made.heap or number in made.store}
        return made


@dataclass(eq=False)
class _Pairs:
    """Pairs of cells, before a loop and after an iteration, and the merged cell; indexed by the first two. places:
    where each merged cell was paired."""

    places: Mapping[int, Place]
    left: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    right: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def of(self, pair: ValuePair, after: Value) -> set[tuple[int, int, int]]:
        """The pairs of other places that affect one place."""
        found = {self.left[cell] for cell in cells_in(pair.before) if cell in self.left}
        found |= {self.right[cell] for cell in cells_in(after) if cell in self.right}
        return {cells for cells in found if self.places.get(cells[2]) != pair.walked}


@dataclass(eq=False)
class _StandIns:
    """Values of a block in place of the placeholders of merges, so that they can be merged like values after an
    iteration."""

    block: Block
    known: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def value(self, value: Value, columns: Columns) -> Value:
        return self._renaming(columns).value(value)

    def expr(self, expr: Expr, columns: Columns) -> Expr:
        return self._renaming(columns).expr(expr)

    def _renaming(self, columns: Columns) -> Renaming:
        return Renaming(ssa=lambda value: self._of(value) if value.owner is columns.scratch else value)

    def _of(self, value: SSAValue) -> SSAValue:
        if value not in self.known:
            self.known[value] = self.block.insert_arg(value.type, len(self.block.args))
        return self.known[value]
