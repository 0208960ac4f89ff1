"""Tracks the last access to each byte, and whether it has certainly finished.

Reads: accesses in program order, and the clocks of a core. Writes: faults. Leaves: nothing.

For each pipe and kind of access, a shadow has the number of the last access to each granule. The last one is enough:
every access is checked against all earlier ones, so being ordered after the last means being ordered after all.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from xdsl.ir import Operation

from mlirad.targets.ascend.simulator.device_memory import ByteMemory, DeviceBuffer
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.pipe_order import PIPES, PipeOrder


class Touch(Enum):
    READ = "reads"
    WRITE = "writes"
    ADD = "adds to"
    """An atomic update: it commutes with others."""


_CONFLICTS = {
    Touch.READ: ((Touch.WRITE, Fault.READ_AFTER_WRITE), (Touch.ADD, Fault.READ_AFTER_WRITE)),
    Touch.WRITE: (
        (Touch.WRITE, Fault.WRITE_AFTER_WRITE),
        (Touch.ADD, Fault.WRITE_AFTER_WRITE),
        (Touch.READ, Fault.WRITE_AFTER_READ),
    ),
    Touch.ADD: ((Touch.WRITE, Fault.WRITE_AFTER_WRITE), (Touch.READ, Fault.WRITE_AFTER_READ)),
}


class Shadow:
    """The shadow of a memory in granules of `grain` bytes. Bytes of one granule are not distinguished."""

    def __init__(self, memory: ByteMemory, grain: int):
        self.memory = memory
        self.grain = grain
        self.size = -(-memory.data.size // grain)
        self.last: dict[tuple[Touch, int], np.ndarray] = {}
        self.rivals: dict[Touch, list[tuple[Touch, int, Fault, np.ndarray]]] = {each: [] for each in Touch}
        """For each kind of access, the kinds in `last` that conflict with it."""

    def where(self, view: DeviceBuffer) -> tuple[slice, np.ndarray | None]:
        """The granules of a view: the slice around them, and for scattered ones also their numbers."""
        around = slice(view.low // self.grain, -(-view.high // self.grain))
        if view.is_contiguous:
            return around, None
        numbers = np.zeros((), np.int64)
        for size, stride in zip(view.shape[: view.inner], view.strides, strict=False):
            numbers = numbers[..., None] + np.arange(size) * view.bytes_of(stride)
        starts = view.first + numbers.reshape(-1)
        width = -(-(view.first % self.grain + view.run) // self.grain)
        granules = starts[:, None] // self.grain + np.arange(width)
        return around, granules.reshape(-1)

    def check(self, view: DeviceBuffer, access: Touch, pipe: int, order: PipeOrder) -> None:
        """Raise a fault if an earlier access that conflicts with this one may still be running."""
        known = order.known[pipe]
        unfinished = [each for each in self.rivals[access] if order.count[each[1]] > known[each[1]]]
        if view.high == view.low or not unfinished:
            return
        around, scattered = self.where(view)
        for earlier, other, fault, last in unfinished:
            touched = last[around] if scattered is None else last[scattered]
            if (number := int(touched.max())) > known[other]:
                raise self.fault(fault, view, access, pipe, earlier, other, number, order)

    def fault(
        self,
        fault: Fault,
        view: DeviceBuffer,
        access: Touch,
        pipe: int,
        earlier: Touch,
        other: int,
        number: int,
        order: PipeOrder,
    ) -> SimulatorFault:
        first = order.entries[other][number - 1]
        if pipe == other:
            missing = f"there is no barrier of {PIPES[pipe]} in between"
        else:
            missing = f"no flag from {PIPES[other]} to {PIPES[pipe]} orders them"
        return SimulatorFault(
            fault,
            f"{PIPES[pipe]} {access.value} bytes [{view.low}, {view.high}) of {view.memory.name} while "
            f"{first.name} on {PIPES[other]}, which {earlier.value} some of them, may still be running: {missing}",
        )

    def note(self, view: DeviceBuffer, access: Touch, pipe: int, number: int) -> None:
        """Record the access with that number of its pipe as the last one to these bytes."""
        last = self.last.get((access, pipe))
        if last is None:
            last = self.last[access, pipe] = np.zeros(self.size, np.int64)
            for rival, conflicts in _CONFLICTS.items():
                self.rivals[rival] += [(access, pipe, fault, last) for each, fault in conflicts if each is access]
        around, scattered = self.where(view)
        last[around if scattered is None else scattered] = number


class Owners:
    """The block that wrote each granule of a global buffer during one launch. Blocks run in any order, or in
    parallel."""

    NO_BLOCK, SEVERAL = 0, -(2**31)

    def __init__(self, shadow: Shadow):
        self.shadow = shadow
        self.writer = np.zeros(shadow.size, np.int32)  # block + 1; -(block + 1) if it only added
        self.reads: list[tuple[int, DeviceBuffer, Operation]] = []

    def write(self, view: DeviceBuffer, block: int, access: Touch) -> None:
        around, scattered = self.shadow.where(view)
        where = around if scattered is None else scattered
        writer, mine = self.writer[where], block + 1
        others = (writer != self.NO_BLOCK) & (np.abs(writer) != mine)
        if access is Touch.ADD:
            others_adding = others & (writer < 0)
            self.refuse(others & ~others_adding, writer, view, access)
            updated = np.where(others_adding, self.SEVERAL, np.where(writer == mine, mine, -mine))
        else:
            self.refuse(others, writer, view, access)
            updated = mine
        self.writer[where] = updated

    def refuse(self, wrong: np.ndarray, writer: np.ndarray, view: DeviceBuffer, access: Touch) -> None:
        if wrong.any():
            other = int(np.abs(writer[wrong][0])) - 1
            who = f"block {other}" if other < 2**31 - 1 else "several blocks"
            raise SimulatorFault(
                Fault.BETWEEN_BLOCKS,
                f"{access.value} bytes [{view.low}, {view.high}) of {view.memory.name}, some of which {who} "
                "writes in the same launch; blocks are not ordered",
            )

    def check_read(self, view: DeviceBuffer, block: int) -> None:
        """Raise a fault if another block writes bytes that this one has read; called when all blocks have run."""
        around, scattered = self.shadow.where(view)
        writer = self.writer[around if scattered is None else scattered]
        self.refuse((writer != self.NO_BLOCK) & (np.abs(writer) != block + 1), writer, view, Touch.READ)
