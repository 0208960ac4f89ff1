"""What the tape stores, what it recomputes, and which writes it takes back: the cheapest of all choices together.

Reads: the forward sweep, and what the reverse sweep names of it. Writes: reads of what a write is about to overwrite.
Gives: the decision. One minimum cut: to take a history back costs what its writes overwrite, bytes times trips.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.autodiff.carries import Carry, Loop, LoopOp, block_of
from mlirad.autodiff.final import write_of
from mlirad.autodiff.tape.cut import Network
from mlirad.autodiff.tape.history import Histories, History, Look
from mlirad.autodiff.tape.recover import Recovery
from mlirad.autodiff.updates import UpdateOp, equal_read, indices_of, overwritten
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import building, located
from mlirad.dialect.ops.request import ReplayOp, ResidualOp
from mlirad.errors import DifferentiationError

MANY_WRITES = 32
"""A history with more writes than this is not looked at: comparing them with the reads costs more than it may save."""


@dataclass
class Decision:
    """stored: the values to store, in an order that repeats from run to run. carried: what a loop yields for a carry
    whose argument is stored: the reverse loop has it from the trip before. looks: what is read again of histories.
    undone: the writes that are taken back for that, each with the value it overwrote."""

    stored: dict[SSAValue, None]
    carried: dict[SSAValue, Carry]
    looks: dict[SSAValue, Look]
    undone: dict[UpdateOp, SSAValue]


@dataclass
class _Reached:
    """What may be needed: who needs a value, what is read again, and what is taken back."""

    users: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)
    looks: dict[SSAValue, Look] = field(default_factory=dict)
    undone: dict[UpdateOp, SSAValue] = field(default_factory=dict)


@dataclass
class Decide:
    """The decision for one function. replays: of the blocks that have a reverse. needed: what each residual means."""

    recovery: Recovery
    histories: Histories
    replays: Mapping[Block, ReplayOp]
    needed: Mapping[ResidualOp, SSAValue]
    _olds: dict[UpdateOp, SSAValue] = field(default_factory=dict)
    _made: list[SSAValue] = field(default_factory=list)
    _hits: dict[SSAValue, list[UpdateOp]] = field(default_factory=dict)
    _at_head: dict[SSAValue, bool] = field(default_factory=dict)
    _order: dict[Block, dict[Operation, int]] = field(default_factory=dict)
    _residuals: dict[SSAValue, list[ResidualOp]] = field(default_factory=dict)
    _passages: set[Operation] = field(default_factory=set)

    def __post_init__(self) -> None:
        for residual, value in self.needed.items():
            self._residuals.setdefault(value, []).append(residual)
        walked = self.histories.walked
        self._passages = {*walked.slots, *(look.through for look in walked.looks.values() if look.through is not None)}
        for history in dict.fromkeys(self.histories.of.values()):
            if len(history.writes) <= MANY_WRITES:
                self.recovery.looks.update((look.value, look) for look in history.looks)
                self._olds.update((write, old) for write in history.writes if (old := equal_read(write)) is not None)
        for old in self._olds.values():
            self.recovery.looks.pop(old, None)  # it is stored: taking its write back needs it

    def __call__(self) -> Decision:
        reached = self._reach(())
        while bad := {*self._impossible(reached), *self._too_late(reached)}:
            self.recovery.forbid(bad)
            reached = self._reach(())
        stored = self._cut(reached)
        if carried := self._carried(reached, stored):
            self.recovery.carry(carried)
            stored = self._cut(self._reach(()))
        final = self._reach(stored)
        carried = {value: carried[value] for value in final.users if value in carried and value not in stored}
        stored = dict.fromkeys(value for value in final.users if value in stored)
        decision = Decision(stored, carried, final.looks, final.undone)
        for old in self._made:
            if old not in decision.stored:
                assert isinstance(old.owner, Operation)
                old.owner.detach()
                old.owner.erase()
        return decision

    # --- what is reached ----------------------------------------------------------------------------------------

    def _reach(self, stored: Iterable[SSAValue]) -> _Reached:
        """All that may be needed, if `stored` is."""
        reached, is_stored = _Reached(), set(stored)
        pending = list(dict.fromkeys(self.needed.values()))
        seen = set(pending)
        reached.users.update((value, []) for value in pending)
        while pending:
            value = pending.pop()
            if self.recovery.is_free(value) or value in is_stored:
                continue
            way = None if self.recovery.is_visible(value) else self.recovery.way(value)
            if way is None:
                continue
            if way.look is not None:
                reached.looks[value] = way.look
                reached.undone.update((write, self._old(write)) for write in self._hit(way.look))
            for operand in self._operands(value):
                reached.users.setdefault(operand, []).append(value)
                if operand not in seen:
                    seen.add(operand)
                    pending.append(operand)
        return reached

    def _operands(self, value: SSAValue) -> Sequence[SSAValue]:
        """What is needed to have a value again the way it is had."""
        way = self.recovery.way(value)
        assert way is not None
        if way.look is None:
            return way.operands
        taken_back = [each for write in self._hit(way.look) for each in (self._old(write), *indices_of(write))]
        return (*way.operands, *self.histories.history(way.look).finals, *taken_back)

    def _hit(self, look: Look) -> list[UpdateOp]:
        """The writes that may come after the version that is looked at, and touch what is read of it."""
        if look.value not in self._hits:
            self._hits[look.value] = [
                write for write in self.histories.history(look).writes if not self._keeps(write, look)
            ]
        return self._hits[look.value]

    def _keeps(self, write: UpdateOp, look: Look) -> bool:
        access = write_of(write)
        if access is None or look.access is None:
            return False
        return self.recovery.final.keeps(access, look.access, look.version)

    def _old(self, write: UpdateOp) -> SSAValue:
        """What a write overwrites, as a forward value."""
        if write not in self._olds:
            with building(InsertPoint.before(write)), located(write.location):
                self._olds[write] = overwritten(write, write.t, indices_of(write))
            self._made.append(self._olds[write])
        return self._olds[write]

    # --- what can be --------------------------------------------------------------------------------------------

    def _impossible(self, reached: _Reached) -> Iterator[SSAValue]:
        """Looks whose writes stand where the reverse sweep does not go, and looks that would have to be had before the
        walk comes to them, since places of writes and reads hang on them."""
        for value, look in reached.looks.items():
            root = self.histories.history(look).root
            exchanging = (op for op in self.histories.walked.exchanging if root.is_ancestor(op))
            writes_are = all(self._is_mirrored(write.parent, root) for write in self._hit(look))
            if not writes_are or not all(self._is_reversed(op) for op in exchanging):
                yield value
        deciding = [(index, history) for history, index in self._places(reached)]
        seen: set[tuple[SSAValue, Operation]] = set()
        while deciding:
            value, history = deciding.pop()
            way = None if self.recovery.is_free(value) or self.recovery.is_visible(value) else self.recovery.way(value)
            if way is None or (value, history.root) in seen:
                continue
            seen.add((value, history.root))
            if way.look is not None:
                is_same = self.histories.history(way.look).root is history.root
                if not is_same or not (self.is_at_head(way.look) or way.look.through is not None):
                    yield value
            deciding += [(operand, history) for operand in way.operands]

    def _places(self, reached: _Reached) -> Iterator[tuple[History, SSAValue]]:
        for write in reached.undone:
            history = self.histories.member(write.result)
            assert history is not None
            yield from ((history, index) for index in indices_of(write))
        for value, look in reached.looks.items():
            way = self.recovery.way(value)
            assert way is not None
            yield from ((self.histories.history(look), index) for index in way.operands)

    def _is_mirrored(self, block: Block | None, root: Operation) -> bool:
        while block is not None and block is not root.parent:
            if block not in self.replays:
                return False
            block = block.parent_block()
        return True

    def _is_reversed(self, op: Operation) -> bool:
        return reverse_of(op, self.replays) is not None

    def is_at_head(self, look: Look) -> bool:
        """Whether the array as it is at the end of the value's block still holds what is read."""
        if look.value not in self._at_head:
            self._at_head[look.value] = (
                look.token.head is not None
                and look.through is None
                and all(self._is_apart(write, look) for write in look.token.passed)
            )
        return self._at_head[look.value]

    def _is_apart(self, write: UpdateOp, look: Look) -> bool:
        written, read = (self.histories.member(version) for version in (write.result, look.version))
        if written is not None and read is not None and written is not read:
            return True  # a loop that is passed may write other arrays as well
        access = write_of(write)
        if access is None or look.access is None:
            return False
        return self.recovery.final.is_apart(access, look.access, look.version)

    def _too_late(self, reached: _Reached) -> Iterator[SSAValue]:
        """Looks that the reverse sweep comes to only after it has needed the value."""
        for value, look in reached.looks.items():
            passage = None if self.is_at_head(look) or look.through is not None else self._next_passage(look)
            if passage is not None and not self._is_in_time(value, passage, reached):
                yield value

    def _next_passage(self, look: Look) -> Operation | None:
        """The first loop or branch after the value's place that an array is threaded through, or read in."""
        op = look.read if isinstance(look.value.owner, Block) else look.read.next_op
        while op is not None and not (op in self._passages and self._is_reversed(op)):
            op = op.next_op
        return op

    def _is_in_time(self, value: SSAValue, passage: Operation, reached: _Reached) -> bool:
        """Whether all that needs the value, or something recomputed from it, comes after the reverse of `passage`."""
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
        if block not in self._order or len(self._order[block]) != len(block.ops):
            self._order[block] = {op: number for number, op in enumerate(block.ops)}
        return self._order[block]

    def _carried(self, reached: _Reached, stored: set[SSAValue]) -> dict[SSAValue, Carry]:
        """Numbers that a loop yields for a carry whose argument is stored: that of the next trip is the number.

        After the last trip it is the loop's result, which is at hand if the loop is in no other.
        """
        found: dict[SSAValue, Carry] = {}
        for op in self.recovery.entry.ops:
            if not isinstance(op, LoopOp) or not self._is_reversed(op):
                continue
            for carry in Loop(op).carries:
                value = carry.yielded
                is_wanted = value in reached.users and block_of(value) is Loop(op).body
                if is_wanted and carry.arg in stored and value not in found and not types.is_tensor(value.type):
                    if self.recovery.way(carry.arg) is None and not _comes_back(carry.arg, value, found):
                        found[value] = carry
        return found

    # --- the cut ------------------------------------------------------------------------------------------------

    def _cut(self, reached: _Reached) -> set[SSAValue]:
        """Which values to store so that all others that are needed can be had, at the least cost."""
        recovery, network = self.recovery, Network("source", "sink")
        olds = set(reached.undone.values())
        for value in dict.fromkeys(self.needed.values()):
            if not recovery.is_free(value):
                network.edge((value, "out"), "sink", inf)
        values = [value for value in reached.users if not recovery.is_free(value)]
        for value in values:
            way = None if recovery.is_visible(value) else recovery.way(value)
            network.edge((value, "in"), (value, "out"), recovery.price(value))
            if way is None or value in olds:
                network.edge("source", (value, "in"), inf)
                continue
            network.edge("source", (value, "in"), way.cost * recovery.trips(block_of(value)))
            for operand in self._operands(value):
                if not recovery.is_free(operand):
                    network.edge((operand, "out"), (value, "in"), inf)
        side = network.cut()
        if side is None:
            raise _not_recoverable(values)
        return {value for value in values if (value, "in") in side and (value, "out") not in side}


def reverse_of(op: Operation, replays: Mapping[Block, ReplayOp]) -> Operation | None:
    """The loop or branch of the reverse sweep that undoes a forward one."""
    for region in op.regions:
        for block in region.blocks:
            if block in replays:
                return replays[block].parent_op()
    return None


def _comes_back(arg: SSAValue, value: SSAValue, carried: Mapping[SSAValue, Carry]) -> bool:
    """Whether an argument is had, from trip to trip, from `value` itself, as where two carries are exchanged."""
    while arg is not value and arg in carried:
        arg = carried[arg].arg
    return arg is value


def _op_of(value: SSAValue) -> Operation:
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    assert op is not None
    return op


def _not_recoverable(values: Iterable[SSAValue]) -> DifferentiationError:
    owners = [value.owner for value in values if not types.is_static(value.type)]
    ops = [owner for owner in owners if isinstance(owner, Operation)]
    place = types.from_location(ops[0].location) if ops else None
    return DifferentiationError(
        "the derivative needs this array again in every trip, and its size has no bound that is known before the call",
        place,
        "take a slice of an array whose shape is known",
    )
