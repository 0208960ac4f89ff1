"""How a block of statements ends: the possible ways, the state of each, and which branches its ifs have taken.

Reads: nothing. Writes: nothing. Leaves: an Outcome for each block, which the statement around it merges or hands on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.join.append_counts import AppendCounts
from mlirad.frontend.values.state import State
from mlirad.frontend.values.values import Value


class Exit(IntEnum):
    """How a block ends; the numbers are the run-time codes."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    EXHAUSTED = 4  # of a loop: its condition is false


@dataclass
class Outcome:
    """The state for each way in which a block may end. None at all: it certainly raises.

    code: which way it is at run time, where there are several. appended: to lists, by a block that has been run.
    """

    states: dict[Exit, State]
    code: Expr | None = None
    appended: AppendCounts = field(default_factory=AppendCounts)

    def operand(self) -> Expr | int | None:
        if self.code is not None:
            return self.code
        return int(next(iter(self.states))) if self.states else None


# By the id of a value in which an if ends: the value, and the two that it is chosen of.
Chosen = dict[int, tuple[Value, Value, Value]]
