"""The memory that a call of a compiled function will need: the answer of `Lowered.memory()`.

Reads: nothing. Writes: nothing. Gives: `MemoryReport`, which a target extends by the regions of its memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from mlirad.location import SourceLocation
from mlirad.targets.byte_counts import ByteCount

_SHOWN = 12
"""How many buffers a printed report lists, the largest ones."""


@dataclass(frozen=True)
class BufferReport:
    """Memory for one purpose.

    kind: "tape" (what a derivative keeps for its reverse sweep, or the states of a checkpointed loop), "result" (an
    array of a size known only at run time), "frame" (the arrays of calls of a function that calls itself) or "array".
    region: which part of the call's memory it is in, in the target's words. bytes_per_trip, trips: of a tape, what each
    trip of its loops keeps, and how many trips there are in all. grows: made longer during the run, its size at least
    doubling; `bytes` is then the most it can be.
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
    """The memory of one call, in bytes, besides its arguments and the native stack.

    results: of the result arrays whose size is static; the call makes them, and code writes them in place. is_exact:
    whether `total` is what a run will need, and not only a bound of it. A target adds the regions that it divides the
    memory into.
    """

    name: str
    results: int
    buffers: tuple[BufferReport, ...]
    is_exact: bool

    @property
    @abstractmethod
    def total(self) -> ByteCount:
        """What `last_memory()` reports after a call, or a bound of it."""

    @property
    @abstractmethod
    def regions(self) -> Mapping[str, str]:
        """The parts of that memory, each with its size as it is printed."""

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
