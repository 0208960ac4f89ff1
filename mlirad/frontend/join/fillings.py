"""Lists that a loop fills, while the interpreter finds out what the loop carries.

Reads: nothing. Writes: nothing. Leaves: Fillings.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values import affine


@dataclass(eq=False)
class Filling:
    """A list that a loop fills. place: its number before the loop; number: the number of its arrays. capacity: a
    placeholder (an argument of no block) until it is known. start: its length before. first: the first op that creates
    the arrays."""

    place: int
    number: int
    capacity: Expr
    start: affine.Int
    first: Operation


@dataclass(eq=False)
class Fillings:
    """The lists that one loop fills; done: whether their capacities are known. bounds: bounds on what the loop
    appends."""

    lists: list[Filling] = field(default_factory=list)
    done: bool = False
