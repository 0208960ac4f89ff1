"""The common base of all instructions of a core: their pipe, the buffers that they access, and their computation.

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
"""The shape of a buffer, with DYNAMIC_INDEX for sizes known only at run time."""
Room = Callable[[SSAValue], int]
"""The number of elements of the allocation that contains a buffer."""
BLOCK_BITS = 256
"""The unit in which the vector unit accesses memory: 32 bytes."""

_TEMP_BUFFER = 2
"""Its index among the operands: after `src` and `dst`."""

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
    """The bits of an element in the unified buffer; a boolean is one bit."""
    return 1 if element_name(type) == "i1" else 8 * element_dtype(type).itemsize


def per_block(type: Attribute) -> int:
    """The number of elements in 32 bytes."""
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
    """Whether two sizes may be equal: sizes known only at run time are compared then."""
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
    """An op that is executed by a pipe: it reads buffers and scalars, and writes one buffer."""

    @abstractmethod
    def pipe(self) -> Pipe:
        """The queue to which it belongs."""

    @abstractmethod
    def inputs(self) -> tuple[SSAValue, ...]:
        """The buffers and scalars that `compute` receives, in order."""

    @abstractmethod
    def output(self) -> SSAValue:
        """The buffer that it writes."""

    @abstractmethod
    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        """The new contents of the output, rounded as the instruction rounds. shape: of the output."""

    def scratch(self) -> tuple[SSAValue, ...]:
        """Buffers that it overwrites with values that nothing may read."""
        return ()

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        """The number of scratch elements of the output's type that it needs: as many as Huawei's compiler provides.

        Buffers have the layout of this target: their rows begin at aligned addresses.
        """
        return 0

    def give_scratch(self, buffer: SSAValue) -> None:
        """Give an instruction without scratch this buffer as scratch."""
        raise AssertionError(f"{self.name} needs no scratch")

    def reads_output(self, inputs: Sequence[Any]) -> bool:
        """Whether it also reads the old contents of the output; `compute` then receives them as its last input."""
        return False

    def is_pointwise(self) -> bool:
        """Whether all of its buffers have the output's shape; sizes known only at run time are compared then."""
        return False

    def row_buffers(self) -> tuple[SSAValue, ...]:
        """The buffers whose rows must also begin at aligned addresses."""
        return ()

    def is_atomic(self) -> bool:
        """Whether other cores may do the same to the same memory at the same time."""
        return False

    def passes(self) -> float:
        """The modelled number of the vector unit's passes over the data; ours, not measured."""
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
    """It reads its first operand and writes its second."""

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
        """Raise VerifyException for operand types that the instruction does not support."""


class WithTempBuffer(VectorInstruction):
    """It may have a buffer for intermediate values, `temp_buffer`, after all other operands."""

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
