"""Finds where each version of an array is live, while the reverse sweep undoes the writes of a loop nest one by one.

Reads: the forward sweep. Writes: nothing. Gives: the values that can be re-read from live versions, and the arrays that
the reverse sweep threads through each loop and branch.

The walk goes backwards over a block, starting from the versions that are live at its end. Undoing a write makes the
overwritten version live:

    %b = nd.insert %v, %a[%i]      // %b is live after it, %a before it

If a loop's body leads from its yielded arrays back to its arguments, the loop turns its results into its initial
values. It may exchange the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import Loop, StructuredOp, block_of, yields
from mlirad.autodiff.final import Access, access
from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp, read_subset, written_subset

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Origin:
    """How a version became live in its block: by undoing writes, starting from the version `head` at the block's end.

    head: None if that version is not known.
    """

    head: SSAValue | None
    undone: tuple[NdOp, ...] = ()

    def after(self, *writes: NdOp) -> Origin:
        return replace(self, undone=(*self.undone, *writes))


@dataclass(frozen=True)
class Reading:
    """A forward value that can be re-read from `version`, which is live when the walk reaches the value.

    access: the elements of the value; None: the whole array. read: the op that reads or writes them. origin: of the
    version. through: the op of the version's block that contains the reader, if the reader is in an inner block.
    """

    value: SSAValue
    version: SSAValue
    access: Access | None
    read: Operation
    origin: Origin
    through: Operation | None = None


@dataclass
class Findings:
    """The results of the walk over a region. threaded: for each loop or branch, the results that the walk goes through.

    restored: for each branch, the earlier versions to which both sides lead back. exchanging: the loops that permute
    their arrays.
    """

    threaded: dict[Operation, Numbers] = field(default_factory=dict)
    exchanging: set[Operation] = field(default_factory=set)
    restored: dict[Operation, tuple[SSAValue, ...]] = field(default_factory=dict)
    writes: list[NdOp] = field(default_factory=list)
    readings: dict[SSAValue, Reading] = field(default_factory=dict)

    def add(self, other: Findings) -> None:
        self.threaded.update(other.threaded)
        self.exchanging |= other.exchanging
        self.restored.update(other.restored)
        self.writes += other.writes
        self.readings.update(other.readings)


LiveVersions = dict[SSAValue, Origin]


@dataclass
class Walk:
    """The walk backwards. A loop is walked once for each set of live results."""

    _loops: dict[tuple[Operation, Numbers], tuple[Findings, LiveVersions]] = field(default_factory=dict)

    def region(self, op: StructuredOp, threaded: Numbers) -> tuple[Findings, dict[SSAValue, int | None]]:
        """Walk through a loop or branch with the live results `threaded`.

        Returns the versions that are live before it, each with the result that it comes from; None: unknown.
        """
        if isinstance(op, scf.IfOp):
            return self._branch(op, threaded)
        return self._loop(op, threaded)

    def _loop(self, op: scf.ForOp | scf.WhileOp, threaded: Numbers) -> tuple[Findings, dict[SSAValue, int | None]]:
        carries = Loop(op).carries
        while True:
            findings, live = self._once(op, threaded)
            good = tuple(k for k in threaded if carries[k].arg in live)
            if good == threaded:
                break
            threaded = good
        here = Findings({op: threaded} if threaded else {})
        here.add(findings)
        came: dict[SSAValue, int | None] = {}
        for k in threaded:
            is_kept = live[carries[k].arg].head is carries[k].yielded
            came[carries[k].init] = k if is_kept else None
            if not is_kept:
                here.exchanging.add(op)
        return here, came

    def _once(self, op: scf.ForOp | scf.WhileOp, threaded: Numbers) -> tuple[Findings, LiveVersions]:
        if (op, threaded) not in self._loops:
            carries = Loop(op).carries
            live = {carries[k].yielded: Origin(carries[k].yielded) for k in threaded}
            self._loops[op, threaded] = self.block(Loop(op).body, live)
        return self._loops[op, threaded]

    def _branch(self, op: scf.IfOp, threaded: Numbers) -> tuple[Findings, dict[SSAValue, int | None]]:
        here = Findings({op: threaded})
        ends: list[tuple[LiveVersions, dict[SSAValue, int]]] = []
        for region in op.regions:
            block = region.block
            heads = {yields(block)[k]: k for k in threaded}
            findings, live = self.block(block, {head: Origin(head) for head in heads})
            here.add(findings)
            ends.append((live, heads))
        came: dict[SSAValue, int | None] = {}
        for version in ends[0][0]:
            if version in ends[1][0] and not op.is_ancestor(block_of(version)):
                origins = {None if (head := live[version].head) is None else heads.get(head) for live, heads in ends}
                came[version] = origins.pop() if len(origins) == 1 else None
        here.restored[op] = tuple(came)
        return here, came

    def block(self, block: Block, live: LiveVersions) -> tuple[Findings, LiveVersions]:
        """Walk backwards through a block. `live`: the versions that are live at its end."""
        findings, live = Findings(), dict(live)
        for version, origin in live.items():
            _add_whole(findings, version, origin, block)
        for op in reversed(list(block.ops)):
            if isinstance(op, StructuredOp):
                self._pass(op, live, findings)
            elif isinstance(op, NdOp) and (write := written_subset(op)) is not None and op.results[0] in live:
                origin, part = live.pop(op.results[0]), write.part
                if block_of(part) is block and write.holds_part and types.is_static(part.type):
                    reading = Reading(part, op.results[0], access(op, write), op, origin)
                    findings.readings.setdefault(part, reading)
                findings.writes.append(op)
                live[write.array] = origin.after(op)
                _add_whole(findings, write.array, live[write.array], block)
            else:
                _read(findings, op, live, None)
        return findings, live

    def _pass(self, op: StructuredOp, live: LiveVersions, findings: Findings) -> None:
        threaded = tuple(k for k, result in enumerate(op.results) if result in live)
        origins_of = {k: live.pop(op.results[k]) for k in threaded}
        for inner in op.walk():
            if inner is not op:
                _read(findings, inner, live, op)
        if not threaded:
            return
        inside, came = self.region(op, threaded)
        findings.add(inside)
        for version, k in came.items():
            live[version] = Origin(None) if k is None else origins_of[k].after(*inside.writes)
            if op.parent is not None:
                _add_whole(findings, version, live[version], op.parent)


def _add_whole(findings: Findings, version: SSAValue, origin: Origin, block: Block) -> None:
    """Add the whole array, if its version belongs to the block."""
    if block_of(version) is block:
        owner = version.owner
        read = owner if isinstance(owner, Operation) else block.first_op
        assert read is not None
        findings.readings.setdefault(version, Reading(version, version, None, read, origin))


def _read(findings: Findings, op: Operation, live: LiveVersions, through: Operation | None) -> None:
    read = read_subset(op)
    if read is not None and (origin := live.get(read.array)) is not None:
        findings.readings[read.part] = Reading(read.part, read.array, access(op, read), op, origin, through)
