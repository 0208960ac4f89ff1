"""What a compiled function will need of memory, told before it is called: the answer of `Lowered.memory()`.

Reads: nothing. Writes: nothing. Leaves: `MemoryReport`, which a target makes.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.location import SourceLocation
from mlirad.targets.byte_counts import ByteCount

_SHOWN = 12
"""So many buffers are listed where a report is printed, the largest ones."""


@dataclass(frozen=True)
class Buffer:
    """Memory for one purpose.

    kind: "tape" (what a derivative keeps for its reverse sweep, or the states of a checkpointed loop), "result" (an
    array of a size that only the run tells), "frame" (the arrays of calls of a function that calls itself) or "array".
    in_arena: it has its place in the arena, where others may stand before and after it. bytes_per_trip, trips: of a
    tape, what each trip of its loops keeps, and how many trips there are in all. grows: made longer during the run, and
    then its size at least doubles: `bytes` is what it can be at most.
    """

    kind: str
    bytes: ByteCount
    location: SourceLocation | None
    in_arena: bool
    bytes_per_trip: int | None = None
    trips: ByteCount | None = None
    grows: bool = False

    def __str__(self) -> str:
        size = f"{self.bytes} bytes"
        if self.bytes_per_trip is not None and self.trips is not None:
            size += f" ({self.bytes_per_trip:,} a trip, {self.trips} trips{', doubled as it grows' * self.grows})"
        place = "the arena" if self.in_arena else "the segments"
        where = "" if self.location is None else f", {self.location.filename}:{self.location.lineno}"
        return f"{self.kind} in {place}: {size}{where}"


@dataclass(frozen=True)
class MemoryReport:
    """The memory of one call, in bytes, besides its arguments and the native stack.

    arena: what is set aside for the call, exactly. segments: the most that is asked for at one time besides. results:
    that of result arrays whose size is static; the call makes them, and code writes them in place. Results of other
    sizes stand in the segments. is_exact: whether `segments` is what a run will ask for, and not only a bound of it.
    """

    name: str
    arena: int
    segments: ByteCount
    results: int
    buffers: tuple[Buffer, ...]
    is_exact: bool

    @property
    def total(self) -> ByteCount:
        """What `last_memory()` tells after a call, or a bound of it: the arena and the segments."""
        return self.segments + self.arena

    @property
    def tapes(self) -> tuple[Buffer, ...]:
        return tuple(each for each in self.buffers if each.kind == "tape")

    def __str__(self) -> str:
        most = "" if self.is_exact else "at most "
        lines = [
            f"memory of {self.name}: {most}{self.total} bytes",
            f"  arena: {self.arena:,} bytes",
            f"  segments: {most}{self.segments} bytes",
            f"  results: {self.results:,} bytes",
        ]
        order = sorted(self.buffers, key=lambda each: (each.kind != "tape", each.in_arena, -each.bytes.at(1000)))
        lines += [f"    {each}" for each in order[:_SHOWN]]
        if len(order) > _SHOWN:
            lines.append(f"    and {len(order) - _SHOWN} more")
        return "\n".join(lines)

    __repr__ = __str__
