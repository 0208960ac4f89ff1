"""Vector instructions that compute each element from the elements at the same index.

Reads: buffers of the unified buffer, and scalars. Writes: a buffer of the unified buffer. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, MemRefType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.conversions import CASTS, convert
from mlirad.targets.ascend.hivm.hivm_attributes import (
    CastKind,
    CastKindAttr,
    RoundMode,
    RoundModeAttr,
)
from mlirad.targets.ascend.hivm.instruction import (
    FLOATS,
    Room,
    Shape,
    VectorInstruction,
    WithTempBuffer,
    element_name,
    i64_array,
    integers,
    is_scalar,
    per_block,
    same_shape,
)

Function = Callable[..., Any]
BITS = frozenset({"i1", "i8", "i16", "i32"})


class ElementwiseInstruction(VectorInstruction):
    """`src` are the inputs, `dst` is the only output, which may also be an input.

    The inputs in SCALARS may be scalars, but at least one is a buffer.
    """

    SCALARS: ClassVar[frozenset[int]] = frozenset()
    ARITY: ClassVar[int] = 1

    src = var_operand_def()
    dst = var_operand_def(MemRefType)
    transpose = prop_def(DenseArrayBase)
    broadcast = prop_def(DenseArrayBase)
    result = var_result_def()

    def inputs(self) -> tuple[SSAValue, ...]:
        return tuple(self.src)

    def output(self) -> SSAValue:
        return self.dst[0]

    def is_pointwise(self) -> bool:
        return True

    def verify_types(self) -> None:
        results = [each.type for each in self.dst if isinstance(each.type, TensorType)]
        if len(self.src) != self.ARITY or len(self.dst) != 1 or [each.type for each in self.results] != results:
            raise VerifyException(f"{self.name} takes {self.ARITY} inputs and one output buffer, and has no result")
        if integers(self.transpose) or integers(self.broadcast):
            raise VerifyException(f"{self.name}: transpose and broadcast on the fly are not in the subset")
        for number, each in enumerate(self.src):
            if is_scalar(each.type) and number not in self.SCALARS:
                raise VerifyException(f"{self.name}: input {number} has to be a buffer, not {each.type}")
        if all(is_scalar(each.type) for each in self.src):
            raise VerifyException(f"{self.name}: one of the inputs has to be a buffer")
        self.verify_elements()

    def verify_elements(self) -> None:
        self.check_elements((*self.src, *self.dst), self.ACCEPTED)
        for each in self.src:
            self.check_like(each, self.dst[0])

    def check_like(self, value: SSAValue, buffer: SSAValue) -> None:
        """Refuse a value whose shape or elements are not those of a buffer; a scalar has no shape."""
        if not is_scalar(value.type):
            self.check_same(value, buffer)
        elif element_name(value.type) != element_name(buffer.type):
            raise VerifyException(f"{self.name}: a scalar {value.type} with elements {element_name(buffer.type)}")

    @classmethod
    def plain(cls) -> dict[str, Attribute]:
        """The properties without a transpose or broadcast on the fly."""
        return {"transpose": i64_array(()), "broadcast": i64_array(())}


class WithScratch(WithTempBuffer, ElementwiseInstruction):
    src = var_operand_def()  # repeated: xDSL counts the operands of a subclass first
    dst = var_operand_def(MemRefType)
    temp_buffer = opt_operand_def(MemRefType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, src: Sequence[SSAValue], dst: SSAValue, temp_buffer: SSAValue | None = None):
        super().__init__(operands=[src, [dst], temp_buffer], result_types=[[]], properties=self.plain())


class OfElements(WithScratch):
    """FUNCTION: computes the output from the inputs."""

    FUNCTION: ClassVar[Function]

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return type(self).FUNCTION(*inputs)


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype)


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, x.dtype.type(0))


class Unary(OfElements):
    ACCEPTED: ClassVar[frozenset[str]] = FLOATS


class Transcendental(Unary):
    def passes(self) -> float:
        return 4.0


@irdl_op_definition
class VExpOp(Transcendental):
    name = "hivm.hir.vexp"

    FUNCTION: ClassVar[Function] = np.exp


@irdl_op_definition
class VLnOp(Transcendental):
    name = "hivm.hir.vln"

    FUNCTION: ClassVar[Function] = np.log


@irdl_op_definition
class VSqrtOp(Transcendental):
    name = "hivm.hir.vsqrt"

    FUNCTION: ClassVar[Function] = np.sqrt


@irdl_op_definition
class VRsqrtOp(Transcendental):
    """1/sqrt(x), rounded once. The hardware's is an approximation."""

    name = "hivm.hir.vrsqrt"

    FUNCTION: ClassVar[Function] = _rsqrt


@irdl_op_definition
class VRecOp(Transcendental):
    """1/x, rounded once. The hardware's is an approximation."""

    name = "hivm.hir.vrec"

    FUNCTION: ClassVar[Function] = np.reciprocal


@irdl_op_definition
class VAbsOp(Unary):
    name = "hivm.hir.vabs"

    FUNCTION: ClassVar[Function] = np.abs


@irdl_op_definition
class VReluOp(Unary):
    """max(x, 0); NaN stays NaN."""

    name = "hivm.hir.vrelu"
    ACCEPTED: ClassVar[frozenset[str]] = FLOATS | {"i32"}

    FUNCTION: ClassVar[Function] = _relu


@irdl_op_definition
class VNotOp(Unary):
    name = "hivm.hir.vnot"
    ACCEPTED: ClassVar[frozenset[str]] = BITS

    FUNCTION: ClassVar[Function] = np.invert


class Binary(OfElements):
    ARITY: ClassVar[int] = 2
    SCALARS: ClassVar[frozenset[int]] = frozenset({1})


class WithoutScalars(Binary):
    """The vector unit computes it only on buffers: a scalar is first copied to 32 bytes of scratch."""

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        return per_block(self.dst[0].type) if any(is_scalar(each.type) for each in self.src) else 0


@irdl_op_definition
class VAddOp(Binary):
    name = "hivm.hir.vadd"

    FUNCTION: ClassVar[Function] = np.add


@irdl_op_definition
class VSubOp(WithoutScalars):
    name = "hivm.hir.vsub"
    SCALARS: ClassVar[frozenset[int]] = frozenset({0, 1})

    FUNCTION: ClassVar[Function] = np.subtract


@irdl_op_definition
class VMulOp(Binary):
    name = "hivm.hir.vmul"

    FUNCTION: ClassVar[Function] = np.multiply


@irdl_op_definition
class VDivOp(WithoutScalars):
    name = "hivm.hir.vdiv"
    SCALARS: ClassVar[frozenset[int]] = frozenset({0, 1})
    ACCEPTED: ClassVar[frozenset[str]] = FLOATS

    FUNCTION: ClassVar[Function] = np.divide

    def passes(self) -> float:
        return 4.0


@irdl_op_definition
class VMaxOp(Binary):
    """The greater of two; NaN if one of them is NaN."""

    name = "hivm.hir.vmax"

    FUNCTION: ClassVar[Function] = np.maximum


@irdl_op_definition
class VMinOp(Binary):
    """The lesser of two; NaN if one of them is NaN."""

    name = "hivm.hir.vmin"

    FUNCTION: ClassVar[Function] = np.minimum


class Bitwise(Binary):
    ACCEPTED: ClassVar[frozenset[str]] = BITS
    SCALARS: ClassVar[frozenset[int]] = frozenset()


@irdl_op_definition
class VAndOp(Bitwise):
    name = "hivm.hir.vand"

    FUNCTION: ClassVar[Function] = np.bitwise_and


@irdl_op_definition
class VOrOp(Bitwise):
    name = "hivm.hir.vor"

    FUNCTION: ClassVar[Function] = np.bitwise_or


@irdl_op_definition
class VXorOp(Bitwise):
    name = "hivm.hir.vxor"

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        return room(self.src[0])

    FUNCTION: ClassVar[Function] = np.bitwise_xor


@irdl_op_definition
class VCastOp(WithScratch):
    """Converts elements, of a buffer or a tensor. `round_mode` selects the rounding of values that the result cannot
    represent."""

    name = "hivm.hir.vcast"

    src = var_operand_def()
    dst = var_operand_def(MemRefType | TensorType)
    temp_buffer = opt_operand_def(MemRefType)
    round_mode = prop_def(RoundModeAttr)
    cast = prop_def(CastKindAttr)

    def __init__(
        self, src: SSAValue, dst: SSAValue, mode: RoundMode = RoundMode.RINT, temp_buffer: SSAValue | None = None
    ):
        IRDLOperation.__init__(
            self,
            operands=[[src], [dst], temp_buffer],
            result_types=[[dst.type] if isinstance(dst.type, TensorType) else []],
            properties=self.plain() | {"round_mode": RoundModeAttr(mode), "cast": CastKindAttr(CastKind.SIGNED)},
        )

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        return 3 * per_block(self.dst[0].type) if element_name(self.src[0].type) == "i1" else 0

    def verify_elements(self) -> None:
        from_, to = element_name(self.src[0].type), element_name(self.dst[0].type)
        if (from_, to) not in CASTS:
            raise VerifyException(f"{self.name}: the vector unit does not convert {from_} to {to}")
        if (mode := self.round_mode.data) not in CASTS[from_, to]:
            listed = ", ".join(CASTS[from_, to])
            raise VerifyException(f"{self.name}: {from_} to {to} has no round mode {mode}; it has {listed}")
        if not same_shape(self.src[0].type, self.dst[0].type):
            raise VerifyException(f"{self.name}: shapes differ: {self.src[0].type} and {self.dst[0].type}")

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        from_, to = element_name(self.src[0].type), element_name(self.dst[0].type)
        return convert(inputs[0], from_, to, self.round_mode.data)
