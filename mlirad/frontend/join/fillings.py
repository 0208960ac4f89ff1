"""Lists that a loop fills, while the loop is searched for what it carries.

Reads: nothing. Writes: nothing. Leaves: Fillings.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values import affine


@dataclass(eq=False)
class Filling:
    """A list that a loop fills. place: its number before the loop; number: of its arrays. capacity: an argument of no
    block, until it is known. start: its length before. first: the first op that makes the arrays."""

    place: int
    number: int
    capacity: Expr
    start: affine.Int
    first: Operation


@dataclass(eq=False)
class Fillings:
    """The lists that one loop fills; done: their capacities are known. bounds: of what the loop has appended."""

    lists: list[Filling] = field(default_factory=list)
    done: bool = False
