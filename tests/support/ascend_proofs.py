"""Shows that a changed kernel computes the same: by what its instructions read, and what certainly comes before what.

Reads: recorded launches. Writes: reasons. Leaves: nothing. It shares no code with the race detector: the order is a set
of entries for each entry, not a clock, and two accesses are compared byte by byte.

A launch computes the same, for all values and in every order that the hardware may choose, if
* each byte of its results comes from the same computation: the same place in the output of the same instruction on
  inputs that come from the same computations, and
* of two instructions that touch a byte, one of which writes it, the first has finished before the second starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from xdsl.ir import Operation

from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, Pipe
from mlirad.targets.ascend.hivm.instruction import Instruction
from mlirad.targets.ascend.simulator.device_memory import ByteMemory, DeviceBuffer
from mlirad.targets.ascend.simulator.kernel_trace import FlagSet, FlagWait, Issued, PipeBarrier, ScalarWrite, Trace
from mlirad.targets.ascend.simulator.pipe_order import Flag

SAME_ENTRIES = "for these sizes, the kernel issues the same entries"
SAME_ORDER = "other flags and barriers imply the same order"
MORE_ORDER = "it orders more than the original"
NO_CONFLICT = "what it no longer orders touches different bytes"
FREE_BYTES = "the buffer moves to bytes that nothing else uses at that time"
SAME_VALUES = "the same values are computed; some again, or some that nothing uses"
IDLE_BLOCK = "the block more has no tile"
REASONS = (SAME_ENTRIES, IDLE_BLOCK, SAME_ORDER, MORE_ORDER, NO_CONFLICT, FREE_BYTES, SAME_VALUES)
IN_ORDERS_OF_ORIGINAL = (SAME_ENTRIES, IDLE_BLOCK, SAME_ORDER, MORE_ORDER)
"""The reasons of changed launches that may run in no other orders than the original."""

_UNKNOWN = 1 << 62
"""The origin of bytes that nothing has written. Those of arguments are negative."""


def accesses(entry: Issued) -> Iterator[tuple[DeviceBuffer, bool]]:
    """The buffers of an instruction, and whether it writes them."""
    for view in entry.views():
        yield view, False
    if entry.adds:
        yield entry.output, False
    for view in entry.scratch:
        yield view, True
    yield entry.output, True


def done_before(trace: Trace) -> list[int] | None:
    """For each entry, the entries that are done before it starts, as bits.

    None for flags that are not paired, and for kernels whose scalar unit writes.

    An instruction is done when it has finished, a set when the flag is set, a wait when it has cleared it.
    """
    found = [0] * len(trace)
    issued = 0  # before the scalar unit issues the next entry
    started = dict.fromkeys(Pipe, 0)  # before the last entry of the pipe started
    finished = dict.fromkeys(Pipe, 0)  # the instructions of the pipe, and what is before them
    everything = 0
    sets: dict[Flag, int] = {}
    cleared: dict[Flag, int] = {}
    for number, entry in enumerate(trace):
        own = 1 << number
        match entry:
            case Issued():
                before = started[entry.pipe] = issued | started[entry.pipe]
                finished[entry.pipe] |= before | own
            case FlagSet():
                pipe = entry.flag[0]
                before = started[pipe] = issued | started[pipe]
                if entry.flag in sets or cleared.get(entry.flag, 0) & ~before:
                    return None
                sets[entry.flag] = before | finished[pipe] | own
            case FlagWait():
                if entry.flag not in sets:
                    return None
                pipe = entry.flag[1]
                before = started[pipe] = issued | started[pipe] | sets.pop(entry.flag)
                started[pipe] |= own
                cleared[entry.flag] = own
                if pipe is Pipe.S:
                    issued = started[pipe]
            case ScalarWrite():
                return None
            case PipeBarrier():
                if entry.pipe is Pipe.ALL:
                    before = issued = everything
                else:
                    before = started[entry.pipe] = issued | started[entry.pipe] | finished[entry.pipe]
        found[number] = before
        everything |= before | own
    return None if sets else found


@dataclass(frozen=True)
class Flow:
    """What a launch computes from what.

    numbers: of the instructions of each block, among its entries. orders, conflicts: of each block, see `done_before`
    and `conflicts`. are_blocks_apart: none writes a byte of global memory that another one touches.
    """

    entries: list[Any]
    places: list[Any]
    results: list[np.ndarray]
    numbers: list[list[int]]
    orders: list[list[int] | None]
    conflicts: list[list[tuple[int, int]]]
    are_blocks_apart: bool

    def is_ordered(self) -> bool:
        return self.are_blocks_apart and all(
            before is not None and all(before[second] >> first & 1 for first, second in conflicts)
            for before, conflicts in zip(self.orders, self.conflicts, strict=True)
        )

    def orders_of_instructions(self) -> list[list[int]]:
        """For each instruction of a block, the instructions that have finished before it starts, as bits."""
        return [
            [sum(1 << place for place, each in enumerate(numbers) if before[number] >> each & 1) for number in numbers]
            for numbers, before in zip(self.numbers, self.orders, strict=True)
            if before is not None
        ]

    def instructions(self) -> list[Any]:
        return [each for each in self.entries if isinstance(each, tuple)]


def flow(kernel: Operation, traces: Sequence[Trace], given: Sequence[ByteMemory]) -> Flow:
    """given: the memories of the arguments, in order."""
    instructions = {
        op: number for number, op in enumerate(each for each in kernel.walk() if isinstance(each, Instruction))
    }
    names: dict[ByteMemory, Any] = {memory: number for number, memory in enumerate(given)}
    origins: dict[ByteMemory, np.ndarray] = {
        memory: -1 - np.arange(memory.data.size, dtype=np.int64) for memory in given
    }
    entries: list[Any] = []
    places: list[Any] = []
    for trace in traces:
        for entry in trace:
            if not isinstance(entry, Issued):
                entries.append(entry)
                continue
            for view in (entry.output, *entry.views(), *entry.scratch):
                if view.memory not in origins:
                    origins[view.memory] = np.full(view.memory.data.size, _UNKNOWN, np.int64)
            scalars = [each for each in entry.inputs if not isinstance(each, DeviceBuffer)]
            shapes = [(view.shape, view.dtype.str, written) for view, written in accesses(entry)]
            entries.append((instructions[entry.op], repr(scalars), shapes))
            places.append(
                [(names.get(view.memory, view.memory.space), view.first, view.strides) for view, _ in accesses(entry)]
            )
            if is_elementwise(entry):
                elementwise(entry, repr((instructions[entry.op], scalars)), origins)
            else:
                as_a_whole(entry, repr(entries[-1]), origins)
    results = [origins[memory] for memory in given if memory.space is AddressSpace.GM]
    numbers = [[number for number, entry in enumerate(each) if isinstance(entry, Issued)] for each in traces]
    orders = [done_before(each) for each in traces]
    return Flow(entries, places, results, numbers, orders, list(map(conflicts, traces)), are_apart(traces))


def is_elementwise(entry: Issued) -> bool:
    """Whether each element of the output is computed from one element of each input, or from scalars only."""
    views = entry.views()
    if entry.adds or entry.scratch or any(each.is_packed for each in (*views, entry.output)):
        return False
    return all(each.shape == entry.output.shape for each in views) and (entry.op.is_pointwise() or not views)


def elementwise(entry: Issued, computation: str, origins: dict[ByteMemory, np.ndarray]) -> None:
    target = entry.output.on(origins[entry.output.memory])
    count = max(target.size // entry.output.dtype.itemsize, 1)
    mixed = np.full(count, int.from_bytes(blake2b(computation.encode(), digest_size=8).digest()) >> 2, np.int64)
    for view in entry.views():
        elements = view.on(origins[view.memory]).reshape(count, -1)
        for place in range(elements.shape[1]):
            mixed = mixed * 0x5851F42D4C957F2D + (elements[:, place] ^ elements[:, place] >> 29)
    mixed = (mixed ^ mixed >> 32) & (_UNKNOWN - 1)
    target[...] = (mixed[:, None] + np.arange(target.size // count)).reshape(target.shape)


def as_a_whole(entry: Issued, computation: str, origins: dict[ByteMemory, np.ndarray]) -> None:
    """Each byte of the output is computed from all inputs."""
    known = blake2b(computation.encode(), digest_size=8)
    for view, is_written in accesses(entry):
        touched = view.on(origins[view.memory])
        if not is_written:
            known.update(touched.tobytes())
            continue
        first = int.from_bytes(known.digest()) >> 2
        touched[...] = (first + np.arange(touched.size)).reshape(touched.shape)
        known.update(b"next")


def conflicts(trace: Trace) -> list[tuple[int, int]]:
    """The pairs of entries of which one writes a byte that the other touches, too.

    What a write covers is left out behind it: an entry that starts after the write starts after what it covered.
    """
    touched: dict[ByteMemory, list[tuple[int, int, bool]]] = {}
    found: list[tuple[int, int]] = []
    for number, entry in enumerate(trace):
        if not isinstance(entry, Issued):
            continue
        for view, is_written in accesses(entry):
            own, earlier = bits(view), touched.setdefault(view.memory, [])
            found += [
                (first, number)
                for first, others, was_written in earlier
                if first != number and (is_written or was_written) and own & others
            ]
            if is_written:
                earlier[:] = [each for each in earlier if each[1] & ~own]
            earlier.append((number, own, is_written))
    return found


def are_apart(traces: Sequence[Trace]) -> bool:
    """Whether no block writes a byte that another one touches."""
    written: list[dict[ByteMemory, int]] = []
    touched: list[dict[ByteMemory, int]] = []
    for trace in traces:
        written.append({})
        touched.append({})
        for view, is_written in (each for entry in trace if isinstance(entry, Issued) for each in accesses(entry)):
            if view.memory.space is AddressSpace.GM:
                own = bits(view)
                for bytes in (touched[-1], written[-1]) if is_written else (touched[-1],):
                    bytes[view.memory] = bytes.get(view.memory, 0) | own
    return not any(
        own & touched[other].get(memory, 0)
        for block, mine in enumerate(written)
        for memory, own in mine.items()
        for other in range(len(traces))
        if other != block
    )


_BITS: dict[Any, int] = {}


def bits(view: DeviceBuffer) -> int:
    """The bytes of a view in its memory, one bit each."""
    form = (view.shape, view.strides, view.dtype, view.is_packed)
    if form not in _BITS:
        mask = np.zeros(view.high - view.low, np.bool_)
        own = view.on(np.empty(view.memory.data.size, np.bool_))
        np.ndarray(own.shape, np.bool_, mask, view.first - view.low, own.strides)[...] = True
        _BITS[form] = int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
    return _BITS[form] << view.low


def reason(original: Flow, changed: Flow) -> str | None:
    """Why the changed launch computes the same; None if that is not shown."""
    if not (all(map(np.array_equal, original.results, changed.results)) and changed.is_ordered()):
        return None
    if original.instructions() != changed.instructions():
        return SAME_VALUES
    if len(original.orders) != len(changed.orders):
        return IDLE_BLOCK
    if original.places != changed.places:
        return FREE_BYTES
    if original.entries == changed.entries:
        return SAME_ENTRIES
    both = original.orders_of_instructions(), changed.orders_of_instructions()
    if both[0] == both[1]:
        return SAME_ORDER
    pairs = [pair for blocks in zip(*both, strict=True) for pair in zip(*blocks, strict=True)]
    return NO_CONFLICT if any(before & ~after for before, after in pairs) else MORE_ORDER
