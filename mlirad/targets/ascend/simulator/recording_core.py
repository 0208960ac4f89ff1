"""A core that records what a kernel issues, instead of executing it, so that it can be executed in other orders.

Reads: what the scalar unit issues. Writes: traces. Leaves: memory. Raises SimulatorFault for operands out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, Pipe
from mlirad.targets.ascend.hivm.instruction import Instruction
from mlirad.targets.ascend.simulator.device_core import DeviceCore, DeviceKernel
from mlirad.targets.ascend.simulator.device_memory import ByteMemory, DeviceBuffer
from mlirad.targets.ascend.simulator.faults import NotSimulated, placing
from mlirad.targets.ascend.simulator.kernel_trace import FlagSet, FlagWait, Issued, PipeBarrier, ScalarWrite, Trace
from mlirad.targets.ascend.simulator.pipe_order import Flag
from mlirad.targets.ascend.soc import Soc


class RecordingCore(DeviceCore):
    """Records the blocks of one launch. Each block has its own memories, so that blocks can run in parallel.

    The ops that a kernel issues must not depend on the data that it writes.
    """

    def __init__(self, soc: Soc, kernel: DeviceKernel, blocks: int, arguments: Sequence[Any]):
        super().__init__(soc, kernel, blocks, arguments)
        self.written = {arguments[number].memory for number in kernel.written}
        self.traces: list[Trace] = []
        self.memories_of_blocks: list[ByteMemory] = []

    def begin(self, block: int, spans: list[Any] | None) -> None:
        super().begin(block, spans)
        self.own = {}
        self.traces.append([])

    def end(self) -> float:
        self.memories_of_blocks += self.own.values()
        return 0.0

    def end_launch(self) -> None:
        """Nothing has run."""

    def memory(self, space: AddressSpace) -> ByteMemory:
        memory = super().memory(space)
        memory.initialised = None
        return memory

    def issue(self, op: Instruction, inputs: list[Any], output: DeviceBuffer, scratch: list[DeviceBuffer]) -> None:
        pipe = op.pipe()
        issued = Issued(op, pipe, tuple(inputs), output, tuple(scratch), op.reads_output(inputs))
        with placing(self.kernel.name, self.block, op):
            self.check_operands(op, pipe, list(issued.views()), output, scratch)
        self.traces[-1].append(issued)

    def set_flag(self, flag: Flag, op: Operation) -> None:
        self.traces[-1].append(FlagSet(flag))

    def wait_flag(self, flag: Flag, op: Operation) -> None:
        self.traces[-1].append(FlagWait(flag))

    def barrier(self, pipe: Pipe, op: Operation) -> None:
        self.traces[-1].append(PipeBarrier(pipe))

    def read_element(self, view: DeviceBuffer, op: Operation) -> Any:
        if view.memory in self.written or view.memory.space is not AddressSpace.GM:
            raise NotSimulated(f"no other order is known of {self.kernel.name!r}: it reads numbers that it writes")
        view.check_bounds()
        return view.read()[()]

    def write_element(self, view: DeviceBuffer, value: np.ndarray, op: Operation) -> None:
        with placing(self.kernel.name, self.block, op):
            self.check_written_element(view)
        self.traces[-1].append(ScalarWrite(view, value))
