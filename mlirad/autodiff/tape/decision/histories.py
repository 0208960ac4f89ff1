"""The histories of a function: arrays that its loops and branches overwrite, grouped by the need to undo them together.

Reads: the forward sweep. Writes: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from mlirad.analysis.loops import Loop, StructuredOp, block_of, yields
from mlirad.autodiff.tape.decision.live_versions import Findings, Reading, Walk
from mlirad.autodiff.updates import equal_read, subset_of
from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp, written_subset

MANY_WRITES = 32
"""A history with more writes is ignored: comparing the writes with the reads costs more than it may save."""


@dataclass(eq=False)
class History:
    """Arrays of one outermost loop or branch `root` that are undone together, because it may exchange them."""

    root: StructuredOp
    finals: list[SSAValue] = field(default_factory=list)
    writes: list[NdOp] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)


@dataclass
class Histories:
    """All histories of one function.

    readings: the values that can be re-read. overwritten: for each write, a value that was read before it from the part
    that it overwrites. Such a value is stored, because undoing the write needs it.
    """

    entry: Block
    findings: Findings = field(default_factory=Findings)
    of: dict[SSAValue, History] = field(default_factory=dict)
    readings: dict[SSAValue, Reading] = field(default_factory=dict)
    overwritten: dict[NdOp, SSAValue] = field(default_factory=dict)
    _together: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        walk = Walk()
        for op in list(self.entry.ops):
            if isinstance(op, StructuredOp) and op.regions[0].blocks:
                threaded = tuple(k for k, result in enumerate(op.results) if types.is_tensor(result.type))
                if threaded and any(written_subset(inner) is not None for inner in op.walk()):
                    self._add(op, walk.region(op, threaded)[0])
        for history in dict.fromkeys(self.of.values()):
            if len(history.writes) <= MANY_WRITES:
                self.readings.update((reading.value, reading) for reading in history.readings)
                reads = {write: equal_read(write) for write in history.writes}
                self.overwritten.update((write, value) for write, value in reads.items() if value is not None)
        for value in self.overwritten.values():
            self.readings.pop(value, None)

    def history(self, reading: Reading) -> History:
        return self.of[self._class(reading.version)]

    def member(self, version: SSAValue) -> History | None:
        """The history that a version belongs to."""
        return self.of.get(self._class(version))

    def _add(self, root: StructuredOp, findings: Findings) -> None:
        self._join(findings)
        self.findings.add(findings)
        for k in findings.threaded.get(root, ()):
            history = self.of.setdefault(self._class(root.results[k]), History(root))
            history.finals.append(root.results[k])
        for write in findings.writes:
            self.of.setdefault(self._class(write.results[0]), History(root)).writes.append(write)
        for reading in findings.readings.values():
            if (history := self.member(reading.version)) is not None:
                history.readings.append(reading)

    def _join(self, findings: Findings) -> None:
        for write in findings.writes:
            self._join_inside(write.results[0], subset_of(write).array)
        for op, threaded in findings.threaded.items():
            for k in threaded:
                if isinstance(op, scf.IfOp):
                    same = [yields(region.block)[k] for region in op.regions]
                else:
                    assert isinstance(op, scf.ForOp | scf.WhileOp)
                    carry = Loop(op).carries[k]
                    same = [carry.yielded, carry.arg, carry.init]
                for version in same:
                    self._join_inside(op.results[k], version)

    def _join_inside(self, one: SSAValue, other: SSAValue) -> None:
        """Arrays from outside of the root are not joined: there this history begins, and another one may end."""
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
