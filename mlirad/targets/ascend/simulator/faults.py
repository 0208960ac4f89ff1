"""The faults of programs that the simulator executes.

Reads: nothing. Writes: exceptions. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from xdsl.ir import Operation

from mlirad.dialect.core.types import from_location
from mlirad.errors import format_located
from mlirad.location import SourceLocation


class Fault(Enum):
    """The kinds of faults."""

    BOUNDS = "out of bounds"
    SHAPE = "shapes differ"
    ALIGNMENT = "misaligned address"
    SPACE = "wrong memory space"
    UNINITIALISED = "uninitialised read"
    OVERLAP = "partial overlap"
    READ_AFTER_WRITE = "read after write"
    WRITE_AFTER_READ = "write after read"
    WRITE_AFTER_WRITE = "write after write"
    BETWEEN_BLOCKS = "race between blocks"
    PIPE_PAIR = "illegal pair of pipes"
    EVENT_ID = "illegal event id"
    DOUBLE_SET = "flag set twice"
    DEADLOCK = "deadlock"
    LEFTOVER = "flag left set"
    LAUNCH = "wrong launch"
    LOOP = "wrong loop"
    ARITHMETIC = "undefined number"
    READ_ONLY = "write to read-only memory"


class SimulatorFault(RuntimeError):
    """A program breaks a rule of the 910B.

    Attributes: `kind`, `message`, `kernel` (the function that runs), `block` (its number, None on the host), and
    `location`, the line of the user's program that the op came from, or None.
    """

    def __init__(
        self, kind: Fault, message: str, kernel: str = "", block: int | None = None, op: Operation | None = None
    ):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.kernel = kernel
        self.block = block
        self.op = op

    @property
    def location(self) -> SourceLocation | None:
        return None if self.op is None else from_location(self.op.location)

    def at(self, kernel: str, block: int | None, op: Operation) -> SimulatorFault:
        """This fault, with a location unless it already has one."""
        self.kernel = self.kernel or kernel
        self.block = block if self.block is None else self.block
        self.op = self.op or op
        return self

    def __str__(self) -> str:
        where = f" (kernel {self.kernel!r}, block {self.block})" if self.block is not None else ""
        return format_located(f"simulator: {self.kind.value}: {self.message}{where}", self.location)


@contextmanager
def placing(kernel: str, block: int | None, op: Operation) -> Iterator[None]:
    """Add a location to faults inside that have none."""
    try:
        yield
    except SimulatorFault as fault:
        raise fault.at(kernel, block, op) from None


class NotSimulated(ValueError):
    """An op that the simulator does not execute."""
