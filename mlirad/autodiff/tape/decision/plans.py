"""The parts of a decision: a recovery plan for each forward value, the tapes, and the writes that are undone.

All of these are immutable, and emission reads nothing else of the decision.
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
    is no array: each value becomes a result of the ifs on the path. words: the numbers of each element of a row. The
    first of several integers has the lowest bits, and all have the same number of bits.
    """

    values: tuple[ForwardValue, ...]
    path: tuple[Step, ...]
    nest: Nest | None
    width: int
    bounds: tuple[int, ...]
    words: tuple[tuple[ForwardValue, ...], ...] = ()

    def bits_of(self, offset: int) -> int:
        """The bits of each integer in an element of a row; 0 if it holds one number."""
        count = len(self.words[offset]) if self.words else 1
        return 0 if count == 1 else 32 if count == 2 else 16


@dataclass(frozen=True)
class TapeEntry:
    """The location of a stored value: `offset` elements after the beginning of a row. sizes: the unknown sizes of an
    array. place: among the integers that share the element."""

    tape: TapePlan
    offset: int
    sizes: tuple[ForwardValue, ...] = ()
    place: int = 0


@dataclass(frozen=True)
class Load:
    """Store the value in the forward sweep, and load it from its tape entry."""

    entry: TapeEntry
    operands: ClassVar[tuple[SSAValue, ...]] = ()


@dataclass(frozen=True)
class Count:
    """`operands[0] + by * counter` (without operands: `by * counter`), for the counter of the reverse loop."""

    operands: tuple[SSAValue, ...]
    by: int
    cost: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Recompute:
    """Emit the op that defines the value again. A read may have the final array as its first operand."""

    op: Operation
    operands: tuple[SSAValue, ...]
    cost: float


@dataclass(frozen=True)
class ReadFinal:
    """Read the value from the final array (`operands[0]`) to which the forward sweep writes it, at these indices."""

    written: Subset
    operands: tuple[SSAValue, ...]
    cost: ClassVar[float] = 1.0


@dataclass(frozen=True)
class Reread:
    """Re-read the value from an array, once all later writes are undone.

    op: the op that reads or writes this part; None: the value is the whole array. operands: its indices.
    """

    version: SSAValue
    op: NdOp | None
    operands: tuple[SSAValue, ...]
    cost: float


@dataclass(frozen=True)
class FromLaterTrip:
    """The argument of `carry` in the next trip. The reverse sweep recovers it first and carries it to this trip."""

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
    """The backward walk of arrays through the reverse sweep, and the writes that it undoes.

    finals: where the walk starts: final arrays of loops and branches of the function's own block.
    threaded: for each loop or branch, the numbers of the results whose arrays the walk takes through it.
    exchanging: the loops that permute their carried arrays.
    restored: for each branch, the earlier arrays to which both of its sides lead back.
    undone: for each undone write, the value that it overwrote.
    at_head: for each block, the values that are re-read at its head, with the array at its end that still holds them.
    through: for each loop or branch, the values inside that are re-read from an array of the block around it.
    in_place: the values that are re-read where the walk reaches them.
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
    """plans: for each value that the reverse sweep needs and cannot see. tapes: in the order of their emission."""

    plans: Mapping[ForwardValue, Plan]
    tapes: tuple[TapePlan, ...]
    undoing: Undoing
