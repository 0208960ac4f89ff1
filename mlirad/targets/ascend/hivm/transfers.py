"""Instructions that move data, and the op that gives a buffer its address.

Reads: global memory, or the unified buffer. Writes: the other one, or the unified buffer. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IndexType, MemRefType, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.hivm_attributes import (
    AddressSpace,
    AtomicKind,
    AtomicKindAttr,
    PadMode,
    PadModeAttr,
    Pipe,
)
from mlirad.targets.ascend.hivm.instruction import (
    ARITHMETIC,
    MOVED,
    OneInput,
    element_name,
    is_scalar,
    same_shape,
    space_of,
)


@irdl_op_definition
class PointerCastOp(IRDLOperation):
    """A buffer at given addresses of its memory space. Several addresses are used in turn, one for each execution."""

    name = "hivm.hir.pointer_cast"

    addrs = var_operand_def(i64)
    dynamic_sizes = var_operand_def(IndexType)
    result = result_def(MemRefType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, addresses: Sequence[SSAValue], type: MemRefType, sizes: Sequence[SSAValue] = ()):
        super().__init__(operands=[addresses, sizes], result_types=[type])

    def verify_(self) -> None:
        if not self.addrs:
            raise VerifyException(f"{self.name} needs an address")
        if space_of(self.result.type) in (None, AddressSpace.GM):
            raise VerifyException(f"{self.name} gives a buffer of a core's own memory, not {self.result.type}")


class Transfer(OneInput):
    """`src` and `dst` are its first operands."""

    def is_pointwise(self) -> bool:
        return True

    def check_path(self, source: AddressSpace, *targets: AddressSpace) -> None:
        """Refuse a transfer for which the 910B has no path. Virtual buffers need not have a space."""
        value, output = self.inputs()[0], self.output()
        spaces = space_of(value.type), space_of(output.type)
        if spaces[0] not in (source, None) or spaces[1] not in (*targets, None):
            named = [str(each or "no space") for each in spaces]
            wanted = " or ".join(targets)
            path = f"{self.name} goes from {source} to {wanted}"
            raise VerifyException(f"there is no data path from {named[0]} to {named[1]}: {path}")
        self.check_elements((value, output), MOVED)
        if element_name(value.type) != element_name(output.type):
            raise VerifyException(f"{self.name}: element types differ: {value.type} and {output.type}")

    def check_shapes(self) -> None:
        if not same_shape(self.operands[0].type, self.operands[1].type):
            raise VerifyException(f"{self.name}: shapes differ: {self.operands[0].type} and {self.operands[1].type}")

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        return inputs[0]


@irdl_op_definition
class LoadOp(Transfer):
    """From global memory. With a padding mode the last axis of `dst` is longer: left and right of the data it is filled
    with `pad_value`, or with the first element."""

    name = "hivm.hir.load"

    src = operand_def(MemRefType)
    dst = operand_def(MemRefType)
    pad_value = opt_operand_def()
    left_padding_num = opt_operand_def(IndexType)
    right_padding_num = opt_operand_def()
    init_condition = opt_operand_def()
    pad_mode = opt_prop_def(PadModeAttr)
    init_out_buffer = opt_prop_def(BoolAttr)
    result = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        src: SSAValue,
        dst: SSAValue,
        pad_mode: PadMode | None = None,
        pad_value: SSAValue | None = None,
        left_padding: SSAValue | None = None,
        right_padding: SSAValue | None = None,
    ):
        properties = {} if pad_mode is None else {"pad_mode": PadModeAttr(pad_mode)}
        super().__init__(
            operands=[src, dst, pad_value, left_padding, right_padding, None],
            result_types=[[]],
            properties=properties,
        )

    def pipe(self) -> Pipe:
        return Pipe.MTE2

    def inputs(self) -> tuple[SSAValue, ...]:
        padding = (self.pad_value, self.left_padding_num, self.right_padding_num)
        return (self.src, *(each for each in padding if each is not None))

    def verify_(self) -> None:
        self.check_path(AddressSpace.GM, AddressSpace.UB, AddressSpace.L1)
        if self.init_condition is not None or (self.init_out_buffer is not None and self.init_out_buffer.value.data):
            raise VerifyException(f"{self.name}: init_out_buffer and init_condition are not in the subset; use vbrc")
        if self.padding() is PadMode.NULL:
            if self.pad_value is not None or self.left_padding_num is not None or self.right_padding_num is not None:
                raise VerifyException(f"{self.name} has padding, but no padding mode")
            self.check_shapes()
        elif (self.padding() is PadMode.VALUE) != (self.pad_value is not None):
            raise VerifyException(f"{self.name}: a padding value goes with the mode PadValue")
        elif self.pad_value is not None and element_name(self.pad_value.type) != element_name(self.dst.type):
            raise VerifyException(f"{self.name}: a padding value {self.pad_value.type} for {self.dst.type}")

    def is_pointwise(self) -> bool:
        return self.padding() is PadMode.NULL

    def padding(self) -> PadMode:
        return PadMode.NULL if self.pad_mode is None else self.pad_mode.data

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        x, *rest = inputs
        if self.padding() is PadMode.NULL:
            return x
        value = rest.pop(0) if self.pad_value is not None else None
        left = int(rest.pop(0)) if self.left_padding_num is not None else 0
        right = int(rest.pop(0)) if self.right_padding_num is not None else shape[-1] - left - x.shape[-1]
        if (*x.shape[:-1], left + x.shape[-1] + right) != tuple(shape):
            raise ValueError(f"{x.shape} with {left} and {right} elements of padding is not {tuple(shape)}")
        padded = np.empty(shape, x.dtype)
        padded[...] = x[..., :1] if value is None else value
        padded[..., left : left + x.shape[-1]] = x
        return padded


@irdl_op_definition
class StoreOp(Transfer):
    """To global memory; with `atomic_kind`, the data is added to the old contents (or the maximum or minimum is
    stored)."""

    name = "hivm.hir.store"

    src = operand_def(MemRefType | TensorType)
    dst = operand_def(MemRefType)
    atomic_kind = opt_prop_def(AtomicKindAttr)
    result = var_result_def()

    def __init__(self, src: SSAValue, dst: SSAValue, atomic: AtomicKind | None = None):
        properties = {} if atomic is None else {"atomic_kind": AtomicKindAttr(atomic)}
        super().__init__(operands=[src, dst], result_types=[[]], properties=properties)

    def pipe(self) -> Pipe:
        return Pipe.MTE3

    def atomic(self) -> AtomicKind:
        return AtomicKind.NONE if self.atomic_kind is None else self.atomic_kind.data

    def is_atomic(self) -> bool:
        return self.atomic() is not AtomicKind.NONE

    def reads_output(self, inputs: Sequence[Any]) -> bool:
        return self.is_atomic()

    def verify_(self) -> None:
        self.check_path(AddressSpace.UB, AddressSpace.GM)
        self.check_shapes()
        if self.is_atomic():
            self.check_elements((self.src,), ARITHMETIC)

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        match self.atomic():
            case AtomicKind.NONE:
                return inputs[0]
            case AtomicKind.ADD:
                return np.add(inputs[1], inputs[0])
            case AtomicKind.MAX:
                return np.maximum(inputs[1], inputs[0])
            case AtomicKind.MIN:
                return np.minimum(inputs[1], inputs[0])


@irdl_op_definition
class CopyOp(Transfer):
    """Within the unified buffer, by the vector unit."""

    name = "hivm.hir.copy"

    src = operand_def(MemRefType)
    dst = operand_def(MemRefType)
    pad_mode = opt_prop_def(PadModeAttr)
    pad_value = opt_operand_def()
    collapse_reassociation = opt_prop_def(ArrayAttr)
    result = var_result_def()

    def __init__(self, src: SSAValue, dst: SSAValue):
        super().__init__(operands=[src, dst, None], result_types=[[]])

    def pipe(self) -> Pipe:
        return Pipe.V

    def verify_(self) -> None:
        self.check_path(AddressSpace.UB, AddressSpace.UB)
        self.check_shapes()
        if self.pad_mode is not None or self.pad_value is not None or self.collapse_reassociation is not None:
            raise VerifyException(f"{self.name}: padding and collapsed axes are not in the subset")
        if is_scalar(self.src.type):
            raise VerifyException(f"{self.name} takes buffers")
