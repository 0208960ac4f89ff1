"""How many elements code appends to the lists that grow, so that their arrays can be made before a loop.

Reads: nothing. Writes: nd ops. Leaves: upper bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.ir import Block

from mlirad.dialect.expr import Expr
from mlirad.frontend import affine
from mlirad.frontend.columns import is_inside


@dataclass(frozen=True)
class Bound:
    """most: how many are appended at most; None: that is not known. is_exact: whether it is so many always."""

    most: affine.Int | None = 0
    is_exact: bool = True

    def plus(self, other: Bound) -> Bound:
        most = None if self.most is None or other.most is None else affine.add(self.most, other.most)
        return Bound(most, self.is_exact and other.is_exact)

    def times(self, trips: affine.Int | None, is_exact: bool) -> Bound:
        if self.most == 0:
            return self
        most = None if trips is None or self.most is None else affine.multiply(self.most, trips)
        return Bound(most, self.is_exact and is_exact)

    def outside(self, block: Block) -> Bound:
        """The bound by what is known before a block."""
        if isinstance(self.most, Expr) and is_inside(self.most.value, block):
            return Bound(affine.upper_bound(self.most), False)
        return self

    def either(self, other: Bound) -> Bound:
        if self == other:
            return self
        most = None if self.most is None or other.most is None else affine.maximum(self.most, other.most)
        return Bound(most, False)


@dataclass
class Appended:
    """The bounds of the lists, by the number of their arrays."""

    bounds: dict[int, Bound] = field(default_factory=dict)

    def add(self, number: int, bound: Bound = Bound(1)) -> None:
        self.bounds[number] = self.bounds.get(number, Bound()).plus(bound)

    def shorten(self, number: int) -> None:
        """An element is taken away: how many there are is not what has been appended."""
        self.bounds[number] = replace(self.bounds.get(number, Bound()), is_exact=False)

    def either(self, left: Appended, right: Appended) -> None:
        """Code follows that is one of the two."""
        for number in {**left.bounds, **right.bounds}:
            a, b = (side.bounds.get(number, Bound()) for side in (left, right))
            self.add(number, a.either(b))
