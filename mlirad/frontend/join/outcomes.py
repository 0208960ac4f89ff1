"""How a block of statements ends: the possible ways, the state for each, and the branches that its ifs have taken.

Reads: nothing. Writes: nothing. Leaves: an Outcome for each block, which the enclosing statement merges or passes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.join.append_counts import AppendCounts
from mlirad.frontend.values.state import State
from mlirad.frontend.values.values import Value


class Exit(IntEnum):
    """The ways in which a block ends; the numbers are the run-time codes."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    EXHAUSTED = 4  # of a loop: its condition is false


@dataclass
class Outcome:
    """The state for each way in which a block may end; none at all if it certainly raises.

    code: the way taken at run time, if there are several. appended: what a block that runs appends to lists.
    """

    states: dict[Exit, State]
    code: Expr | None = None
    appended: AppendCounts = field(default_factory=AppendCounts)

    def operand(self) -> Expr | int | None:
        if self.code is not None:
            return self.code
        return int(next(iter(self.states))) if self.states else None


# By the id of a value at the end of an if: the value, and the two values that it is chosen from.
Chosen = dict[int, tuple[Value, Value, Value]]
