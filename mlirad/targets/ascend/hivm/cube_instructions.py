"""Instructions of the cube core.

Reads: global memory and the cube core's buffers. Writes: its buffers, and global memory. Leaves: nothing.

`fractal_layouts.py` has the layouts of its buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType, TensorType, UnitAttr, i1, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.fractal_layouts import FRACTAL, NZ
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, FixpipeMode, FixpipeModeAttr, Pipe
from mlirad.targets.ascend.hivm.instruction import Instruction, element_dtype, element_name, same_size
from mlirad.targets.ascend.hivm.transfers import Transfer


def _check_nz(op: Instruction, value: SSAValue, inner: int) -> tuple[int, int]:
    """The numbers of rows and columns of a buffer in NZ layout; DYNAMIC_INDEX if known only at run time."""
    assert isinstance(value.type, MemRefType)
    shape = value.type.get_shape()
    if len(shape) != 4 or shape[2] != FRACTAL or shape[3] != inner:
        raise VerifyException(f"{op.name}: {value.type} is not in NZ layout (columns, rows, {FRACTAL}, {inner})")
    rows, columns = (
        shape[axis] * step if shape[axis] >= 0 else DYNAMIC_INDEX for axis, step in ((1, FRACTAL), (0, inner))
    )
    return rows, columns


def _exceeds(size: int, room: int) -> bool:
    """Whether a size is certainly too large; DYNAMIC_INDEX is compared at run time."""
    return DYNAMIC_INDEX not in (size, room) and size > room


def _inner(value: SSAValue) -> int:
    """The number of elements in 32 bytes."""
    return 32 // element_dtype(value.type).itemsize


@irdl_op_definition
class ND2NZOp(Transfer):
    """A matrix of global memory into L1, in NZ layout. Padding is zero."""

    name = "hivm.hir.nd2nz"

    src = operand_def(MemRefType)
    dst = operand_def(MemRefType)
    pad_value = opt_operand_def()
    init_condition = opt_operand_def()
    dst_continuous = opt_prop_def(UnitAttr)
    result = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, src: SSAValue, dst: SSAValue):
        super().__init__(operands=[src, dst, None, None], result_types=[[]], properties={"dst_continuous": UnitAttr()})

    def pipe(self) -> Pipe:
        return Pipe.MTE2

    def verify_(self) -> None:
        self.check_path(AddressSpace.GM, AddressSpace.L1)
        self.check_elements((self.src,), {"f16", "f32", "bf16", "i8"})
        rows, columns = _check_nz(self, self.dst, _inner(self.dst))
        assert isinstance(self.src.type, MemRefType)
        shape = self.src.type.get_shape()
        if len(shape) != 2 or _exceeds(shape[0], rows) or _exceeds(shape[1], columns):
            raise VerifyException(f"{self.name}: {self.src.type} does not fit into {self.dst.type}")
        if self.pad_value is not None or self.init_condition is not None:
            raise VerifyException(f"{self.name}: padding values are not in the subset")

    def is_pointwise(self) -> bool:
        return False

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        return NZ.pack(inputs[0], shape)


@irdl_op_definition
class MmadL1Op(Instruction):
    """`c = a @ b`, added to c unless `init_condition`, with m rows, depth k and n columns; products are added in f32.

    a and b are in L1, c in L0C, all in NZ layout; or all are tensors, and the result is the new c. With `a_transpose`,
    a holds the transpose; likewise for b.
    """

    name = "hivm.hir.mmadL1"

    a = operand_def(MemRefType | TensorType)
    b = operand_def(MemRefType | TensorType)
    init_condition = operand_def(i1)
    real_m = operand_def(IndexType)
    real_k = operand_def(IndexType)
    real_n = operand_def(IndexType)
    c = operand_def(MemRefType | TensorType)
    sync_related_args = var_operand_def(i64)
    unit_flag_cond = var_operand_def(i1)
    per_channel_bias = opt_operand_def()
    a_transpose = opt_prop_def(UnitAttr)
    b_transpose = opt_prop_def(UnitAttr)
    result = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        init: SSAValue,
        sizes: tuple[SSAValue, SSAValue, SSAValue],
        a_transpose: bool = False,
        b_transpose: bool = False,
    ):
        """sizes: m, k and n."""
        super().__init__(
            operands=[a, b, init, *sizes, c, [], [], None],
            result_types=[[c.type] if isinstance(c.type, TensorType) else []],
            properties={
                **({"a_transpose": UnitAttr()} if a_transpose else {}),
                **({"b_transpose": UnitAttr()} if b_transpose else {}),
            },
        )

    def pipe(self) -> Pipe:
        return Pipe.M

    def inputs(self) -> tuple[SSAValue, ...]:
        return (self.a, self.b, self.init_condition, self.real_m, self.real_k, self.real_n)

    def output(self) -> SSAValue:
        return self.c

    def reads_output(self, inputs: Sequence[Any]) -> bool:
        return not inputs[2]

    def verify_(self) -> None:
        self.check_spaces((self.a, self.b), AddressSpace.L1)
        self.check_spaces((self.c,), AddressSpace.L0C)
        self.check_elements((self.a, self.b), {"f16", "f32", "bf16"})
        self.check_elements((self.c,), {"f32"})
        if element_name(self.a.type) != element_name(self.b.type):
            raise VerifyException(f"{self.name}: element types differ: {self.a.type} and {self.b.type}")
        if any(isinstance(each.type, TensorType) for each in (self.a, self.b, self.c)):
            self.verify_tensors()
            return
        m, k = _check_nz(self, self.a, _inner(self.a))[:: -1 if self.a_transpose is not None else 1]
        other_k, n = _check_nz(self, self.b, _inner(self.b))[:: -1 if self.b_transpose is not None else 1]
        rows, columns = _check_nz(self, self.c, FRACTAL)
        if not (same_size(m, rows) and same_size(n, columns) and same_size(k, other_k)):
            raise VerifyException(f"{self.name}: ({m}, {k}) @ ({other_k}, {n}) does not fit ({rows}, {columns})")

    def verify_tensors(self) -> None:
        a, b, c = self.a.type, self.b.type, self.c.type
        if not (isinstance(a, TensorType) and isinstance(b, TensorType) and isinstance(c, TensorType)):
            raise VerifyException(f"{self.name} takes either tensors or buffers")
        m, k = a.get_shape()[:: -1 if self.a_transpose is not None else 1]
        other_k, n = b.get_shape()[:: -1 if self.b_transpose is not None else 1]
        if (m, n) != c.get_shape() or k != other_k or [each.type for each in self.results] != [c]:
            raise VerifyException(f"{self.name}: ({m}, {k}) @ ({other_k}, {n}) does not fit {c}")

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        a, b, init, m, k, n, *before = inputs
        first, second = (NZ.unpack(each).astype(np.float32) for each in (a, b))
        first = first.T if self.a_transpose is not None else first
        second = second.T if self.b_transpose is not None else second
        product = np.zeros((shape[1] * FRACTAL, shape[0] * FRACTAL), np.float32)
        product[:m, :n] = first[:m, :k] @ second[:k, :n]
        if not init:
            product[:m, :n] += NZ.unpack(before[0])[:m, :n]
        return NZ.pack(product, shape)


@irdl_op_definition
class FixpipeOp(Transfer):
    """A matrix of L0C to global memory, from NZ layout to rows (`nz2nd`); f16 is rounded to nearest."""

    name = "hivm.hir.fixpipe"

    src = operand_def(MemRefType)
    dst = operand_def(MemRefType)
    unit_flag_cond = var_operand_def(i1)
    quant_scale = opt_operand_def()
    dma_mode = prop_def(FixpipeModeAttr)
    unit_flag_group_id = opt_prop_def(IntegerAttr)
    result = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, src: SSAValue, dst: SSAValue):
        super().__init__(
            operands=[src, dst, [], None],
            result_types=[[]],
            properties={"dma_mode": FixpipeModeAttr(FixpipeMode.NZ2ND)},
        )

    def pipe(self) -> Pipe:
        return Pipe.FIX

    def verify_(self) -> None:
        self.check_spaces((self.src,), AddressSpace.L0C)
        self.check_spaces((self.dst,), AddressSpace.GM)
        self.check_elements((self.src,), {"f32"})
        self.check_elements((self.dst,), {"f32", "f16"})
        rows, columns = _check_nz(self, self.src, FRACTAL)
        assert isinstance(self.dst.type, MemRefType)
        shape = self.dst.type.get_shape()
        if self.dma_mode.data is not FixpipeMode.NZ2ND or self.quant_scale is not None:
            raise VerifyException(f"{self.name}: only the mode nz2nd, without quantisation, is in the subset")
        if len(shape) != 2 or _exceeds(shape[0], rows) or _exceeds(shape[1], columns):
            raise VerifyException(f"{self.name}: {self.dst.type} is larger than {self.src.type}")

    def is_pointwise(self) -> bool:
        return False

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return NZ.unpack(inputs[0])[: shape[0], : shape[1]].astype(element_dtype(self.dst.type))
