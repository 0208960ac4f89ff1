"""Finds the forward values that the reverse sweep may need, directly or to recover others, given the stored ones.

Reads: the forward sweep. Writes: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from mlirad.autodiff.final import access
from mlirad.autodiff.tape.decision.forward_values import ForwardValue, Overwritten
from mlirad.autodiff.tape.decision.histories import Histories
from mlirad.autodiff.tape.decision.live_versions import Reading
from mlirad.autodiff.tape.decision.plans import Reread
from mlirad.autodiff.tape.decision.recovery import Recovery
from mlirad.autodiff.updates import places_of, subset_of
from mlirad.dialect.core.op import NdOp


@dataclass
class Reached:
    """The values that may be needed. users: for each value, the values recovered from it. readings: the re-read values.

    undone: the writes to undo for these readings, each with the value that it overwrote.
    """

    users: dict[ForwardValue, list[SSAValue]] = field(default_factory=dict)
    readings: dict[SSAValue, Reading] = field(default_factory=dict)
    undone: dict[NdOp, ForwardValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Reach:
    """Goes from the values that the reverse sweep names (`needed`) to the values that they are recovered from."""

    recovery: Recovery
    histories: Histories
    needed: Sequence[SSAValue]
    _later_writes: dict[SSAValue, list[NdOp]] = field(default_factory=dict)

    def reach(self, stored: Iterable[ForwardValue]) -> Reached:
        """All values that may be needed if `stored` are stored."""
        reached, is_stored = Reached(), set(stored)
        pending: list[ForwardValue] = list(self.needed)
        seen = set(pending)
        reached.users.update((value, []) for value in pending)
        while pending:
            value = pending.pop()
            if not isinstance(value, SSAValue) or self.recovery.is_visible(value) or value in is_stored:
                continue
            if self.recovery.plan(value) is None:
                continue
            if (reading := self.reading(value)) is not None:
                reached.readings[value] = reading
                reached.undone.update((write, self._what_is_overwritten(write)) for write in self.later_writes(reading))
            for operand in self.operands(value):
                reached.users.setdefault(operand, []).append(value)
                if operand not in seen:
                    seen.add(operand)
                    pending.append(operand)
        return reached

    def reading(self, value: SSAValue) -> Reading | None:
        """The reading in a value's plan; None for any other plan."""
        return self.recovery.readings[value] if isinstance(self.recovery.plan(value), Reread) else None

    def operands(self, value: SSAValue) -> Sequence[ForwardValue]:
        """The values that a value is recovered from."""
        plan = self.recovery.plan(value)
        assert plan is not None
        if (reading := self.reading(value)) is None:
            return plan.operands
        undone = [
            each
            for write in self.later_writes(reading)
            for each in (self._what_is_overwritten(write), *places_of(write))
        ]
        return (*plan.operands, *self.histories.history(reading).finals, *undone)

    def later_writes(self, reading: Reading) -> list[NdOp]:
        """The writes that may come after the version that is read, and touch the elements that are read."""
        if reading.value not in self._later_writes:
            writes = self.histories.history(reading).writes
            self._later_writes[reading.value] = [write for write in writes if not self._keeps(write, reading)]
        return self._later_writes[reading.value]

    def _keeps(self, write: NdOp, reading: Reading) -> bool:
        if reading.access is None:
            return False
        return self.recovery.final.keeps(access(write, subset_of(write)), reading.access, reading.version)

    def _what_is_overwritten(self, write: NdOp) -> ForwardValue:
        return self.histories.overwritten.get(write) or Overwritten(write)
