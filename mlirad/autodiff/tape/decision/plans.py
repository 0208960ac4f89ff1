"""What a decision is made of: one recovery plan for each forward value, the tapes, and the writes that are undone.

Nothing here can be changed after it was made, and emission reads nothing else about what was decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import Carry, StructuredOp
from mlirad.autodiff.tape.decision.forward_values import ForwardValue
from mlirad.autodiff.tape.decision.nests import Nest, Step
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.subset import Subset

# --- recovery plans ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TapePlan:
    """One tape: a flat array with a row of `width` elements for each trip of the nest.

    A row holds `values` side by side, or one array of at most `bounds` elements along each axis. Without a nest there
    is no array: each value becomes a result of the ifs on the path.
    """

    values: tuple[ForwardValue, ...]
    path: tuple[Step, ...]
    nest: Nest | None
    width: int
    bounds: tuple[int, ...]


@dataclass(frozen=True)
class TapeEntry:
    """Where a stored value is: `offset` elements after the beginning of a row. sizes: the unknown ones of an array."""

    tape: TapePlan
    offset: int
    sizes: tuple[ForwardValue, ...] = ()


@dataclass(frozen=True)
class Load:
    """Store the value in the forward sweep, and load it from its tape entry."""

    entry: TapeEntry
    operands: ClassVar[tuple[SSAValue, ...]] = ()


@dataclass(frozen=True)
class Count:
    """`operands[0] + by * counter` (without an operand: `by * counter`), of the counter of the reverse loop."""

    operands: tuple[SSAValue, ...]
    by: int
    cost: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Recompute:
    """The op that defines the value once more. A read may have the final array as its first operand."""

    op: Operation
    operands: tuple[SSAValue, ...]
    cost: float


@dataclass(frozen=True)
class ReadFinal:
    """Read the value from the final array (`operands[0]`) that the forward sweep writes it to, at the places."""

    written: Subset
    operands: tuple[SSAValue, ...]
    cost: ClassVar[float] = 1.0


@dataclass(frozen=True)
class Reread:
    """Re-read the value from an array, once all writes that came later are undone.

    op: the read or write whose part is read; None: the value is the whole array. operands: its places.
    """

    version: SSAValue
    op: NdOp | None
    operands: tuple[SSAValue, ...]
    cost: float


@dataclass(frozen=True)
class FromLaterTrip:
    """The argument of `carry` in the trip after, which the reverse sweep recovers first and carries to this trip."""

    carry: Carry
    cost: ClassVar[float] = 0.0

    @property
    def operands(self) -> tuple[SSAValue, ...]:
        return (self.carry.arg,)


Unstored = Count | Recompute | ReadFinal | Reread | FromLaterTrip
Plan = Load | Unstored


# --- the decision -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Undoing:
    """The walk of arrays backwards through the reverse sweep, and the writes that are undone on it.

    finals: where the walk starts: final arrays of loops and branches of the function's own block.
    threaded: the results of a loop or branch whose arrays the walk takes through it, by number.
    exchanging: the loops that permute the arrays that they carry.
    restored: for each branch, the arrays from before it that both of its sides lead back to.
    undone: for each write that is undone, what it overwrote.
    at_head: for each block, the values that are re-read at its head, with the array at its end that still holds them.
    through: for each loop or branch, the values inside that are re-read from an array of the block around it.
    in_place: what is re-read where the walk comes to it.
    """

    finals: Mapping[StructuredOp, tuple[SSAValue, ...]]
    threaded: Mapping[Operation, tuple[int, ...]]
    exchanging: frozenset[Operation]
    restored: Mapping[Operation, tuple[SSAValue, ...]]
    undone: Mapping[NdOp, ForwardValue]
    at_head: Mapping[Block, tuple[tuple[SSAValue, SSAValue], ...]]
    through: Mapping[Operation, tuple[tuple[SSAValue, SSAValue], ...]]
    in_place: Mapping[SSAValue, Reread]


@dataclass(frozen=True)
class Decision:
    """plans: of every value that the reverse sweep needs and does not see. tapes: in the order they are emitted in."""

    plans: Mapping[ForwardValue, Plan]
    tapes: tuple[TapePlan, ...]
    undoing: Undoing
