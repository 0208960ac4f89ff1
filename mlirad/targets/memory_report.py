"""The memory that a call of a compiled function will need: the result of `Lowered.memory()`.

Reads: nothing. Writes: nothing. Gives: `MemoryReport`, which a target extends by the regions of its memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from mlirad.location import SourceLocation
from mlirad.targets.byte_counts import ByteCount

_SHOWN = 12
"""How many buffers a printed report lists, largest first."""


@dataclass(frozen=True)
class BufferReport:
    """Memory for one purpose.

    kind: "tape" (values that a derivative stores for its reverse sweep, or the states of a checkpointed loop), "result"
    (an array of a size known only at run time), "frame" (the arrays of calls of a recursive function) or "array".
    region: the part of the call's memory that contains it, in the target's words. bytes_per_trip, trips: for a tape,
    the bytes that each trip of its loops stores, and the number of all trips. grows: extended during the run, its size
    at least doubling; `bytes` is then an upper bound.
    """

    kind: str
    bytes: ByteCount
    location: SourceLocation | None
    region: str
    bytes_per_trip: int | None = None
    trips: ByteCount | None = None
    grows: bool = False

    def __str__(self) -> str:
        size = f"{self.bytes} bytes"
        if self.bytes_per_trip is not None and self.trips is not None:
            size += f" ({self.bytes_per_trip:,} a trip, {self.trips} trips{', doubled as it grows' * self.grows})"
        where = "" if self.location is None else f", {self.location.filename}:{self.location.lineno}"
        return f"{self.kind} in {self.region}: {size}{where}"


@dataclass(frozen=True)
class MemoryReport(ABC):
    """The memory of one call, in bytes, without its arguments and the native stack.

    results: the size of the result arrays with static sizes; the call allocates them, and the code writes them in
    place. is_exact: whether `total` is exactly what a run needs, and not only an upper bound. A target adds the regions
    into which it divides the memory.
    """

    name: str
    results: int
    buffers: tuple[BufferReport, ...]
    is_exact: bool

    @property
    @abstractmethod
    def total(self) -> ByteCount:
        """The number that `last_memory()` reports after a call, or an upper bound of it."""

    @property
    @abstractmethod
    def regions(self) -> Mapping[str, str]:
        """The parts of that memory, each with its printed size."""

    @property
    def tapes(self) -> tuple[BufferReport, ...]:
        return tuple(each for each in self.buffers if each.kind == "tape")

    def __str__(self) -> str:
        lines = [f"memory of {self.name}: {'' if self.is_exact else 'at most '}{self.total} bytes"]
        lines += [f"  {region}: {size} bytes" for region, size in self.regions.items()]
        lines.append(f"  results: {self.results:,} bytes")
        order = sorted(self.buffers, key=lambda each: (each.kind != "tape", -each.bytes.at(1000)))
        lines += [f"    {each}" for each in order[:_SHOWN]]
        if len(order) > _SHOWN:
            lines.append(f"    and {len(order) - _SHOWN} more")
        return "\n".join(lines)

    __repr__ = __str__
