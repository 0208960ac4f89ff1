"""Records what the kernels of one call do.

Reads: launches of any program while a recording is open, in the same thread. Writes: a report. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from mlirad.targets.ascend.simulator.pipe_clock import Span


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: how many blocks ran, and its cycles (model)."""

    kernel: str
    blocks: int
    cycles: float


@dataclass
class RunReport:
    """The work of one call. spans: for each kernel's first launch, the timelines of its blocks, on request."""

    launches: list[Launch] = field(default_factory=list)
    spans: dict[str, list[list[Span]]] | None = None

    @property
    def cycles(self) -> float:
        """The cycles of all launches, one after the other (model)."""
        return sum(each.cycles for each in self.launches)

    def __str__(self) -> str:
        counted: dict[tuple[str, int], list[float]] = {}
        for each in self.launches:
            counted.setdefault((each.kernel, each.blocks), []).append(each.cycles)
        lines = [
            f"  {kernel}: {len(cycles)} launches of {blocks} blocks, {sum(cycles):,.0f} cycles (model)"
            for (kernel, blocks), cycles in counted.items()
        ]
        return "\n".join([f"simulator: {self.cycles:,.0f} cycles (model, uncalibrated)", *lines])


_open: ContextVar[RunReport | None] = ContextVar("mlirad_ascend_recording", default=None)


@contextmanager
def recording() -> Iterator[RunReport]:
    """The report, with timelines, of everything that runs inside."""
    report = RunReport(spans={})
    token = _open.set(report)
    try:
        yield report
    finally:
        _open.reset(token)


def open_recording() -> RunReport | None:
    return _open.get()
