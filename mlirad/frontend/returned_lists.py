"""A returned list that loops have filled: its arrays are results, and `jit` makes a list from them.

Reads: the list. Writes: nothing. Leaves: a description of it.
"""

from __future__ import annotations

from collections.abc import Callable

from mlirad import tree
from mlirad.contract.results import ArrayResult, ListResult, RunTime, ScalarResult
from mlirad.dialect.core.expr import Expr
from mlirad.frontend.interpreter.grown_lists import buffers_of, count_of
from mlirad.frontend.join.list_elements import ArrayElement, Element, NumberElement
from mlirad.frontend.values.values import Entry


def list_result(entry: Entry, result: Callable[[Expr], int], require: Callable[[type], None]) -> ListResult:
    """result: adds a result to the function, and returns its number. require: refuses classes of objects that cannot be
    returned."""
    growth, count, buffers = entry.growth, count_of(entry), iter(buffers_of(entry))
    assert growth is not None

    def described(element: Element) -> tuple[tree.Structure, list[ArrayResult | ScalarResult]]:
        match element:
            case NumberElement():
                return tree.LEAF, [ScalarResult(result(next(buffers)), element.dtype, element.weak)]
            case ArrayElement():
                return tree.LEAF, [ArrayResult(result(next(buffers)), element.shape, element.dtype)]
        is_sequence = issubclass(element.kind, tuple | list)
        if not is_sequence:
            require(element.kind)
        children = [described(part) for part in element.parts]
        node = tree.Node(
            element.kind, None if is_sequence else element.keys, tuple(structure for structure, _ in children)
        )
        return node, [row for _, rows in children for row in rows]

    structure, rows = described(growth.element)
    return ListResult(count if isinstance(count, int) else RunTime(result(count.expr)), structure, tuple(rows))
