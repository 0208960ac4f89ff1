"""Selectors: the numbers that say which of several arrays a reference is.

Reads: selectors, and a value for each number. Writes: selects. Leaves: the selected values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, where
from mlirad.frontend.values.values import Ref
from mlirad.frontend.values.views import view_contents
from mlirad.frontend.values.views.view_steps import Start, is_same_start


def selected(selector: Expr | None, positions: Sequence[int], parts: Sequence[Expr]) -> Expr:
    """The part at the selector's position, among those at `positions`; without a selector there is only one."""
    result = parts[-1]
    for position, part in zip(reversed(positions[:-1]), reversed(parts[:-1]), strict=True):
        assert selector is not None
        result = where(selector == position, part, result)
    return result


def selected_start(selector: Expr, positions: Sequence[int], starts: Sequence[Start]) -> Start:
    """The selected alternative's start or size; the first, if all are equal."""
    first = starts[0]
    if all(is_same_start(start, first) for start in starts):
        return first
    parts = [start if isinstance(start, Expr) else constant(start, types.I64) for start in starts]
    return selected(selector, positions, parts)


def renumbered(selector: Expr | None, positions: Sequence[int]) -> Expr:
    """positions[selector], by selects."""
    assert selector is not None
    result = constant(positions[-1], types.I64)
    for index in range(len(positions) - 2, -1, -1):
        result = where(selector == index, constant(positions[index], types.I64), result)
    return result


def contents_of(array: Ref, store: Mapping[int, Expr]) -> Expr:
    """The elements of an array, given the contents `store` of the cells."""
    if (snapshot := array.current(store)) is not None:
        return view_contents.get(snapshot.view, snapshot.contents)
    parts = [view_contents.get(each.view, store[each.cell]) for each in array.alternatives]
    return selected(array.selector, range(len(parts)), parts)
