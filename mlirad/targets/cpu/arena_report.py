"""The memory of a call on the cpu: an arena, and segments for what does not fit in it.

Reads: nothing. Writes: nothing. Leaves: `ArenaReport`, which `memory_needs.py` makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlirad.targets.byte_counts import ByteCount
from mlirad.targets.memory_report import MemoryReport

ARENA, SEGMENTS = "the arena", "the segments"


@dataclass(frozen=True, repr=False)
class ArenaReport(MemoryReport):
    """A `MemoryReport` of two regions.

    arena: what is reserved for the call, exactly. segments: the most that is requested besides at one time, with the
    results of sizes that are not static. `is_exact` is about the segments.
    """

    arena: int
    segments: ByteCount

    @property
    def total(self) -> ByteCount:
        return self.segments + self.arena

    @property
    def regions(self) -> Mapping[str, str]:
        most = "" if self.is_exact else "at most "
        return {"arena": f"{self.arena:,}", "segments": f"{most}{self.segments}"}
