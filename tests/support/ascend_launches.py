"""The launches of a program, one by one: what each kernel is given and leaves, so that it can be run again alone.

Reads: text with host functions and kernels. Writes: launches. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.targets.ascend.simulator.device_core import DeviceKernel
from mlirad.targets.ascend.simulator.device_memory import ByteMemory, DeviceBuffer
from mlirad.targets.ascend.simulator.frame_slots import FunctionCode
from mlirad.targets.ascend.simulator.recording_core import RecordingCore
from mlirad.targets.ascend.simulator.run_report import RunReport
from mlirad.targets.ascend.simulator.simulated_program import Host, SimulatedProgram

Bytes = tuple[np.ndarray, np.ndarray | None]
"""The contents of a memory, and which of its bytes are initialised."""


def held(memory: ByteMemory) -> Bytes:
    return memory.data.copy(), None if memory.initialised is None else memory.initialised.copy()


@dataclass(frozen=True)
class GivenLaunch:
    """A launch of a kernel. before, after: what the memories of its arguments hold."""

    kernel: str
    blocks: int
    values: tuple[Any, ...]
    before: dict[ByteMemory, Bytes]
    after: dict[ByteMemory, Bytes]

    def again(self) -> ReadyLaunch:
        """The same arguments in separate memories."""
        copies: dict[ByteMemory, ByteMemory] = {}
        for memory, (data, initialised) in self.before.items():
            copies[memory] = ByteMemory(memory.name, memory.space, data.copy(), True)
            copies[memory].initialised = None if initialised is None else initialised.copy()
            copies[memory].data.flags.writeable = memory.data.flags.writeable
        return ReadyLaunch(
            self, tuple(moved(each, copies) if isinstance(each, DeviceBuffer) else each for each in self.values), copies
        )


@dataclass(frozen=True)
class ReadyLaunch:
    """A launch that can be run, also more than once. memories: the copies of the original ones."""

    given: GivenLaunch
    values: tuple[Any, ...]
    memories: dict[ByteMemory, ByteMemory]

    def reset(self) -> None:
        for memory, copy in self.memories.items():
            data, initialised = self.given.before[memory]
            if copy.data.flags.writeable:
                copy.data[:] = data
                if copy.initialised is not None and initialised is not None:
                    copy.initialised[:] = initialised

    def run(self, program: SimulatedProgram, more_blocks: int = 0) -> None:
        """In program order, with all checks."""
        host = Host(program, None, RunReport())
        kernel = self.given.kernel
        with np.errstate(all="ignore"):
            host.call(kernel, list(self.values), self.given.blocks + more_blocks, program.functions[kernel].op)

    def recorded(self, program: SimulatedProgram, more_blocks: int = 0) -> RecordingCore:
        host, kernel = Host(program, None, RunReport()), self.given.kernel
        code, known = program.functions[kernel], program.kernels[kernel]
        return host.record(code, known, list(self.values), self.given.blocks + more_blocks)

    def is_right(self) -> bool:
        """Whether the memories hold what the original launch left."""
        return all(same_bytes(held(copy), self.given.after[memory]) for memory, copy in self.memories.items())


def same_bytes(found: Bytes, expected: Bytes) -> bool:
    if expected[1] is None or found[1] is None:
        return np.array_equal(found[0], expected[0])
    return np.array_equal(found[1], expected[1]) and np.array_equal(found[0][found[1]], expected[0][expected[1]])


def moved(view: DeviceBuffer, copies: dict[ByteMemory, ByteMemory]) -> DeviceBuffer:
    memory = copies[view.memory]
    return DeviceBuffer(memory, view.first, view.shape, view.strides, view.element, view.dtype, view.allocated)


class WatchedHost(Host):
    """A host that keeps its launches."""

    def __init__(self, program: SimulatedProgram):
        super().__init__(program, None, RunReport())
        self.watched: list[GivenLaunch] = []

    def launch(self, code: FunctionCode, kernel: DeviceKernel, values: list[Any], blocks: int) -> None:
        memories = list(dict.fromkeys(each.memory for each in values if isinstance(each, DeviceBuffer)))
        before = {memory: held(memory) for memory in memories}
        super().launch(code, kernel, values, blocks)
        after = {memory: held(memory) for memory in memories}
        self.watched.append(GivenLaunch(code.name, blocks, tuple(values), before, after))


def launches(program: SimulatedProgram, values: Sequence[Any]) -> list[GivenLaunch]:
    """The launches in a call of the module's only function that is not a kernel."""
    host = WatchedHost(program)
    (name,) = [each for each in program.functions if each not in program.kernels]
    op = program.functions[name].op
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in values]
    given = host.enter(copies, op.function_type.inputs.data)
    with np.errstate(all="ignore"):
        host.call(name, given, None, op)
    return host.watched
