"""Modelled time: when each instruction begins and ends, in cycles `(model)`.

Reads: instructions, flags and barriers in program order. Writes: a timeline. Leaves: nothing.

The constants are ours and not calibrated: they show roughly what overlaps, and predict nothing. One cycle is one of the
vector core, which is assumed to run at the cube's clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from mlirad.targets.ascend.hivm.cube_instructions import FRACTAL
from mlirad.targets.ascend.hivm.hivm_attributes import Pipe
from mlirad.targets.ascend.simulator.device_memory import DeviceBuffer
from mlirad.targets.ascend.simulator.pipe_order import Flag
from mlirad.targets.ascend.soc import Soc

ISSUE = 2.0
"""Cycles of the scalar unit for each instruction that it issues."""
TRANSFER_LATENCY = 300.0
VECTOR_HEAD = 20.0
CUBE_HEAD = 30.0


@dataclass(frozen=True, slots=True)
class Span:
    """One instruction on the timeline of a block, from `start` to `end` in cycles (model)."""

    pipe: Pipe
    op: Operation
    start: float
    end: float
    bytes: int
    touched: tuple[tuple[str, int, int, bool], ...]
    """ByteMemory, first byte, end byte, and whether it is written."""


@dataclass
class PipeClock:
    """The time of each pipe of one block. active: how many blocks share the bandwidth of global memory."""

    soc: Soc
    active: int
    spans: list[Span] | None = None
    times: dict[Pipe, float] = field(default_factory=lambda: dict.fromkeys(Pipe, 0.0))
    flags: dict[Flag, float] = field(default_factory=dict)

    def transfer_cycles(self, bytes: int, is_read: bool) -> float:
        own = self.soc.gm_read_bytes_per_cycle if is_read else self.soc.gm_write_bytes_per_cycle
        shared = self.soc.gm_bytes_per_second / self.soc.cube_clock_hz / self.active
        return TRANSFER_LATENCY + bytes / min(own, shared)

    def l1_cycles(self, bytes: int) -> float:
        return CUBE_HEAD + bytes / self.soc.l1_read_bytes_per_cycle

    def vector_cycles(self, bytes: int, passes: float) -> float:
        return VECTOR_HEAD + passes * -(-bytes // self.soc.repeat_bytes)

    def cube_cycles(self, rows: int, depth: int, columns: int) -> float:
        return CUBE_HEAD + float(-(-rows // FRACTAL) * -(-depth // FRACTAL) * -(-columns // FRACTAL))

    def run(
        self, pipe: Pipe, op: Operation, cycles: float, bytes: int, views: tuple[tuple[DeviceBuffer, bool], ...]
    ) -> None:
        """An instruction begins when it has been issued, and the one before it on its pipe has ended."""
        self.times[Pipe.S] += ISSUE
        start = max(self.times[pipe], self.times[Pipe.S])
        self.times[pipe] = end = start + cycles
        if self.spans is not None:
            touched = tuple((view.memory.space.value, view.low, view.high, written) for view, written in views)
            self.spans.append(Span(pipe, op, start, end, bytes, touched))

    def set_flag(self, flag: Flag) -> None:
        self.times[Pipe.S] += ISSUE
        self.flags[flag] = max(self.times[flag[0]], self.times[Pipe.S])

    def wait_flag(self, flag: Flag) -> None:
        self.times[Pipe.S] += ISSUE
        self.times[flag[1]] = max(self.times[flag[1]], self.flags.pop(flag, 0.0))

    def barrier(self, pipe: Pipe) -> None:
        self.times[Pipe.S] += ISSUE
        if pipe is Pipe.ALL:
            self.times = dict.fromkeys(self.times, self.end())

    def end(self) -> float:
        return max(self.times.values())
