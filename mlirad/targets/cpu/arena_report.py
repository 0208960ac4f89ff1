"""The memory of a call on the cpu: an arena, and segments for arrays that do not fit in it.

Reads: nothing. Writes: nothing. Leaves: `ArenaReport`, which `memory_needs.py` creates.
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

    arena: the bytes reserved for the call, exactly. segments: the most bytes requested in addition at one time,
    including results without a static size. `is_exact` is about the segments.
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
