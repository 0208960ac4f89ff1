"""The entries that the scalar unit issues to the queues of its pipes in one block.

Reads: nothing. Writes: the shape of a recorded block. Leaves: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.targets.ascend.hivm.hivm_attributes import Pipe
from mlirad.targets.ascend.hivm.instruction import Instruction
from mlirad.targets.ascend.simulator.device_memory import DeviceBuffer
from mlirad.targets.ascend.simulator.pipe_order import Flag


@dataclass(frozen=True, slots=True)
class Issued:
    """An instruction and its operands. adds: whether it also reads the old contents of its output."""

    op: Instruction
    pipe: Pipe
    inputs: tuple[Any, ...]
    output: DeviceBuffer
    scratch: tuple[DeviceBuffer, ...]
    adds: bool

    def views(self) -> tuple[DeviceBuffer, ...]:
        """The buffers among the inputs."""
        return tuple(each for each in self.inputs if isinstance(each, DeviceBuffer))


@dataclass(frozen=True, slots=True)
class ScalarWrite:
    """The scalar unit writes one element, and issues nothing until it has finished."""

    output: DeviceBuffer
    value: np.ndarray


@dataclass(frozen=True, slots=True)
class FlagSet:
    """The flag is set when everything issued so far to its first pipe has finished."""

    flag: Flag


@dataclass(frozen=True, slots=True)
class FlagWait:
    """Its second pipe starts nothing more until the flag is set; then the flag is cleared."""

    flag: Flag


@dataclass(frozen=True, slots=True)
class PipeBarrier:
    """The pipe starts nothing more until everything issued to it so far has finished."""

    pipe: Pipe


Entry = Issued | ScalarWrite | FlagSet | FlagWait | PipeBarrier
Trace = list[Entry]
"""The entries of one block, in program order."""
