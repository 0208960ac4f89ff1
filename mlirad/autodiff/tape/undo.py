"""Takes writes back: threads arrays through the reverse sweep, beside their cotangents, from what they are in the end
to what they were at the beginning, and reads values again where they stand.

Reads: a decision. Writes: the reverse sweep of its histories. Leaves: the values looked at, each at its point.
Writes are taken back as early as they can be: at the head of a reverse block, but for those that come before a loop or
branch in which others are, or in which the array is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.autodiff.carries import Loop, RegionOp, add_results, add_yields, block_of, branches, yields
from mlirad.autodiff.tape.decide import Decide, Decision, reverse_of
from mlirad.autodiff.tape.history import History, Look
from mlirad.autodiff.tape.sweep import Point, Sweep
from mlirad.autodiff.updates import UpdateOp, places_of, read_again, taken_back
from mlirad.dialect.core.expr import building, located

Hand = dict[SSAValue, SSAValue]
"""Forward versions, and what stands for each in the reverse sweep."""


@dataclass
class Undo:
    """The walk over the reverse sweep of one function."""

    sweep: Sweep
    decide: Decide
    decision: Decision
    _used: dict[History, None] = field(default_factory=dict)
    _at_head: dict[Block, list[Look]] = field(default_factory=dict)
    _through: dict[Operation, list[Look]] = field(default_factory=dict)
    _in_place: dict[SSAValue, Look] = field(default_factory=dict)

    def __call__(self) -> None:
        for look in self.decision.looks.values():
            self._used[self.decide.histories.history(look)] = None
            if look.through is not None:
                self._through.setdefault(look.through, []).append(look)
            elif self.decide.is_at_head(look):
                self._at_head.setdefault(block_of(look.value), []).append(look)
            else:
                self._in_place[look.value] = look
        finals: dict[RegionOp, Hand] = {}
        for history in self._used:
            finals.setdefault(history.root, {}).update((final, final) for final in history.finals)
        for root, hand in finals.items():
            self._region(root, hand)

    def _region(self, op: RegionOp, hand: Hand) -> Operation | None:
        """Walk through a loop or branch; gives its reverse, if it has one."""
        slots = [k for k in self.decide.histories.walked.slots.get(op, ()) if op.results[k] in hand]
        given = {k: hand.pop(op.results[k]) for k in slots}
        for look in self._through.get(op, ()):
            self.sweep.heads[look.value] = hand[look.version]
        reverse = reverse_of(op, self.sweep.replays)
        if isinstance(op, scf.IfOp):
            self._branch(op, reverse, given, hand)
        else:
            self._loop(op, reverse, given, hand)
        return reverse

    def _is_changed(self, op: RegionOp) -> bool:
        """Whether the arrays after the op are others than those before it."""
        changes = op in self.decide.histories.walked.exchanging
        return changes or any(op.is_ancestor(write) for write in self.decision.undone)

    def _loop(
        self, op: scf.ForOp | scf.WhileOp, reverse: Operation | None, given: dict[int, SSAValue], hand: Hand
    ) -> None:
        loop, carries = Loop(op), Loop(op).carries
        threaded = [k for k in given if reverse is not None and self._is_changed(op)]
        inside, after = dict(given), dict(given)
        if threaded:
            assert isinstance(reverse, scf.ForOp)
            args, results = Loop(reverse).add([given[k] for k in threaded])
            inside.update(zip(threaded, args, strict=True))
            after.update(zip(threaded, results, strict=True))
            for k, arg, result in zip(threaded, args, results, strict=True):
                arg.name_hint = result.name_hint = carries[k].arg.name_hint
        if reverse is not None:
            ends = self._block(loop.body, {carries[k].yielded: inside[k] for k in given})
            if threaded:
                add_yields(Loop(reverse).body, [ends[carries[k].arg] for k in threaded])  # type: ignore[arg-type]
        hand.update((carries[k].init, after[k]) for k in given)

    def _branch(self, op: scf.IfOp, reverse: Operation | None, given: dict[int, SSAValue], hand: Hand) -> None:
        restored = self.decide.histories.walked.restored.get(op, ())
        ends = [self._block(block, {yields(block)[k]: x for k, x in given.items()}) for block in branches(op)]
        restored = [version for version in restored if all(version in end for end in ends)]
        changed = [version for version in restored if ends[0][version] is not ends[1][version]]
        if changed:
            assert reverse is not None
            for block, end in zip(branches(op), ends, strict=True):
                replay = self.sweep.replays[block]
                assert replay.parent is not None
                add_yields(replay.parent, [end[version] for version in changed])
            results = add_results(reverse, changed)
            for version, result in zip(changed, results, strict=True):
                result.name_hint = version.name_hint
            hand.update(zip(changed, results, strict=True))
        hand.update((version, ends[0][version]) for version in restored if version not in changed)

    def _block(self, block: Block, hand: Hand) -> Hand:
        """Walk through a block at whose end the versions in `hand` are at hand; gives those at its beginning."""
        replay = self.sweep.replays.get(block)
        for look in self._at_head.get(block, ()):
            assert look.token.head is not None
            self.sweep.heads[look.value] = hand[look.token.head]
        point = None if replay is None else Point(1, replay)
        self._note(hand, point)
        for op in reversed(list(block.ops)):
            if isinstance(op, RegionOp):
                if op in self._through or any(result in hand for result in op.results):
                    reverse = self._region(op, hand)
                    if reverse is not None:
                        assert point is not None and reverse.next_op is not None
                        point = Point(point.level + 1, reverse.next_op)
                    self._note(hand, point)
            elif isinstance(op, UpdateOp) and op.result in hand:
                self._take_back(op, hand, point)
            elif op.results and (look := self._in_place.get(op.results[0])) is not None:
                if look.read is op and look.access is not None:
                    self._read(look, hand[look.version], point)
        return hand

    def _note(self, hand: Hand, point: Point | None) -> None:
        """Whole arrays that are looked at."""
        for version, array in hand.items():
            if version in self._in_place and version not in self.sweep.made:
                assert point is not None
                self.sweep.put(version, array, point)

    def _take_back(self, write: UpdateOp, hand: Hand, point: Point | None) -> None:
        array = hand.pop(write.result)
        look = self._in_place.get(write.value)
        if look is not None and look.read is write:
            self._read(look, array, point)
        if write in self.decision.undone:
            old = self.sweep.value(self.decision.undone[write])
            self.sweep.count(block_of(write.result), "taken_back")
            array = self._emit(write, point, lambda indices: taken_back(write, old, array, indices))
        hand[write.t] = array
        self._note({write.t: array}, point)

    def _read(self, look: Look, array: SSAValue, point: Point | None) -> None:
        assert point is not None
        value = self._emit(look.read, point, lambda indices: read_again(look.read, array, indices))
        self.sweep.count(block_of(look.value), "read_again")
        self.sweep.put(look.value, value, point)

    def _emit(self, op: Operation, point: Point | None, build: Callable[[Sequence[SSAValue]], SSAValue]) -> SSAValue:
        indices = [self.sweep.value(index) for index in places_of(op)]
        assert point is not None
        with building(InsertPoint.before(point.before)), located(op.location):
            value = build(indices)
        if point.level == 1:
            self.sweep.begin(value)
        return value
