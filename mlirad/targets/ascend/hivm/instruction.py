"""What every instruction of a core answers: its pipe, the buffers that it reads and writes, and what it computes.

Reads: nothing. Writes: the base of the ops of `hivm`. Leaves: nothing. The element types that an op accepts are those
that both `bishengir-opt` and the 910B's instructions accept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, OptOperand
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, AddressSpaceAttr, Pipe

FLOATS = frozenset({"f16", "f32"})
ARITHMETIC = FLOATS | {"i16", "i32"}
MOVED = ARITHMETIC | {"bf16", "i8", "i64"}

Shape = Callable[[SSAValue], tuple[int, ...]]
"""The shape of a buffer, with DYNAMIC_INDEX for what is known at run time only."""
Room = Callable[[SSAValue], int]
"""The elements of the allocated buffer that a buffer is in."""
BLOCK_BITS = 256
"""What the vector unit reads or writes at one place: 32 bytes."""

_TEMP_BUFFER = 2
"""Its number among the operands: after `src` and `dst`."""

_DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(np.uint16),  # its bits: NumPy has no bfloat16
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
}
_FLOAT_NAMES: dict[type[Attribute], str] = {
    Float16Type: "f16",
    Float32Type: "f32",
    Float64Type: "f64",
    BFloat16Type: "bf16",
    IndexType: "index",
}


def element_name(type: Attribute) -> str:
    """`f32` for f32 and for buffers of f32."""
    element = type.element_type if isinstance(type, MemRefType | TensorType) else type
    if isinstance(element, IntegerType):
        return f"i{element.width.data}"
    return _FLOAT_NAMES.get(element.__class__, str(element))


def element_bits(type: Attribute) -> int:
    """Of an element in the unified buffer, where a boolean is a bit."""
    return 1 if element_name(type) == "i1" else 8 * element_dtype(type).itemsize


def per_block(type: Attribute) -> int:
    """How many elements 32 bytes hold."""
    return BLOCK_BITS // element_bits(type)


def element_dtype(type: Attribute) -> np.dtype[Any]:
    """NumPy's dtype of the elements; the bits of bf16 are uint16."""
    name = element_name(type)
    if name not in _DTYPES:
        raise VerifyException(f"elements of type {name} are not supported")
    return _DTYPES[name]


def space_of(type: Attribute) -> AddressSpace | None:
    """The address space of a buffer; None for host memory, for virtual buffers without one, and for scalars."""
    if isinstance(type, MemRefType) and isinstance(type.memory_space, AddressSpaceAttr):
        return type.memory_space.data
    return None


def is_scalar(type: Attribute) -> bool:
    return not isinstance(type, MemRefType | TensorType)


def same_size(first: int, second: int) -> bool:
    """Whether two sizes may be equal: what is known at run time only is compared there."""
    return first == second or DYNAMIC_INDEX in (first, second)


def same_shape(first: Attribute, second: Attribute) -> bool:
    assert isinstance(first, MemRefType | TensorType) and isinstance(second, MemRefType | TensorType)
    shapes = first.get_shape(), second.get_shape()
    return len(shapes[0]) == len(shapes[1]) and all(map(same_size, *shapes))


def integers(attribute: Attribute | None) -> tuple[int, ...]:
    """The numbers of an `array<i64: ...>`; none if it is missing."""
    return tuple(attribute.get_values()) if isinstance(attribute, DenseArrayBase) else ()


def i64_array(values: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, values)


class Instruction(IRDLOperation):
    """An op that a pipe executes: it reads buffers and scalars, and writes one buffer."""

    @abstractmethod
    def pipe(self) -> Pipe:
        """The queue that it waits in."""

    @abstractmethod
    def inputs(self) -> tuple[SSAValue, ...]:
        """The buffers and scalars that `compute` gets, in order."""

    @abstractmethod
    def output(self) -> SSAValue:
        """The buffer that it writes."""

    @abstractmethod
    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        """What the output holds afterwards, rounded as the instruction rounds. shape: the output's."""

    def scratch(self) -> tuple[SSAValue, ...]:
        """Buffers that it overwrites with values that nothing may read."""
        return ()

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        """How many elements of the output's type it needs as scratch: as many as Huawei's compiler gives it.

        Buffers lie as this target lays them out: their rows begin at aligned addresses.
        """
        return 0

    def give_scratch(self, buffer: SSAValue) -> None:
        """Let an instruction that has none use a buffer as scratch."""
        raise AssertionError(f"{self.name} needs no scratch")

    def reads_output(self, inputs: Sequence[Any]) -> bool:
        """Whether what the output held before is read, too; `compute` then gets it as its last input."""
        return False

    def is_pointwise(self) -> bool:
        """Whether all of its buffers have the output's shape; sizes known only at run time are compared there."""
        return False

    def row_buffers(self) -> tuple[SSAValue, ...]:
        """Those whose rows, too, have to begin at aligned addresses."""
        return ()

    def is_atomic(self) -> bool:
        """Whether other cores may do the same to the same memory."""
        return False

    def passes(self) -> float:
        """Modelled passes over the data of the vector unit; ours, not measured."""
        return 1.0

    def check_elements(self, values: Sequence[SSAValue], accepted: Collection[str]) -> None:
        for value in values:
            if (name := element_name(value.type)) not in accepted:
                listed = ", ".join(sorted(accepted))
                raise VerifyException(f"{self.name} does not take elements of type {name}; it takes {listed}")

    def check_spaces(self, values: Sequence[SSAValue], *accepted: AddressSpace) -> None:
        for value in values:
            space = space_of(value.type)
            if not is_scalar(value.type) and space is not None and space not in accepted:
                listed = " or ".join(accepted)
                raise VerifyException(f"{self.name} has an operand in {space}, where {listed} is required")

    def check_same(self, first: SSAValue, second: SSAValue) -> None:
        """Refuse buffers of different shapes or elements."""
        if not same_shape(first.type, second.type):
            raise VerifyException(f"{self.name}: shapes differ: {first.type} and {second.type}")
        if element_name(first.type) != element_name(second.type):
            raise VerifyException(f"{self.name}: element types differ: {first.type} and {second.type}")


class OneInput(Instruction):
    """Its first operand is what it reads, its second one what it writes."""

    def inputs(self) -> tuple[SSAValue, ...]:
        return (self.operands[0],)

    def output(self) -> SSAValue:
        return self.operands[1]


class VectorInstruction(Instruction):
    """An op of the vector unit: its buffers are in the unified buffer."""

    ACCEPTED: ClassVar[frozenset[str]] = ARITHMETIC

    def pipe(self) -> Pipe:
        return Pipe.V

    def verify_(self) -> None:
        buffers = (*self.inputs(), self.output(), *self.scratch())
        self.check_spaces(buffers, AddressSpace.UB)
        self.verify_types()

    @abstractmethod
    def verify_types(self) -> None:
        """Raise VerifyException for operands of types that the instruction does not have."""


class WithTempBuffer(VectorInstruction):
    """It may have a buffer for intermediate values, `temp_buffer`, behind all other operands."""

    if TYPE_CHECKING:  # each op defines it
        temp_buffer: OptOperand

    def scratch(self) -> tuple[SSAValue, ...]:
        return () if self.temp_buffer is None else (self.temp_buffer,)

    def give_scratch(self, buffer: SSAValue) -> None:
        assert self.temp_buffer is None
        self.operands = [*self.operands, buffer]
        segments = self.properties.get("operandSegmentSizes")
        if isinstance(segments, DenseArrayBase):
            sizes = [*segments.get_values()]
            sizes[_TEMP_BUFFER] = 1
            self.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
