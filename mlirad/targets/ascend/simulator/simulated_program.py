"""Loads the text of a module and runs its host functions, which launch its kernels.

Reads: the text of stage `hivm-physical` or `hivm-virtual`. Writes: arrays and numbers. Leaves: nothing. It is a
simulator: no NPU is involved, and cycles are modelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, Builtin, DenseIntOrFPElementsAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.hivm import ANNOTATION, HACC, HIVM
from mlirad.targets.ascend.hivm.hivm_attributes import (
    AddressSpace,
    CoreType,
    CoreTypeAttr,
    FunctionKind,
    FunctionKindAttr,
)
from mlirad.targets.ascend.hivm.instruction import Instruction, element_dtype, element_name
from mlirad.targets.ascend.hivm.transfers import PointerCastOp
from mlirad.targets.ascend.simulator import control_code, instruction_code, memref_code, scalar_code
from mlirad.targets.ascend.simulator.device_core import DeviceCore, DeviceKernel
from mlirad.targets.ascend.simulator.device_memory import ByteMemory, DeviceBuffer, row_major
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault, placing
from mlirad.targets.ascend.simulator.frame_slots import FunctionCode, Slots, Translators
from mlirad.targets.ascend.simulator.legal_order import run_in_random_order
from mlirad.targets.ascend.simulator.pipe_clock import Span
from mlirad.targets.ascend.simulator.recording_core import RecordingCore
from mlirad.targets.ascend.simulator.run_report import Launch, RunReport, open_recording
from mlirad.targets.ascend.soc import Soc, for_soc
from mlirad.xdsl_support.parser import PlacedParser

_HOST: Translators = {
    **scalar_code.TRANSLATORS,
    **control_code.TRANSLATORS,
    **memref_code.TRANSLATORS,
}
_DEVICE: Translators = {**_HOST, **instruction_code.TRANSLATORS}


MOST_BLOCKS = 65535
"""Of one launch."""


def parse(text: str, name: str = "the module") -> ModuleOp:
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith, scf.Scf, memref.MemRef, math.Math, HIVM, HACC, ANNOTATION):
        context.load_dialect(dialect)
    return PlacedParser(context, text, name).parse_module()


class SimulatedProgram:
    """A loaded module. Every call has its own state, so that threads may call it.

    flags_count: see `PipeOrder`.
    """

    def __init__(self, text: str | ModuleOp, soc: Soc | None = None, flags_count: bool = False):
        self.soc = for_soc("Ascend910B1") if soc is None else soc
        try:
            self.module = parse(text) if isinstance(text, str) else text
            self.module.verify()
        except KeyError as missing:
            raise VerifyException(f"an op has no property {missing}") from None
        except (MemoryError, OverflowError) as error:
            raise VerifyException(f"a number or a type in the text is too large: {error!r}") from None
        self.flags_count = flags_count
        self.functions: dict[str, FunctionCode] = {}
        self.kernels: dict[str, DeviceKernel] = {}
        self.constants: dict[str, memref.GlobalOp] = {}
        for op in self.module.ops:
            if isinstance(op, memref.GlobalOp):
                self.constants[op.sym_name.data] = op
            elif isinstance(op, func.FuncOp) and op.body.blocks:
                self.add(op)
        for code in self.functions.values():
            check_calls(code.op, self.functions)

    def add(self, op: func.FuncOp) -> None:
        is_kernel = kind_of(op) is FunctionKind.DEVICE
        slots = Slots(_DEVICE if is_kernel else _HOST)
        code = FunctionCode(op, slots.block(op.body.block), slots.template)
        self.functions[code.name] = code
        if is_kernel:
            self.kernels[code.name] = kernel_of(op)

    def __repr__(self) -> str:
        return f"<simulator of {self.soc.name}: {', '.join(self.functions)}>"

    def result_count(self, name: str) -> int:
        return len(self.functions[name].body.results)

    def run(
        self,
        name: str,
        values: Sequence[Any],
        *,
        seed: int | None = None,
        report: RunReport | None = None,
        blocks: int | None = None,
    ) -> tuple[Any, ...]:
        """Call a function on arrays and numbers; all of its results. Arrays that it writes are written in place.

        seed: execute the kernels in random legal orders, without checks. report: is filled in; by default the current
        recording. blocks: for a kernel that is called directly. Raises CheckFailed if a check of the program fails, and
        SimulatorFault for illegal programs.
        """
        if name not in self.functions:
            raise SimulatorFault(Fault.LAUNCH, f"there is no function {name!r}; there are {', '.join(self.functions)}")
        code = self.functions[name]
        host = Host(self, seed, report or open_recording() or RunReport())
        taken = code.op.function_type.inputs.data
        if len(values) != len(taken):
            raise SimulatorFault(Fault.LAUNCH, f"{name!r} takes {len(taken)} arguments, and gets {len(values)}")
        given = host.enter(values, taken)
        try:
            with np.errstate(all="ignore"):
                results = host.call(name, given, blocks, code.op)
        finally:  # writes from before a failed check remain
            host.leave()
        types = code.op.function_type.outputs
        return tuple(left(value, type) for value, type in zip(results, types, strict=True))


def check_calls(op: func.FuncOp, functions: Mapping[str, FunctionCode]) -> None:
    """Refuse calls whose arguments or results do not match the called function."""
    for call in op.walk():
        if isinstance(call, func.CallOp) and (called := functions.get(call.callee.string_value())) is not None:
            types = called.op.function_type
            if types.inputs.data != tuple(call.operand_types) or types.outputs.data != tuple(call.result_types):
                raise VerifyException(f"a call of {called.name!r} has other types than the function: {types}")


def kind_of(op: func.FuncOp) -> FunctionKind:
    kind = op.attributes.get("hacc.function_kind")
    return kind.data if isinstance(kind, FunctionKindAttr) else FunctionKind.HOST


def kernel_of(op: func.FuncOp) -> DeviceKernel:
    core = op.attributes.get("hivm.func_core_type")
    inner = list(op.walk())
    written = {root(each.output()) for each in inner if isinstance(each, Instruction)}
    arguments = op.body.block.args
    if any(value is not None and not isinstance(value, BlockArgument) for value in written - {None}):
        written = set(arguments)
    return DeviceKernel(
        op.sym_name.data,
        core.data if isinstance(core, CoreTypeAttr) else CoreType.VECTOR,
        any(isinstance(each, PointerCastOp) for each in inner),
        frozenset(
            number for number, each in enumerate(arguments) if each in written and isinstance(each.type, MemRefType)
        ),
    )


_VIEWS = (
    *(memref.SubviewOp, memref.CastOp, memref.ReinterpretCastOp, memref.CollapseShapeOp, memref.ExpandShapeOp),
    memref.ExtractStridedMetaDataOp,
)
_OWN = (PointerCastOp, memref.AllocOp, memref.AllocaOp)


def root(value: SSAValue) -> SSAValue | None:
    """The buffer that this is a view of; None if it is a core's own buffer."""
    owner = value.owner
    if isinstance(owner, _VIEWS):
        return root(owner.operands[0])
    return None if isinstance(owner, _OWN) else value


def left(value: Any, type: Attribute) -> Any:
    """A result in the form that a caller receives."""
    if isinstance(value, DeviceBuffer):
        value.check_initialised()
        return value.read()
    return element_dtype(type).type(value)


class Host:
    """The host of one call: global memory, and launches."""

    def __init__(self, program: SimulatedProgram, seed: int | None, report: RunReport):
        self.program = program
        self.seed = seed
        self.report = report
        self.name = ""
        self.arguments: list[tuple[np.ndarray, DeviceBuffer]] = []
        self.written_back: list[tuple[np.ndarray, DeviceBuffer]] = []
        self.constants: dict[str, DeviceBuffer] = {}
        self.launches = 0

    def enter(self, values: Sequence[Any], types: Sequence[Attribute]) -> list[Any]:
        """The arguments. An array is used in place if it is contiguous, and otherwise copied and copied back."""
        entered: list[Any] = []
        arrays: dict[int, np.ndarray] = {}
        for number, (value, type) in enumerate(zip(values, types, strict=True)):
            dtype = element_dtype(type)
            if not isinstance(type, MemRefType):
                entered.append(number_of(value, dtype, number))
                continue
            array = entered_array(value, type, dtype, number)
            entered.append(array)
            used = arrays[number] = np.ascontiguousarray(array).reshape(array.shape)
            if is_copied(used, array):
                used.flags.writeable = array.flags.writeable
        memories = memories_of(arrays)
        for number, used in arrays.items():
            array, type = entered[number], types[number]
            memory, low = memories[number]
            view = DeviceBuffer(memory, low, used.shape, row_major(used.shape), element_name(type), used.dtype)
            if is_copied(used, array):
                self.written_back.append((array, view))
            entered[number] = view
        self.arguments = [(each, entered[number]) for number, each in enumerate(values) if number in arrays]
        return entered

    def leave(self) -> None:
        """Copy the copied arrays back. In the meantime, other code accessed the original arrays."""
        for array, view in self.written_back:
            for other, theirs in self.arguments:
                is_written = view.memory.is_written or theirs.memory.is_written
                if theirs is not view and is_written and np.shares_memory(array, other):
                    both = f"{view.memory.name} and {theirs.memory.name} share memory, are strided, and one is written"
                    raise SimulatorFault(Fault.LAUNCH, f"{both}; pass contiguous arrays")
        for array, view in self.written_back:
            if view.memory.is_written:
                array[...] = view.array()

    def placed(self, kind: Fault, message: str, op: Operation) -> SimulatorFault:
        return SimulatorFault(kind, message, self.name, None, op)

    def call(self, name: str, values: list[Any], blocks: int | None, op: Operation) -> tuple[Any, ...]:
        if name not in self.program.functions:
            raise self.placed(Fault.LAUNCH, f"there is no function {name!r}", op)
        code = self.program.functions[name]
        if name in self.program.kernels:
            count = control_code.block_count(code.op) if blocks is None else blocks
            count = 1 if count is None else count
            if not 1 <= count <= MOST_BLOCKS:
                raise self.placed(
                    Fault.LAUNCH, f"{name!r} is launched on {count} blocks; 1 to {MOST_BLOCKS} are possible", op
                )
            self.launch(code, self.program.kernels[name], values, count)
            return ()
        before, self.name = self.name, name
        results = code.run(self, values)
        self.name = before
        return results

    def launch(self, code: FunctionCode, kernel: DeviceKernel, values: list[Any], blocks: int) -> None:
        self.launches += 1
        if self.seed is not None and kernel.is_physical:
            recorded = self.record(code, kernel, values, blocks)
            seed = self.seed * 7919 + self.launches
            run_in_random_order(recorded.traces, recorded.memories_of_blocks, seed, self.program.flags_count)
            return
        core = DeviceCore(self.program.soc, kernel, blocks, values, self.program.flags_count)
        busy = [0.0] * core.core_count()
        recorded = self.report.spans is not None and kernel.name not in self.report.spans
        timelines: list[list[Span]] = []
        for block in range(blocks):
            spans: list[Span] | None = [] if recorded else None
            core.begin(block, spans)
            with placing(kernel.name, block, code.op):
                code.run(core, values)
            busy[block % len(busy)] += core.end()
            if spans is not None:
                timelines.append(spans)
        core.end_launch()
        if recorded and self.report.spans is not None:
            self.report.spans[kernel.name] = timelines
        self.report.launches.append(Launch(kernel.name, blocks, max(busy)))

    def record(self, code: FunctionCode, kernel: DeviceKernel, values: list[Any], blocks: int) -> RecordingCore:
        """Record what the blocks of a launch issue, without executing anything."""
        core = RecordingCore(self.program.soc, kernel, blocks, values)
        for block in range(blocks):
            core.begin(block, None)
            with placing(kernel.name, block, code.op):
                code.run(core, values)
            core.end()
        return core

    def allocate(
        self, op: Operation, shape: tuple[int, ...], element: str, dtype: np.dtype[Any], space: AddressSpace | None
    ) -> DeviceBuffer:
        if space not in (None, AddressSpace.GM):
            raise self.placed(Fault.SPACE, f"the host cannot allocate a core's {space}", op)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return DeviceBuffer(
            ByteMemory.empty("a global buffer", AddressSpace.GM, size), 0, shape, row_major(shape), element, dtype
        )

    def constant_array(self, name: str) -> DeviceBuffer:
        if name not in self.constants:
            op = self.program.constants[name]
            type, value = op.type, op.initial_value
            assert isinstance(type, MemRefType) and isinstance(value, DenseIntOrFPElementsAttr)
            dtype, shape = element_dtype(type), type.get_shape()
            numbers = np.asarray(value.get_values(), dtype)
            data = np.ascontiguousarray(np.broadcast_to(numbers, shape) if value.is_splat() else numbers.reshape(shape))
            memory = ByteMemory(f"constant {name!r}", AddressSpace.GM, data.reshape(-1).view(np.uint8), True)
            memory.data.flags.writeable = False
            self.constants[name] = DeviceBuffer(memory, 0, shape, row_major(shape), element_name(type), dtype)
        return self.constants[name]

    def read_element(self, view: DeviceBuffer, op: Operation) -> Any:
        with placing(self.name, None, op):
            view.check_initialised()
        return view.read()[()]

    def write_element(self, view: DeviceBuffer, value: np.ndarray, op: Operation) -> None:
        with placing(self.name, None, op):
            view.write(value)
            view.mark()

    def copy(self, source: DeviceBuffer, target: DeviceBuffer, op: Operation) -> None:
        try:
            source.check_initialised()
            target.write(source.read())
            target.mark()
        except (SimulatorFault, ValueError) as error:
            kind = error.kind if isinstance(error, SimulatorFault) else Fault.BOUNDS
            raise self.placed(kind, str(error.args[0]), op) from None


def fits(shape: tuple[int, ...], expected: Sequence[int]) -> bool:
    if len(shape) != len(expected):
        return False
    return all(each in (size, DYNAMIC_INDEX) for size, each in zip(shape, expected, strict=True))


def number_of(value: Any, dtype: np.dtype[Any], number: int) -> Any:
    """A scalar argument."""
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "biuf":
        raise SimulatorFault(Fault.LAUNCH, f"argument {number} is {value!r}, and the function takes a number")
    return int(value) if dtype.kind in "ib" else dtype.type(value)


def entered_array(value: Any, type: MemRefType, dtype: np.dtype[Any], number: int) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype != dtype or not fits(array.shape, type.get_shape()):
        given = f"an array of {array.dtype} with shape {array.shape}"
        raise SimulatorFault(Fault.LAUNCH, f"argument {number} is {given}, and the function takes {type}")
    return array


def is_copied(used: np.ndarray, array: np.ndarray) -> bool:
    return not np.may_share_memory(used, array) or not array.flags.c_contiguous


def memories_of(arrays: Mapping[int, np.ndarray]) -> dict[int, tuple[ByteMemory, int]]:
    """The memory of each contiguous array, and its first byte there. Arrays that share bytes share a memory."""
    groups: list[list[int]] = []
    behind = 0
    for number in sorted(arrays, key=lambda each: (arrays[each].ctypes.data, not arrays[each].flags.writeable)):
        begin = arrays[number].ctypes.data
        if not groups or begin >= behind:
            groups.append([])
        groups[-1].append(number)
        behind = max(behind, begin + arrays[number].nbytes)
    found: dict[int, tuple[ByteMemory, int]] = {}
    for group in groups:
        first = arrays[group[0]]
        begin = first.ctypes.data
        size = max(arrays[each].ctypes.data + arrays[each].nbytes for each in group) - begin
        bytes = np.lib.stride_tricks.as_strided(first.reshape(-1).view(np.uint8), (size,), (1,))
        name = " and ".join(f"argument {each}" for each in sorted(group))
        memory = ByteMemory(name, AddressSpace.GM, bytes, True)
        found |= {each: (memory, arrays[each].ctypes.data - begin) for each in group}
    return found
