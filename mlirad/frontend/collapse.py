"""Arrays that only one variable refers to become one array: without it a loop may find new ones in every pass.

Reads: a state. Writes: selects, at the end of the state's block. Leaves: a state in which no variable has two private
alternatives (arrays that nothing else can see).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from mlirad.dialect import types
from mlirad.dialect.expr import Expr, where
from mlirad.dialect.movement import reshape
from mlirad.frontend import layout, views
from mlirad.frontend.merge import renumbered
from mlirad.frontend.state import State
from mlirad.frontend.values import Alternative, Ref, Value, inside, with_leaves
from mlirad.frontend.views import View


def collapsed(state: State, fresh: Callable[[], int]) -> State:
    """The state with the private alternatives of each reference made one; ops go to the current insertion point."""
    seen = Counter(
        alternative.cell
        for value in state.values()
        for part in inside(value)
        if isinstance(part, Ref)
        for alternative in part.alternatives
    )
    store, held = dict(state.store), dict(state.held)

    def visit(value: Value) -> Value:
        if not isinstance(value, Ref):
            return value
        made = _collapsed(value, seen, store, fresh)
        for cell in _cells(made) - _cells(value):  # which stands for all that are gone
            held.update((cell, held[other]) for other in _cells(value) - _cells(made) if other in held)
        return made

    made = state.mapped(lambda value: with_leaves(value, visit))
    made.store, made.held = store, held
    return made


def _cells(array: Ref) -> set[int]:
    return {alternative.cell for alternative in array.alternatives}


def _collapsed(array: Ref, seen: Counter[int], store: dict[int, Expr], fresh: Callable[[], int]) -> Ref:
    private = [k for k, a in enumerate(array.alternatives) if seen[a.cell] == 1 and not a.view.readonly]
    if len(private) < 2 or array.selector is None:
        return array
    chosen = [array.alternatives[k] for k in private]
    contents = [views.get(a.view, store[a.cell]) for a in chosen]
    result = contents[-1]
    for k, part in zip(reversed(private[:-1]), reversed(contents[:-1]), strict=True):
        result = where(array.selector == k, part, result)
    number = fresh()
    store[number] = result if array.ndim else reshape(result, types.tensor((), result.element))
    for alternative in chosen:
        del store[alternative.cell]
    known = all(a.view.strides == chosen[0].view.strides for a in chosen)
    strides = chosen[0].view.strides if known else layout.unknown_strides(array.shape)
    others = [k for k in range(len(array.alternatives)) if k not in private]
    made = Alternative(number, View.of(array.shape, array.dtype, strides))
    positions = [others.index(k) if k in others else len(others) for k in range(len(array.alternatives))]
    alternatives = (*(array.alternatives[k] for k in others), made)
    return Ref(alternatives, renumbered(array.selector, positions) if others else None)
