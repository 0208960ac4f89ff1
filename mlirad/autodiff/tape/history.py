"""The arrays that a nest of loops overwrites, and which of the values read of them may be read again while the reverse
sweep takes the writes back, one by one, from the nest's final arrays.

Reads: the forward sweep. Writes: nothing. Gives: histories, what each threads through which loop or branch, and looks.

A walk backwards over a block keeps the versions that are at hand. A write turns the version at hand into the one it
overwrote; a loop whose body gives back all that it was given turns its results into its initial values, swaps included.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.autodiff.carries import Loop, RegionOp, block_of, branches, yields
from mlirad.autodiff.final import Access, read_of, write_of
from mlirad.autodiff.updates import UpdateOp
from mlirad.dialect.core import types

Slots = tuple[int, ...]


@dataclass(frozen=True)
class Token:
    """How a version at hand came about in its block: from the version at the block's end, by taking writes back."""

    head: SSAValue | None
    passed: tuple[UpdateOp, ...] = ()

    def after(self, *writes: UpdateOp) -> Token:
        return replace(self, passed=(*self.passed, *writes))


@dataclass(frozen=True)
class Look:
    """A forward value that stands in `version`, which is at hand at the value's place in the walk.

    access: where it stands; None: it is the whole array. read: the op that reads or writes it there.
    token: of the version. through: the op of the version's block that the reader is inside of, if it is.
    """

    value: SSAValue
    version: SSAValue
    access: Access | None
    read: Operation
    token: Token
    through: Operation | None = None


@dataclass
class Walked:
    """What the walk over a region found: per loop or branch the results that it threads, the writes, the looks.

    restored: per branch, the versions from before it that both its sides give back. exchanging: loops that permute.
    """

    slots: dict[Operation, Slots] = field(default_factory=dict)
    exchanging: set[Operation] = field(default_factory=set)
    restored: dict[Operation, tuple[SSAValue, ...]] = field(default_factory=dict)
    writes: list[UpdateOp] = field(default_factory=list)
    looks: dict[SSAValue, Look] = field(default_factory=dict)

    def add(self, other: Walked) -> None:
        self.slots.update(other.slots)
        self.exchanging |= other.exchanging
        self.restored.update(other.restored)
        self.writes += other.writes
        self.looks.update(other.looks)


Hand = dict[SSAValue, Token]


@dataclass
class Walk:
    """The walk backwards. Loops and branches are walked once for each set of results that is asked of them."""

    _loops: dict[tuple[Operation, Slots], tuple[Walked, Hand]] = field(default_factory=dict)

    def region(self, op: RegionOp, slots: Slots) -> tuple[Walked, dict[SSAValue, int | None]]:
        """Walk through a loop or branch of which the results `slots` are at hand.

        Gives the versions from before it that are at hand then, and the result each came from; None: not known.
        """
        if isinstance(op, scf.IfOp):
            return self._branch(op, slots)
        return self._loop(op, slots)

    def _loop(self, op: scf.ForOp | scf.WhileOp, slots: Slots) -> tuple[Walked, dict[SSAValue, int | None]]:
        carries = Loop(op).carries
        while True:
            walked, hand = self._once(op, slots)
            good = tuple(k for k in slots if carries[k].arg in hand)
            if good == slots:
                break
            slots = good
        found = Walked({op: slots} if slots else {})
        found.add(walked)
        came: dict[SSAValue, int | None] = {}
        for k in slots:
            is_kept = hand[carries[k].arg].head is carries[k].yielded
            came[carries[k].init] = k if is_kept else None
            if not is_kept:
                found.exchanging.add(op)
        return found, came

    def _once(self, op: scf.ForOp | scf.WhileOp, slots: Slots) -> tuple[Walked, Hand]:
        if (op, slots) not in self._loops:
            carries = Loop(op).carries
            hand = {carries[k].yielded: Token(carries[k].yielded) for k in slots}
            self._loops[op, slots] = self.block(Loop(op).body, hand)
        return self._loops[op, slots]

    def _branch(self, op: scf.IfOp, slots: Slots) -> tuple[Walked, dict[SSAValue, int | None]]:
        found = Walked({op: slots})
        ends: list[tuple[Hand, dict[SSAValue, int]]] = []
        for block in branches(op):
            heads = {yields(block)[k]: k for k in slots}
            walked, hand = self.block(block, {head: Token(head) for head in heads})
            found.add(walked)
            ends.append((hand, heads))
        came: dict[SSAValue, int | None] = {}
        for version in ends[0][0]:
            if version in ends[1][0] and not op.is_ancestor(block_of(version)):
                origins = {heads.get(hand[version].head) for hand, heads in ends}  # type: ignore[arg-type]
                came[version] = origins.pop() if len(origins) == 1 else None
        found.restored[op] = tuple(came)
        return found, came

    def block(self, block: Block, hand: Hand) -> tuple[Walked, Hand]:
        """Walk through a block at whose end the versions in `hand` are at hand."""
        walked, hand = Walked(), dict(hand)
        for version, token in hand.items():
            _look_at(walked, version, token, block)
        for op in reversed(list(block.ops)):
            if isinstance(op, RegionOp):
                self._pass(op, hand, walked)
            elif isinstance(op, UpdateOp) and op.result in hand:
                token = hand.pop(op.result)
                access = write_of(op)
                if block_of(op.value) is block and access is not None and types.is_static(op.value.type):
                    walked.looks.setdefault(op.value, Look(op.value, op.result, access, op, token))
                walked.writes.append(op)
                hand[op.t] = token.after(op)
                _look_at(walked, op.t, hand[op.t], block)
            else:
                _read(walked, op, hand, None)
        return walked, hand

    def _pass(self, op: RegionOp, hand: Hand, walked: Walked) -> None:
        slots = tuple(k for k, result in enumerate(op.results) if result in hand)
        tokens = {k: hand.pop(op.results[k]) for k in slots}
        for inner in op.walk():
            if inner is not op:
                _read(walked, inner, hand, op)
        if not slots:
            return
        inside, came = self.region(op, slots)
        walked.add(inside)
        for version, k in came.items():
            hand[version] = Token(None) if k is None else tokens[k].after(*inside.writes)
            if op.parent is not None:
                _look_at(walked, version, hand[version], op.parent)


def _look_at(walked: Walked, version: SSAValue, token: Token, block: Block) -> None:
    """The whole array, where its version belongs to the block walked."""
    if block_of(version) is block:
        owner = version.owner
        read = owner if isinstance(owner, Operation) else block.first_op
        assert read is not None
        walked.looks.setdefault(version, Look(version, version, None, read, token))


def _read(walked: Walked, op: Operation, hand: Hand, through: Operation | None) -> None:
    access = read_of(op)
    if access is not None and (token := hand.get(op.operands[0])) is not None:
        walked.looks[op.results[0]] = Look(op.results[0], op.operands[0], access, op, token, through)


# --- histories --------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class History:
    """Arrays of one outermost loop or branch `root` that are taken back together, because it may exchange them."""

    root: RegionOp
    finals: list[SSAValue] = field(default_factory=list)
    writes: list[UpdateOp] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)


@dataclass
class Histories:
    """All histories of one function."""

    entry: Block
    walked: Walked = field(default_factory=Walked)
    of: dict[SSAValue, History] = field(default_factory=dict)
    _together: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        walk = Walk()
        for op in list(self.entry.ops):
            if isinstance(op, RegionOp) and op.regions[0].blocks:
                slots = tuple(k for k, result in enumerate(op.results) if types.is_tensor(result.type))
                if slots and any(isinstance(inner, UpdateOp) for inner in op.walk()):
                    self._add(op, walk.region(op, slots)[0])

    def history(self, look: Look) -> History:
        return self.of[self._class(look.version)]

    def member(self, version: SSAValue) -> History | None:
        """The history that a version belongs to."""
        return self.of.get(self._class(version))

    def _add(self, root: RegionOp, walked: Walked) -> None:
        self._join(walked)
        self.walked.add(walked)
        for k in walked.slots.get(root, ()):
            found = self.of.setdefault(self._class(root.results[k]), History(root))
            found.finals.append(root.results[k])
        for write in walked.writes:
            self.of.setdefault(self._class(write.result), History(root)).writes.append(write)
        for look in walked.looks.values():
            if (history := self.member(look.version)) is not None:
                history.looks.append(look)

    def _join(self, walked: Walked) -> None:
        for write in walked.writes:
            self._join_inside(write.result, write.t)
        for op, slots in walked.slots.items():
            for k in slots:
                if isinstance(op, scf.IfOp):
                    same = [yields(block)[k] for block in branches(op)]
                else:
                    assert isinstance(op, scf.ForOp | scf.WhileOp)
                    carry = Loop(op).carries[k]
                    same = [carry.yielded, carry.arg, carry.init]
                for version in same:
                    self._join_inside(op.results[k], version)

    def _join_inside(self, one: SSAValue, other: SSAValue) -> None:
        """An array from outside of the root is visible: it is where a history begins, and where another one may end."""
        if block_of(other) is not self.entry:
            self._unite(one, other)

    def _class(self, version: SSAValue) -> SSAValue:
        while (other := self._together.get(version, version)) is not version:
            version = other
        return version

    def _unite(self, one: SSAValue, other: SSAValue) -> None:
        one, other = self._class(one), self._class(other)
        if one is not other:
            self._together[one] = other
