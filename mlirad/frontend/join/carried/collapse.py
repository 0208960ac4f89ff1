"""Merges arrays that only one variable refers to into one: otherwise each pass over a loop may find new ones.

Reads: a state. Writes: selects, at the end of the state's block. Leaves: a state in which no variable has two private
alternatives (arrays that nothing else can see), and no variables with equal selectors share three arrays.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.ops.movement import reshape
from mlirad.frontend.join.selectors import renumbered, selected, selected_start
from mlirad.frontend.values import numpy_strides
from mlirad.frontend.values.state import State
from mlirad.frontend.values.value_parts import inside, with_leaves
from mlirad.frontend.values.values import Alternative, Ref, Value
from mlirad.frontend.values.views import view_contents
from mlirad.frontend.values.views.view import View


def collapsed(state: State, fresh: Callable[[], int], most_in_common: int) -> tuple[State, bool]:
    """The state with the private alternatives of each reference merged; ops go to the current insertion point.

    most_in_common: how many arrays, that nothing else refers to, references with one selector may share; the second
    result: whether any shared more.
    """
    arrays = [part for value in state.values() for part in inside(value) if isinstance(part, Ref)]
    seen = Counter(alternative.cell for array in arrays for alternative in array.alternatives)
    store, held = dict(state.store), dict(state.held)
    alike = _with_one_in_common(arrays, store, fresh, most_in_common)

    def visit(value: Value) -> Value:
        if not isinstance(value, Ref):
            return value
        made = alike[id(value)] if id(value) in alike else _collapsed(value, seen, store, fresh)
        for cell in _cells(made) - _cells(value):  # which replaces all those removed
            held.update((cell, held[other]) for other in _cells(value) - _cells(made) if other in held)
        return made

    made = state.mapped(lambda value: with_leaves(value, visit))
    made.store, made.held = store, held
    return made, bool(alike)


def _cells(array: Ref) -> set[int]:
    return {alternative.cell for alternative in array.alternatives}


def _collapsed(array: Ref, seen: Counter[int], store: dict[int, Expr], fresh: Callable[[], int]) -> Ref:
    private = [k for k, a in enumerate(array.alternatives) if seen[a.cell] == 1 and not a.view.readonly]
    if len(private) < 2 or array.selector is None:
        return array
    chosen = [array.alternatives[k] for k in private]
    result = selected(array.selector, private, [view_contents.get(a.view, store[a.cell]) for a in chosen])
    number = fresh()
    store[number] = result if array.ndim else reshape(result, types.tensor((), result.element))
    for alternative in chosen:
        del store[alternative.cell]
    known = all(a.view.strides == chosen[0].view.strides for a in chosen)
    strides = chosen[0].view.strides if known else numpy_strides.unknown_strides(array.shape)
    return _with_one(array, private, Alternative(number, View.of(array.shape, array.dtype, strides)))


def _with_one(array: Ref, positions: Sequence[int], made: Alternative) -> Ref:
    """A reference with one alternative in place of those at some positions."""
    count = len(array.alternatives)
    others = [k for k in range(count) if k not in positions]
    order = [others.index(k) if k in others else len(others) for k in range(count)]
    alternatives = (*(array.alternatives[k] for k in others), made)
    return Ref(alternatives, renumbered(array.selector, order) if others else None)


# References with one selector.


@dataclass(eq=False)
class _Common:
    """References with one selector, and the cells that only they refer to, each cell at one position."""

    arrays: list[Ref]
    cells: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)


def _with_one_in_common(
    arrays: Iterable[Ref], store: dict[int, Expr], fresh: Callable[[], int], most: int
) -> dict[int, Ref]:
    """Merge the arrays shared by references with one selector, if there are more than `most`. Gives the new references
    by the ids of the old ones."""
    found: dict[int, Ref] = {}
    for common in _in_common(arrays, store):
        selector = common.arrays[0].selector
        if len(common.cells) <= most or selector is None or id(common.arrays[0]) in found:
            continue
        number = fresh()
        store[number] = selected(selector, common.positions, [store.pop(cell) for cell in common.cells])
        for array in common.arrays:
            gone = [array.alternatives[position].view for position in common.positions]
            starts = zip(*(view.params for view in gone), strict=True)
            params = (selected_start(selector, common.positions, each) for each in starts)
            view = dataclasses.replace(gone[0], params=tuple(params))
            found[id(array)] = _with_one(array, common.positions, Alternative(number, view))
    return found


def _in_common(arrays: Iterable[Ref], store: dict[int, Expr]) -> Iterable[_Common]:
    uses: dict[int, dict[int, tuple[Ref, list[int]]]] = {}
    for array in arrays:
        for cell in _cells(array):
            positions = [k for k, each in enumerate(array.alternatives) if each.cell == cell]
            uses.setdefault(cell, {})[id(array)] = array, positions
    found: dict[Hashable, _Common] = {}
    for cell, users in uses.items():
        _, positions = next(iter(users.values()))
        view_of = [array.alternatives[positions[0]].view for array, own in users.values() if own == positions]
        selectors = {None if array.selector is None else array.selector.value for array, _ in users.values()}
        if len(users) < 2 or len(view_of) < len(users) or len(positions) > 1 or len(selectors) > 1:
            continue
        if all(view.is_static for view in view_of):
            seen = tuple(
                (user, view.steps, view.strides, view.readonly) for user, view in zip(users, view_of, strict=True)
            )
            key = store[cell].type, seen
            common = found.setdefault(key, _Common([array for array, _ in users.values()]))
            common.cells.append(cell)
            common.positions.append(positions[0])
    return found.values()
