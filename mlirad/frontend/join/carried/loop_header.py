"""The state at a loop's header, made of columns for loop-carried values, and the numbers of its cells and objects.

Reads: states. Writes: nothing. Leaves: a Header; the search ends when its description no longer changes.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.join.append_counts import AppendCounts
from mlirad.frontend.join.join_columns import Columns, discard
from mlirad.frontend.join.merging.merge import Merge
from mlirad.frontend.join.numbering import Numbering, Pair
from mlirad.frontend.join.outcomes import Chosen, Exit, Outcome
from mlirad.frontend.join.widening import Given, leaves_of, with_own_values
from mlirad.frontend.program.scope import Names, assigned, may_leave, uses
from mlirad.frontend.values.descriptions import Skeleton, describe, describe_state
from mlirad.frontend.values.origins import Mark, Origins, resolved, state_with_origins, with_origins
from mlirad.frontend.values.state import Place, State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import SIMPLE, parts_of, with_leaves, with_parts
from mlirad.frontend.values.values import Flagged, Ref, Static, Value, is_number

# The key of the mark for the number of the iteration.
INDEX = "index"


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop about to run. key: identifies the loop on this path of calls. bind: binds a for's target to the element of
    a number; length: the number of elements. test: a while's condition. checkpoint: how reverse mode keeps its states,
    if given. require_unchanged: refuses a list or dict whose length the body has changed."""

    node: ast.For | ast.While
    key: Hashable
    bind: Callable[[Value], None] | None = None
    length: int | Traced | None = None
    test: ast.expr | None = None
    checkpoint: str | int | None = None
    require_unchanged: Callable[[], None] | None = None

    @property
    def leaves(self) -> bool:
        """Whether the body may leave the loop."""
        return may_leave(self.node)

    @property
    def changed(self) -> Names:
        """The names that an iteration may bind."""
        nodes = [*self.node.body, self.node.target] if isinstance(self.node, ast.For) else self.node.body
        return frozenset().union(*map(assigned, nodes))

    @property
    def used(self) -> Names:
        """The names that an iteration may read."""
        nodes = self.node.body if isinstance(self.node, ast.For) else [*self.node.body, self.node.test]
        return frozenset().union(*map(uses, nodes))


@dataclass
class LoopNumbering(Numbering):
    """Numbers of the merged cells and objects of one loop's header: a key keeps its number in every pass.

    by_identity: first pair what was the same before the loop (as at an if), instead of pairing by place. through_ifs:
    pair by place also at the ifs in the loop. kept: cells that some variable always refers to, and that were unwritten
    when that was first seen: they keep their identity, whatever else refers to them. marks: the marks of keys, and of
    the number of the iteration ("index").
    """

    used: Names = frozenset()
    changed: Names = frozenset()
    frame: int = 0
    by_identity: bool = False
    through_ifs: bool = False
    numbers: dict[Hashable, int] = field(default_factory=dict)
    origin: dict[int, int | None] = field(default_factory=dict)
    kept: frozenset[int] = frozenset()
    marks: dict[Hashable, Mark] = field(default_factory=dict)

    def mark(self, key: Hashable) -> Mark:
        return self.marks.setdefault(key, Mark(key))

    def rank(self, place: Place) -> int:
        if place[0] != "frame" or place[1] != self.frame:
            return 2
        return 1 if place[2] in self.changed else 0 if place[2] in self.used else 2

    def number(self, key: Hashable, left: int | None, right: int | None) -> int:
        if left is not None and key == ("cell", "same", left):
            return left  # the loops around it use the same number
        number = self.numbers.setdefault((self.by_identity, key), 0) or self.fresh()
        self.numbers[self.by_identity, key] = number
        return number

    def same(self, left: Collection[int], right: Collection[int]) -> list[tuple[int, int]]:
        pairs = ((self.origin.get(number, number), number) for number in right)
        found: dict[int, int] = {}
        for a, b in pairs:
            if a is not None and a in left and a not in found and (self.by_identity or a in self.kept):
                found[a] = b
        return list(found.items())

    def keep(self, pairs: Iterable[Pair], left: Mapping[int, Expr], right: Mapping[int, Expr]) -> None:
        for _, a, b in pairs:
            if isinstance(a, Ref) and isinstance(b, Ref):
                before = {x.cell for x in a.alternatives}
                after = [y.cell for y in b.alternatives]
                same = [(self.origin.get(number, number), number) for number in after]
                self.kept |= {x for x, y in same if x is not None and x in before and left[x].value is right[y].value}


@dataclass
class Header:
    """The state at a loop's header. Its placeholders are columns, and the origin of each loop-carried number in it is a
    mark. origins: what the marks mean, by the last pass. merge: the merge that it comes from."""

    state: State
    columns: Columns
    numbering: LoopNumbering
    origins: dict[Mark, Origins]
    merge: Merge | None = None

    @staticmethod
    def of(state: State, columns: Columns, numbering: LoopNumbering, key: Hashable) -> Header:
        """key: the key of the loop."""
        keys = {column.placeholder: key for key, column in columns.columns.items()}
        origins: dict[Mark, Origins] = {numbering.mark(INDEX): frozenset({("loop", key)})}

        def marked(leaf: Value) -> Value:
            if not isinstance(leaf, Traced) or leaf.expr.value not in keys:
                return leaf
            mark = numbering.mark(keys[leaf.expr.value])
            origins[mark] = origins.get(mark, frozenset()) | leaf.origins
            return dataclasses.replace(leaf, origins=frozenset({mark}))

        return Header(state.mapped(lambda value: with_leaves(value, marked)), columns, numbering, origins)

    @staticmethod
    def before(loop: Loop, entry: State, numbering: LoopNumbering) -> Header:
        """The state before the loop, with nothing widened."""
        block = Block()
        return Header.of(entry, Columns(block, block, is_loop=True), numbering, loop.key)

    def moved(self, old: Skeleton, new: Skeleton) -> Header:
        """This header, found for a state `old`, as a guess for a state `new` with the same description."""
        values = dict(zip(old.values, new.values, strict=True))
        numbers = dict(zip(old.numbers, new.numbers, strict=True))
        numbering = dataclasses.replace(
            self.numbering,
            origin={k: None if left is None else numbers.get(left, left) for k, left in self.numbering.origin.items()},
            kept=frozenset(numbers.get(each, each) for each in self.numbering.kept),
        )
        state = self.state.renamed(lambda value: values.get(value, value))
        return Header(state, self.columns, numbering, self.origins)

    def description(self) -> Hashable:
        return describe_state(self.state, self._name_of())

    def apart_from_numbers(self) -> dict[Place, Hashable]:
        """The kind of value in each place, whatever its numbers are, and the contents of arrays."""
        name, state = self._name_of(), self.state
        items = ((("item", n, k), item) for n, entry in state.heap.items() for k, item in enumerate(entry.items))
        found: dict[Place, Hashable] = {("cell", cell): name(expr.value) for cell, expr in state.store.items()}
        for place, value in (*state.places(), *items):
            found[place] = describe(_without_numbers(value), name)
        return found

    def kinds(self) -> dict[Place, Hashable]:
        """The kind of value in each place, whatever it comes from."""
        name = names_of(self.columns)
        return {place: kind_in_loop(value, self.state.store, name) for place, value in leaves_of(self.state)}

    def _name_of(self) -> Callable[[SSAValue], Hashable]:
        return names_of(self.columns)

    def column_keys(self) -> list[Hashable]:
        return list(self.columns.columns)

    def types(self) -> list[Attribute]:
        return [column.type for column in self.columns.columns.values()]

    def bound_to(self, arguments: Sequence[SSAValue]) -> State:
        """The header's state with these values for its columns."""
        placeholders = (column.placeholder for column in self.columns.columns.values())
        values = dict(zip(placeholders, arguments, strict=True))
        return with_own_values(self.state.renamed(lambda value: values.get(value, value)))

    def after(self, results: Sequence[SSAValue], last: Columns | None = None) -> State:
        """The state after the loop, given the results of its op. last: the state after an iteration, if certain: then
        an array that it chooses is known."""
        state = state_with_origins(self.bound_to(results), lambda origins: resolved(origins, self.origins))
        if last is None:
            return state
        pairs = zip(self.column_keys(), results, strict=True)
        chosen = {result: last.columns[key].right for key, result in pairs}

        def known(leaf: Value) -> Value:
            if not isinstance(leaf, Ref) or leaf.selector is None:
                return leaf
            position = chosen.get(leaf.selector.value)
            return _chosen(leaf, position, state.store) if isinstance(position, int) else leaf

        after = state.mapped(lambda value: with_leaves(value, known))
        after.store = state.store
        return after


def names_of(columns: Columns) -> Callable[[SSAValue], Hashable]:
    """The names of values in descriptions: placeholders get their keys, which are the same in every pass."""
    names = {column.placeholder: key for key, column in columns.columns.items()}

    def name(value: SSAValue) -> Hashable:
        key = names.get(value)
        return ("column", key, str(value.type)) if key is not None else value

    return name


def kind_in_loop(value: Value, store: Mapping[int, Expr], name: Callable[[SSAValue], Hashable]) -> Hashable:
    """A description of a value and of the contents of its arrays, whatever its numbers come from."""
    held = tuple((cell, name(store[cell].value)) for cell in sorted(cells_in(value)))
    return describe(with_origins(value, lambda _: frozenset()), name), held


def cells_in(value: Value) -> set[int]:
    """The cells of an array. value: contains no other values."""
    return {each.cell for each in value.alternatives} if isinstance(value, Ref) else set()


def _without_numbers(value: Value) -> Value:
    if isinstance(value, Flagged):
        return _without_numbers(value.value)
    if is_number(value):
        return Static(None)
    if value.__class__ in SIMPLE:
        return value
    return with_parts(value, tuple(_without_numbers(part) for part in parts_of(value)))


def _chosen(array: Ref, position: int, store: dict[int, Expr]) -> Ref:
    """The one alternative that an array certainly is; its cell gets the contents that were carried for the array."""
    alternative, snapshot = array.alternatives[position], array.current(store)
    if snapshot is not None and alternative.view.is_whole and snapshot.view.is_whole:
        store[alternative.cell] = snapshot.contents
    return Ref((alternative,))


@dataclass(eq=False)
class Pass:
    """One pass over a loop's body.

    block: the body. start: the static numbers that it began with. outcome: NEXT is the state at the end of the body on
    all paths. `exits` are the ways to leave the loop from inside; `code` says at run time which way is taken, NEXT (0)
    included. before: the condition region of a while with a condition that is an expression without side effects, and
    `condition` its value. chosen: the values that branches have merged, by id. has_swapped: whether an if joins arrays
    that could be paired by place.
    """

    block: Block
    outcome: Outcome
    start: Given
    exits: tuple[Exit, ...] = ()
    code: Expr | int | None = None
    before: Block | None = None
    condition: Expr | None = None
    appended: AppendCounts = field(default_factory=AppendCounts)
    chosen: Chosen = field(default_factory=dict)
    has_swapped: bool = False

    def discard(self) -> None:
        discard(self.block)
        if self.before is not None:
            discard(self.before)
