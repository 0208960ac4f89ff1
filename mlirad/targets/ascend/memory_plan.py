"""The memory of a call on the device, from the stages hivm-virtual and hivm-physical: the result of `Lowered.memory()`.

Reads: a module of either stage. Writes: nothing. Leaves: a `DeviceReport`.

Global memory is counted as if nothing were freed before the function returns, except in loops: the arrays of a trip are
freed after it, unless the loop carries them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Block, SSAValue

from mlirad.analysis.call_graph import calls_in, functions_of
from mlirad.analysis.loops import loops_around
from mlirad.dialect.ad.tape import SLOT
from mlirad.dialect.core import types
from mlirad.location import SourceLocation
from mlirad.targets.ascend.cube.matmul_kernel import buffers_on_cube
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace
from mlirad.targets.ascend.hivm.instruction import space_of
from mlirad.targets.ascend.hivm.transfers import PointerCastOp
from mlirad.targets.ascend.kernels.kernel_outlining import ENTRY
from mlirad.targets.ascend.soc import Soc
from mlirad.targets.ascend.tiles.sizes import bytes_of
from mlirad.targets.byte_counts import ByteCount, Unknown
from mlirad.targets.memory_report import BufferReport, MemoryReport
from mlirad.xdsl_support.traversal import find

GLOBAL_MEMORY = "global memory"


@dataclass(frozen=True)
class PlacedBuffer:
    """A buffer in the memory of a core. space: its name in dumps, such as "ub". bytes: from each address on.

    addresses: one, or two that are used alternately.
    """

    space: str
    addresses: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class KernelMemory:
    """The buffers of one kernel in the memories of each core that runs it."""

    name: str
    location: SourceLocation | None
    buffers: tuple[PlacedBuffer, ...]

    @property
    def peaks(self) -> Mapping[str, int]:
        """The bytes in use in each space, from address 0 on."""
        found: dict[str, int] = {}
        for each in self.buffers:
            found[each.space] = max(found.get(each.space, 0), max(each.addresses) + each.bytes)
        return found

    def __str__(self) -> str:
        where = "" if self.location is None else f", {self.location.filename}:{self.location.lineno}"
        used = ", ".join(f"{space} {bytes:,} bytes" for space, bytes in self.peaks.items())
        return f"kernel {self.name}: {used}{where}"


@dataclass(frozen=True, repr=False)
class DeviceReport(MemoryReport):
    """A `MemoryReport` of global memory, which `total` counts, and of the memories of a core.

    kernels: in program order. room: the bytes of each space of a core.
    """

    kernels: tuple[KernelMemory, ...]
    room: Mapping[str, int]

    @property
    def total(self) -> ByteCount:
        return sum((each.bytes for each in self.buffers), ByteCount())

    @property
    def peaks(self) -> Mapping[str, int]:
        """For each space of a core, the largest use by a kernel."""
        return {
            space: most
            for space in self.room
            if (most := max((each.peaks.get(space, 0) for each in self.kernels), default=0))
        }

    @property
    def regions(self) -> Mapping[str, str]:
        on_core = {space: f"{most:,} of {self.room[space]:,}" for space, most in self.peaks.items()}
        return {GLOBAL_MEMORY: str(self.total), **on_core}

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"    {each}" for each in self.kernels)])


def report_on(virtual: ModuleOp, physical: ModuleOp, name: str, soc: Soc, room: Mapping[str, int]) -> DeviceReport:
    """The memory of calls of the public function `name`."""
    functions = functions_of(virtual)
    hosts = [each for each in functions.values() if ENTRY not in each.attributes and not each.is_declaration]
    called = {call.callee.string_value() for each in hosts for call in calls_in(each)}
    placed = functions_of(physical)
    kernels = tuple(
        KernelMemory(
            each.sym_name.data,
            types.from_location(each.location),
            tuple(_on_cube(each, soc) or _on_vector(placed[each.sym_name.data])),
        )
        for each in functions.values()
        if ENTRY in each.attributes
    )
    arrays = [(each, made) for each in hosts for made in find(each, memref.AllocOp)]
    end = functions[name].get_return_op()
    returned = set() if end is None else {each.owner for each in end.operands if isinstance(each.type, MemRefType)}
    static = [made for _, made in arrays if made in returned and not made.dynamic_sizes]
    names = Counter[str]()
    buffers = tuple(
        _report_of(made, each.sym_name.data in called, made in returned, names)
        for each, made in arrays
        if made not in static
    )
    is_exact = (
        not called & {each.sym_name.data for each in hosts}
        and all(made.parent_op() is each and not made.dynamic_sizes for each, made in arrays)
        and all(isinstance(each, memref.AllocOp | Block) for each in returned)
    )
    return DeviceReport(name, sum(map(_static_bytes, static)), buffers, is_exact, kernels, room)


def _report_of(made: memref.AllocOp, is_called: bool, is_result: bool, names: Counter[str]) -> BufferReport:
    """names: of the unknowns so far."""
    place = types.from_location(made.location)

    def unknown(what: str) -> ByteCount:
        name = f"{what}({'?' if place is None else place.lineno}"
        names[name] += 1
        return ByteCount.of(Unknown(f"{name})" if names[name] == 1 else f"{name}, {names[name]})"))

    bytes = ByteCount.of(_static_bytes(made))
    for _ in made.dynamic_sizes:
        bytes = bytes * unknown("size")
    for loop in loops_around(made.parent):
        bytes = bytes * (1 + sum(isinstance(each.type, MemRefType) for each in loop.op.results))
    if is_called:  # of a function that calls itself: others have been inlined
        bytes = bytes * unknown("calls")
    kind = "tape" if SLOT in made.attributes else "result" if is_result else "array"
    return BufferReport(kind, bytes, place, GLOBAL_MEMORY)


def _static_bytes(made: memref.AllocOp) -> int:
    type = made.memref.type
    assert isinstance(type, MemRefType)
    return math.prod(size for size in type.get_shape() if size >= 0) * types.itemsize(type.element_type)


def _on_vector(kernel: func.FuncOp) -> Iterator[PlacedBuffer]:
    for op in find(kernel, PointerCastOp):
        assert isinstance(op.result.type, MemRefType)
        addresses = tuple(sorted(address for each in op.addrs for address in _addresses(each)))
        yield PlacedBuffer(str(space_of(op.result.type) or AddressSpace.UB), addresses, bytes_of(op.result.type))


def _addresses(value: SSAValue) -> tuple[int, ...]:
    """A constant, or one of two alternating ones."""
    if isinstance(value.owner, arith.SelectOp):
        return *_addresses(value.owner.lhs), *_addresses(value.owner.rhs)
    assert isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, IntegerAttr)
    return (value.owner.value.value.data,)


def _on_cube(kernel: func.FuncOp, soc: Soc) -> list[PlacedBuffer]:
    """None for a kernel of the vector cores."""
    return [PlacedBuffer(str(space), addresses, bytes) for space, addresses, bytes in buffers_on_cube(kernel, soc)]
