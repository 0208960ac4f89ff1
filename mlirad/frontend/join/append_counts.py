"""How many elements code appends to growing lists: their arrays are allocated before the loop.

Reads: nothing. Writes: nd ops. Leaves: upper bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from xdsl.ir import Block

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.join.join_columns import is_inside
from mlirad.frontend.values import affine

# At most this many elements of an array may stay unused.
SPARE = 1000


@dataclass(frozen=True, eq=False)
class AppendBound:
    """most: the largest number of appended elements; None: unknown. is_exact: whether it is always this number.

    A bound that is not exact is either small, or at most the number of iterations that run. So an array of this size is
    not much larger than the program needs.
    """

    most: affine.Int | None = 0
    is_exact: bool = True

    @staticmethod
    def loose(most: affine.Int | None) -> AppendBound:
        """The bound of code that may not run, or not to its end."""
        return AppendBound(most if isinstance(most, int) and most <= SPARE else None, False)

    def plus(self, other: AppendBound) -> AppendBound:
        most = None if self.most is None or other.most is None else affine.add(self.most, other.most)
        return AppendBound(most, self.is_exact and other.is_exact)

    def times(self, trips: affine.Int | None, leaves: bool = False) -> AppendBound:
        """The bound of all iterations of a loop. trips: the largest number of iterations; leaves: there may be
        fewer."""
        if isinstance(self.most, int) and not self.most:
            return self
        most = None if trips is None or self.most is None else affine.multiply(self.most, trips)
        return AppendBound.loose(most) if leaves else AppendBound(most, self.is_exact)

    def outside(self, block: Block) -> AppendBound:
        """The bound in terms of values visible before a block, at the insertion point. Facts known in the block stay
        known."""
        if not isinstance(self.most, Expr) or not is_inside(self.most.value, block):
            return self
        moved = affine.recomputed(self.most, lambda value: not is_inside(value, block))
        return AppendBound.loose(affine.upper_bound(self.most)) if moved is None else AppendBound(moved, self.is_exact)

    def either(self, other: AppendBound) -> AppendBound:
        if self.most is None or other.most is None:
            return AppendBound(None, False)
        if affine.difference(self.most, other.most) == 0:
            return AppendBound(self.most, self.is_exact and other.is_exact)
        numbers = [most for most in (self.most, other.most) if isinstance(most, int)]
        return AppendBound.loose(max(numbers) if len(numbers) == 2 else None)


@dataclass(frozen=True)
class AppendCounts:
    """The bounds of the lists, by the number of their arrays.

    Bounds are immutable: undoing an attempt means returning to earlier ones.
    """

    bounds: Mapping[int, AppendBound] = field(default_factory=dict)

    def of(self, number: int) -> AppendBound:
        return self.bounds.get(number, AppendBound())

    def plus(self, number: int, bound: AppendBound = AppendBound(1)) -> AppendCounts:
        return AppendCounts({**self.bounds, number: self.of(number).plus(bound)})

    def shorter(self, number: int) -> AppendCounts:
        """Remove an element: the length is no longer the number of appended elements."""
        return AppendCounts({**self.bounds, number: replace(self.of(number), is_exact=False)})

    def outside(self, block: Block) -> AppendCounts:
        return AppendCounts({number: bound.outside(block) for number, bound in self.bounds.items()})

    def then(self, code: AppendCounts) -> AppendCounts:
        """The bounds if this is followed by code that appends as much as `other`."""
        result = self
        for number, bound in code.bounds.items():
            result = result.plus(number, bound)
        return result

    def either(self, other: AppendCounts) -> AppendCounts:
        """The bounds of one of two pieces of code."""
        return AppendCounts(
            {number: self.of(number).either(other.of(number)) for number in {**self.bounds, **other.bounds}}
        )
