"""One core that runs the blocks of a kernel: its memories, queues and rules.

Reads: what the scalar unit issues. Writes: memory. Leaves: nothing. Raises SimulatorFault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from xdsl.ir import Operation

from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, CoreType, Pipe
from mlirad.targets.ascend.hivm.instruction import Instruction
from mlirad.targets.ascend.simulator.device_memory import ByteMemory, DeviceBuffer, row_major
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault, placing
from mlirad.targets.ascend.simulator.hazards import Owners, Shadow, Touch
from mlirad.targets.ascend.simulator.pipe_clock import TRANSFER_LATENCY, PipeClock
from mlirad.targets.ascend.simulator.pipe_order import NUMBER, PIPES_OF, Flag, PipeOrder
from mlirad.targets.ascend.soc import Soc

_SCALAR = NUMBER[Pipe.S]


@dataclass(frozen=True)
class DeviceKernel:
    """The facts about a kernel that are known before it runs.

    is_physical: whether its buffers have addresses and its pipes flags; otherwise instructions run one after the other.
    written: the indices of the arguments that it stores to.
    """

    name: str
    core: CoreType
    is_physical: bool
    written: frozenset[int]


class DeviceCore:
    """Runs the blocks of one launch, one after the other, in program order, and checks all their actions."""

    def __init__(
        self,
        soc: Soc,
        kernel: DeviceKernel,
        blocks: int,
        arguments: Sequence[Any],
        flags_count: bool = False,
    ):
        self.soc = soc
        self.kernel = kernel
        self.blocks = blocks
        self.block = 0
        self.memories = {
            AddressSpace.UB: soc.ub_bytes,
            AddressSpace.L1: soc.l1_bytes,
            AddressSpace.L0A: soc.l0a_bytes,
            AddressSpace.L0B: soc.l0b_bytes,
            AddressSpace.L0C: soc.l0c_bytes,
        }
        self.alignments = {
            AddressSpace.UB: soc.ub_alignment,
            AddressSpace.L1: soc.l1_alignment,
            AddressSpace.L0A: soc.l0_alignment,
            AddressSpace.L0B: soc.l0_alignment,
            AddressSpace.L0C: soc.l0_alignment,
        }
        self.own: dict[AddressSpace, ByteMemory] = {}
        self.casts: dict[Operation, int] = {}
        self.order = PipeOrder(kernel.core, soc.event_ids, flags_count)
        self.clock = PipeClock(soc, blocks)
        self.shadows: dict[ByteMemory, Shadow] = {}
        self.owners: dict[ByteMemory, Owners] = {}
        self.watch(arguments)

    def watch(self, arguments: Sequence[Any]) -> None:
        """Record who accesses the bytes of buffers that the kernel writes."""
        views = [each for each in arguments if isinstance(each, DeviceBuffer)]
        written = {arguments[number].memory for number in self.kernel.written}
        for memory in written:
            mine = [view for view in views if view.memory is memory]
            grain = gcd(*(view.dtype.itemsize for view in mine), *(view.low for view in mine))
            self.shadows[memory] = shadow = Shadow(memory, grain)
            if self.blocks > 1:
                self.owners[memory] = Owners(shadow)

    def begin(self, block: int, spans: list[Any] | None) -> None:
        self.block = block
        self.casts.clear()
        for memory in self.own.values():
            memory.forget()
        self.order.begin_block()
        self.clock = PipeClock(self.soc, min(self.blocks, self.core_count()), spans)

    def end(self) -> float:
        """The modelled cycles of the block. Raises a fault if it leaves flags behind."""
        if self.kernel.is_physical:
            try:
                self.order.end_block()
            except SimulatorFault as fault:
                fault.kernel, fault.block = self.kernel.name, self.block
                raise
        return self.clock.end()

    def end_launch(self) -> None:
        for owners in self.owners.values():
            for block, view, op in owners.reads:
                with placing(self.kernel.name, block, op):
                    owners.check_read(view, block)

    def core_count(self) -> int:
        return self.soc.vector_cores if self.kernel.core is CoreType.VECTOR else self.soc.cube_cores

    def placed(self, kind: Fault, message: str, op: Operation) -> SimulatorFault:
        return SimulatorFault(kind, message, self.kernel.name, self.block, op)

    # Buffers.

    def memory(self, space: AddressSpace) -> ByteMemory:
        if space not in self.own:
            self.own[space] = ByteMemory.empty(space.name, space, self.memories[space])
        return self.own[space]

    def at_address(
        self,
        op: Operation,
        addresses: Sequence[int],
        shape: tuple[int, ...],
        element: str,
        dtype: np.dtype[Any],
        space: AddressSpace,
    ) -> DeviceBuffer:
        """A buffer at the next one of its addresses."""
        turn = self.casts.get(op, 0)
        self.casts[op] = turn + 1
        view = DeviceBuffer(
            self.memory(space), addresses[turn % len(addresses)], shape, row_major(shape), element, dtype
        )
        with placing(self.kernel.name, self.block, op):
            view.check_bounds()
        return view

    def allocate(
        self, op: Operation, shape: tuple[int, ...], element: str, dtype: np.dtype[Any], space: AddressSpace | None
    ) -> DeviceBuffer:
        """A buffer of a kernel without addresses: it has its own memory."""
        if space in (None, AddressSpace.GM):
            raise self.placed(Fault.SPACE, "a kernel cannot allocate global memory", op)
        assert space is not None
        size = DeviceBuffer(ByteMemory.empty("", space, 0), 0, shape, row_major(shape), element, dtype).high
        return DeviceBuffer(
            ByteMemory.empty(f"a buffer in {space.name}", space, size), 0, shape, row_major(shape), element, dtype
        )

    def constant_array(self, name: str) -> DeviceBuffer:
        raise SimulatorFault(Fault.SPACE, f"a kernel cannot read the constant {name!r} of the host", self.kernel.name)

    # Ops that the scalar unit issues.

    def issue(self, op: Instruction, inputs: list[Any], output: DeviceBuffer, scratch: list[DeviceBuffer]) -> None:
        pipe = op.pipe()
        views = [each for each in inputs if isinstance(each, DeviceBuffer)]
        adds = op.reads_output(inputs)
        with placing(self.kernel.name, self.block, op):
            self.check_operands(op, pipe, views, output, scratch)
            if self.kernel.is_physical:
                self.check_order(op, pipe, views, output, scratch, adds)
            self.check_blocks(op, views, output)
            for view in views:
                view.check_initialised()
            if adds:
                output.check_initialised()
            result = compute(op, inputs, output, adds)
            for view in scratch:
                view.mark(False)
            output.write(result)
            output.mark()
        self.count_cycles(op, pipe, inputs, views, output)

    def check_operands(
        self, op: Instruction, pipe: Pipe, views: list[DeviceBuffer], output: DeviceBuffer, scratch: list[DeviceBuffer]
    ) -> None:
        if pipe not in PIPES_OF[self.kernel.core]:
            raise SimulatorFault(Fault.PIPE_PAIR, f"a core of type {self.kernel.core} has no {pipe} for {op.name}")
        for view in (*views, output, *scratch):
            view.check_bounds()
            self.check_alignment(view)
        for target in (output, *scratch):
            for view in views:
                if view.memory is target.memory and view.low < target.high and target.low < view.high:
                    self.check_overlap(op, view, target)

    def check_alignment(self, view: DeviceBuffer) -> None:
        alignment = self.alignments.get(view.memory.space)
        if alignment is None or not self.kernel.is_physical:
            return
        if view.low % alignment:
            raise SimulatorFault(
                Fault.ALIGNMENT, f"{view.memory.name} address {view.low} is no multiple of {alignment} bytes"
            )
        for size, stride in zip(view.shape[: view.inner], view.strides, strict=False):
            if size > 1 and view.bytes_of(stride) % alignment:
                raise SimulatorFault(
                    Fault.ALIGNMENT,
                    f"rows {view.bytes_of(stride)} bytes apart in {view.memory.name} do not begin at multiples of "
                    f"{alignment} bytes",
                )

    def check_rows(self, op: Instruction, buffers: list[DeviceBuffer]) -> None:
        """Refuse buffers with rows that do not begin at multiples of the alignment. Without addresses, nothing is
        checked."""
        if not self.kernel.is_physical:
            return
        for buffer in buffers:
            alignment = self.alignments.get(buffer.memory.space, 1)
            for size, stride in zip(buffer.shape[:-1], buffer.strides, strict=False):
                if size > 1 and buffer.bytes_of(stride) % alignment:
                    apart = f"rows of {op.name} are {buffer.bytes_of(stride)} bytes apart"
                    raise self.placed(Fault.ALIGNMENT, f"{apart}, which is no multiple of {alignment}", op)

    def check_overlap(self, op: Instruction, view: DeviceBuffer, output: DeviceBuffer) -> None:
        same = view.low == output.low and view.shape == output.shape and view.strides == output.strides
        if not (same and view.dtype == output.dtype):
            raise SimulatorFault(
                Fault.OVERLAP,
                f"{op.name} reads [{view.low}, {view.high}) and writes [{output.low}, {output.high}) of "
                f"{output.memory.name}, which overlap in part",
            )

    def shadow(self, view: DeviceBuffer) -> Shadow | None:
        """The access history of a memory; none for global buffers that the kernel only reads."""
        if view.memory.space is AddressSpace.GM:
            return self.shadows.get(view.memory)
        if view.memory not in self.shadows:
            self.shadows[view.memory] = Shadow(view.memory, self.alignments[AddressSpace.UB])
        return self.shadows[view.memory]

    def check_order(
        self,
        op: Instruction,
        pipe: Pipe,
        views: list[DeviceBuffer],
        output: DeviceBuffer,
        scratch: list[DeviceBuffer],
        adds: bool,
    ) -> None:
        number = NUMBER[pipe]
        accesses = [(view, Touch.READ) for view in views]
        accesses += [(view, Touch.WRITE) for view in scratch]
        if adds and not op.is_atomic():
            accesses.append((output, Touch.READ))
        accesses.append((output, Touch.ADD if op.is_atomic() else Touch.WRITE))
        watched = [(shadow, view, access) for view, access in accesses if (shadow := self.shadow(view)) is not None]
        for shadow, view, access in watched:
            shadow.check(view, access, number, self.order)
        entry = self.order.next(number, op)
        for shadow, view, access in watched:
            shadow.note(view, access, number, entry)

    def check_blocks(self, op: Instruction, views: list[DeviceBuffer], output: DeviceBuffer) -> None:
        if not self.owners:
            return
        for view in views:
            if (owners := self.owners.get(view.memory)) is not None:
                owners.reads.append((self.block, view, op))
        if (owners := self.owners.get(output.memory)) is not None:
            owners.write(output, self.block, Touch.ADD if op.is_atomic() else Touch.WRITE)

    def count_cycles(
        self, op: Instruction, pipe: Pipe, inputs: list[Any], views: list[DeviceBuffer], output: DeviceBuffer
    ) -> None:
        moved = max(view.high - view.low for view in (*views, output))
        match pipe:
            case Pipe.V:
                cycles = self.clock.vector_cycles(moved, op.passes())
            case Pipe.M:
                cycles = self.clock.cube_cycles(*inputs[3:6])
            case Pipe.MTE1:
                cycles = self.clock.l1_cycles(moved)
            case Pipe.MTE2:
                moved = output.high - output.low
                cycles = self.clock.transfer_cycles(moved, True)
            case _:
                moved = views[0].high - views[0].low
                cycles = self.clock.transfer_cycles(moved, False)
        touched = (*((view, False) for view in views), (output, True))
        self.clock.run(pipe, op, cycles, moved, touched)

    def set_flag(self, flag: Flag, op: Operation) -> None:
        with placing(self.kernel.name, self.block, op):
            self.order.set_flag(flag, op)
        self.clock.set_flag(flag)

    def wait_flag(self, flag: Flag, op: Operation) -> None:
        with placing(self.kernel.name, self.block, op):
            self.order.wait_flag(flag, op)
        self.clock.wait_flag(flag)

    def barrier(self, pipe: Pipe, op: Operation) -> None:
        with placing(self.kernel.name, self.block, op):
            self.order.barrier(pipe)
        self.clock.barrier(pipe)

    # Single elements, which the scalar unit reads and waits for.

    def read_element(self, view: DeviceBuffer, op: Operation) -> Any:
        with placing(self.kernel.name, self.block, op):
            view.check_bounds()
            shadow = self.shadow(view)
            if self.kernel.is_physical and shadow is not None:
                shadow.check(view, Touch.READ, _SCALAR, self.order)
            if (owners := self.owners.get(view.memory)) is not None:
                owners.reads.append((self.block, view, op))
            view.check_initialised()
        self.clock.times[Pipe.S] += TRANSFER_LATENCY
        return view.read()[()]

    def write_element(self, view: DeviceBuffer, value: np.ndarray, op: Operation) -> None:
        with placing(self.kernel.name, self.block, op):
            self.check_written_element(view)
            if self.kernel.is_physical and (shadow := self.shadow(view)) is not None:
                shadow.check(view, Touch.WRITE, _SCALAR, self.order)
                shadow.note(view, Touch.WRITE, _SCALAR, self.order.next_scalar(op))
            view.write(value)
            view.mark()

    def check_written_element(self, view: DeviceBuffer) -> None:
        if view.memory.space is not AddressSpace.UB:
            raise SimulatorFault(Fault.SPACE, "the scalar unit of a kernel may write single elements of UB only")
        view.check_bounds()

    def copy(self, source: DeviceBuffer, target: DeviceBuffer, op: Operation) -> None:
        raise self.placed(Fault.SPACE, "a kernel moves data by hivm.hir.load, store and copy, not by memref.copy", op)

    def call(self, name: str, values: list[Any], blocks: int | None, op: Operation) -> tuple[Any, ...]:
        raise self.placed(Fault.LAUNCH, f"a kernel cannot call {name!r}", op)


def compute(op: Instruction, inputs: Sequence[Any], output: DeviceBuffer, adds: bool) -> np.ndarray:
    """The new contents of the output."""
    shapes = [each.shape for each in inputs if isinstance(each, DeviceBuffer)]
    if op.is_pointwise() and any(shape != output.shape for shape in shapes):
        listed = ", ".join(map(str, shapes))
        raise SimulatorFault(Fault.SHAPE, f"{op.name} of {listed} into {output.shape}")
    values = [each.read() if isinstance(each, DeviceBuffer) else each for each in inputs]
    if adds:
        values.append(output.read())
    try:
        result = op.compute(values, output.shape)
    except ValueError as error:  # sizes that are known only at run time
        raise SimulatorFault(Fault.SHAPE, f"{op.name}: {error}") from None
    if result.shape != output.shape:
        raise SimulatorFault(Fault.SHAPE, f"{op.name} gives {result.shape} for {output.shape}")
    return result
