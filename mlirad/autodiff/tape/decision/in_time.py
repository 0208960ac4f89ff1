"""Finds the values that the reverse sweep can re-read before it needs them.

Reads: the forward and the reverse sweep. Writes: nothing. Writes are undone as early as possible: at the head of the
reverse block. The exceptions are writes before a loop or branch through which the array is threaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import block_of
from mlirad.autodiff.final import FinalArrays, access
from mlirad.autodiff.tape.decision.histories import Histories, History
from mlirad.autodiff.tape.decision.live_versions import Reading
from mlirad.autodiff.tape.decision.reach import Reach, Reached
from mlirad.autodiff.tape.decision.recovery import Recovery
from mlirad.autodiff.updates import places_of, subset_of
from mlirad.dialect.ad.sweep_markers import ReplayOp, ResidualOp
from mlirad.dialect.core.op import NdOp


def reverse_of(op: Operation, replays: Mapping[Block, ReplayOp]) -> Operation | None:
    """The loop or branch of the reverse sweep that reverses a forward loop or branch."""
    for region in op.regions:
        for block in region.blocks:
            if block in replays:
                return replays[block].parent_op()
    return None


@dataclass
class Timing:
    """The order in which the reverse sweep undoes writes, re-reads values and needs them. replays: for reversed
    blocks."""

    histories: Histories
    final: FinalArrays
    replays: Mapping[Block, ReplayOp]
    needed: Mapping[ResidualOp, SSAValue]
    _residuals: dict[SSAValue, list[ResidualOp]] = field(default_factory=dict)
    _passages: set[Operation] = field(default_factory=set)
    _at_head: dict[SSAValue, bool] = field(default_factory=dict)
    _order: dict[Block, dict[Operation, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for residual, value in self.needed.items():
            self._residuals.setdefault(value, []).append(residual)
        findings = self.histories.findings
        through = (reading.through for reading in findings.readings.values())
        self._passages = {*findings.threaded, *(op for op in through if op is not None)}

    def is_at_head(self, reading: Reading) -> bool:
        """Whether the array at the end of the value's block still holds the value."""
        if reading.value not in self._at_head:
            self._at_head[reading.value] = (
                reading.origin.head is not None
                and reading.through is None
                and all(self._is_apart(write, reading) for write in reading.origin.undone)
            )
        return self._at_head[reading.value]

    def _is_apart(self, write: NdOp, reading: Reading) -> bool:
        written, read = (self.histories.member(version) for version in (write.results[0], reading.version))
        if written is not None and read is not None and written is not read:
            return True  # a loop in between may also write other arrays
        if reading.access is None:
            return False
        return self.final.is_apart(access(write, subset_of(write)), reading.access, reading.version)

    # --- the walk does not go there, or cannot yet ----------------------------------------------------------------

    def impossible(self, reach: Reach, reached: Reached) -> Iterator[SSAValue]:
        """Readings whose writes the reverse sweep does not reach, and readings that it needs too early: they decide at
        which index the walk writes or reads."""
        for value, reading in reached.readings.items():
            root = self.histories.history(reading).root
            exchanging = (op for op in self.histories.findings.exchanging if root.is_ancestor(op))
            writes_are = all(self._is_mirrored(write.parent, root) for write in reach.later_writes(reading))
            if not writes_are or not all(reverse_of(op, self.replays) is not None for op in exchanging):
                yield value
        yield from self._deciding(reach, reached)

    def _deciding(self, reach: Reach, reached: Reached) -> Iterator[SSAValue]:
        recovery = reach.recovery
        pending = [(index, history) for history, index in self._indices(recovery, reached)]
        seen: set[tuple[SSAValue, Operation]] = set()
        while pending:
            value, history = pending.pop()
            plan = None if recovery.is_visible(value) else recovery.plan(value)
            if plan is None or (value, history.root) in seen:
                continue
            seen.add((value, history.root))
            if (reading := reach.reading(value)) is not None:
                is_same = self.histories.history(reading).root is history.root
                if not is_same or not (self.is_at_head(reading) or reading.through is not None):
                    yield value
            pending += [(operand, history) for operand in plan.operands]

    def _indices(self, recovery: Recovery, reached: Reached) -> Iterator[tuple[History, SSAValue]]:
        """The indices at which the walk writes and reads, each with its history."""
        for write in reached.undone:
            history = self.histories.member(write.results[0])
            assert history is not None
            yield from ((history, index) for index in places_of(write))
        for value, reading in reached.readings.items():
            plan = recovery.plan(value)
            assert plan is not None
            yield from ((self.histories.history(reading), index) for index in plan.operands)

    def _is_mirrored(self, block: Block | None, root: Operation) -> bool:
        while block is not None and block is not root.parent:
            if block not in self.replays:
                return False
            block = block.parent_block()
        return True

    # --- the walk comes there too late --------------------------------------------------------------------------

    def too_late(self, reached: Reached) -> Iterator[SSAValue]:
        """Readings that the reverse sweep reaches only after it has needed the value."""
        for value, reading in reached.readings.items():
            is_early = self.is_at_head(reading) or reading.through is not None
            passage = None if is_early else self._next_passage(reading)
            if passage is not None and not self._is_in_time(value, passage, reached):
                yield value

    def _next_passage(self, reading: Reading) -> Operation | None:
        """The first loop or branch after the value that reads an array, or through which one is threaded."""
        op = reading.read if isinstance(reading.value.owner, Block) else reading.read.next_op
        while op is not None and not (op in self._passages and reverse_of(op, self.replays) is not None):
            op = op.next_op
        return op

    def _is_in_time(self, value: SSAValue, passage: Operation, reached: Reached) -> bool:
        """Whether all uses of the value, and of values recomputed from it, come after the reverse of `passage`."""
        block = block_of(value)
        reverse = reverse_of(passage, self.replays)
        assert reverse is not None and reverse.parent is not None
        order, forward = self._order_of(reverse.parent), self._order_of(block)
        pending, seen = [value], {value}
        while pending:
            each = pending.pop()
            for residual in self._residuals.get(each, ()):
                for use in residual.result.uses:
                    user = reverse.parent.find_ancestor_op_in_block(use.operation)
                    if user is None or order[user] <= order[reverse]:
                        return False
            for user in reached.users.get(each, ()):
                if block_of(user) is block:
                    if user not in seen:
                        seen.add(user)
                        pending.append(user)
                    continue
                place = block.find_ancestor_op_in_block(_op_of(user))
                if place is None or forward[place] >= forward[passage]:
                    return False
        return True

    def _order_of(self, block: Block) -> dict[Operation, int]:
        if block not in self._order:
            self._order[block] = {op: number for number, op in enumerate(block.ops)}
        return self._order[block]


def _op_of(value: SSAValue) -> Operation:
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    assert op is not None
    return op
