"""Numbers the cells and objects of a merged state, and so decides which are the same on both sides.

Reads: the pairs of values in corresponding places. Writes: nothing. Leaves: numbers of the merged state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values.state import Place
from mlirad.frontend.values.values import Ref, Value

# The correspondence of the two sides of a merge.
Pair = tuple[Place, Value | None, Value | None]


@dataclass
class Numbering:
    """Numbers of merged cells and objects, for the branches of an if: whatever is the same on both sides keeps its
    number."""

    fresh: Callable[[], int]

    def rank(self, place: Place) -> int:
        """Places of a smaller rank are paired first."""
        return 0

    def number(self, key: Hashable, left: int | None, right: int | None) -> int:
        if left is not None and (right is None or left == right):
            return left
        return right if left is None and right is not None else self.fresh()

    def same(self, left: Collection[int], right: Collection[int]) -> list[tuple[int, int]]:
        """The cells or objects that are the same on both sides."""
        return [(number, number) for number in left if number in right]

    def keep(self, pairs: Iterable[Pair], left: Mapping[int, Expr], right: Mapping[int, Expr]) -> None:
        """Note which cells must keep their identity; left, right: their contents."""


@dataclass
class PlaceNumbering(Numbering):
    """Numbers of merged cells for the branches of an if, with arrays paired by place if the two sides correspond one to
    one wherever they are referred to. So `if c: a, b = b, new` leaves two arrays, instead of names for one of several.

    is_asked: whether to pair by place, or only to find out whether it is possible. apart: the cells paired with another
    cell on the other side; has_moved: whether there were any.
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
            own, others = unique([x for x in xs if x not in staying]), unique([y for y in ys if y not in staying])
            is_single = len(own) == len(others) == 1
            for x in own if others else ():
                after.setdefault(x, set()).add(others[0] if is_single else None)
            for y in others if own else ():
                before.setdefault(y, set()).add(own[0] if is_single else None)
        single = {x: next(iter(ys)) for x, ys in after.items() if len(ys) == 1}
        moved = {x: y for x, y in single.items() if y is not None and x != y and before[y] == {x}}
        moved = {x: y for x, y in moved.items() if left[x].type == right[y].type}
        broken = {0}
        while broken:  # a moving cell makes room for another, or was not there before
            sources = set(moved.values())
            broken = {
                x for x, y in moved.items() if (x in before and x not in sources) or (y in after and y not in moved)
            }
            moved = {x: y for x, y in moved.items() if x not in broken}
        self.apart = {*moved, *moved.values()}
        self.has_moved = self.has_moved or bool(moved)


def unique(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))
