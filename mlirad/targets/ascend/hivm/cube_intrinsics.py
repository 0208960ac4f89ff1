"""The steps of `mmadL1`: loads from L1 to L0A and L0B, and the multiplication of these.

Reads: L1, L0A and L0B. Writes: L0A, L0B and L0C. Leaves: nothing.

`hivm` has no op for these: the library function of `mmadL1` calls them. `hivm.hir.custom` names them as the device
compiler does; `bishengir-opt` checks the op's form, but not the callee.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    attr_def,
    irdl_op_definition,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.fractal_layouts import FRACTAL, FRACTAL_ROW_BYTES, NZ, ZN, ZZ, FractalLayout
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, Pipe, PipeAttr, TCoreType, TCoreTypeAttr
from mlirad.targets.ascend.hivm.instruction import Instruction, element_dtype, element_name, same_size, space_of

_NUMBERS = 4
"""`mad` has four operands after its matrices: whether L0C is new, m, k and n."""


@dataclass(frozen=True)
class Intrinsic:
    """spaces: of the buffers that it reads, then of the buffer that it writes."""

    pipe: Pipe
    spaces: tuple[AddressSpace, ...]
    verify: Callable[[CustomOp], None]
    compute: Callable[[Sequence[Any], tuple[int, ...]], np.ndarray]


def _load(target: AddressSpace, layout: FractalLayout, is_transposed: bool) -> Intrinsic:
    """Load fractals of L1 in the layout that the multiplication reads. Each is loaded whole, including padding."""

    def verify(op: CustomOp) -> None:
        source, given = op.types()
        if element_name(source) != element_name(given):
            raise VerifyException(f"{op.title}: element types differ: {source} and {given}")
        have, wanted = NZ.matrix_shape(source.get_shape()), layout.matrix_shape(given.get_shape())
        have = have[:: -1 if is_transposed else 1]
        if is_static(source, given) and have != wanted:
            raise VerifyException(f"{op.title}: {source} is a matrix of {have}, and {given} one of {wanted}")

    def compute(inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        matrix = NZ.unpack(inputs[0])
        matrix = matrix.T if is_transposed else matrix
        if matrix.shape != layout.matrix_shape(shape):
            raise ValueError(f"a matrix of {matrix.shape} does not fill fractals of {shape}")
        return layout.pack(matrix, shape)

    return Intrinsic(Pipe.MTE1, (AddressSpace.L1, target), verify, compute)


def _verify_mad(op: CustomOp) -> None:
    a, b, c = op.types()
    if element_name(a) != element_name(b) or element_name(c) != "f32":
        raise VerifyException(f"{op.title} does not multiply {a} by {b} into {c}")
    if not is_static(a, b, c):
        return
    (m, k), (other_k, n) = ZZ.matrix_shape(a.get_shape()), ZN.matrix_shape(b.get_shape())
    if k != other_k or (m, n) != NZ.matrix_shape(c.get_shape()):
        raise VerifyException(f"{op.title}: ({m}, {k}) @ ({other_k}, {n}) does not fill {c}")


def _mad(inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """`c = a @ b`, or added to c. It reads m rows, depth k and n columns of a and b; products are added in f32."""
    a, b, is_new, m, k, n, *before = inputs
    first, second = ZZ.unpack(a)[:m, :k], ZN.unpack(b)[:k, :n]
    rows, columns = NZ.matrix_shape(shape)
    if first.shape != (m, k) or second.shape != (k, n) or not (rows >= m > rows - FRACTAL and columns >= n):
        raise ValueError(f"({m}, {k}) @ ({k}, {n}) of fractals {a.shape} and {b.shape} into {shape}")
    product = np.zeros((rows, columns), np.float32)
    with np.errstate(all="ignore"):
        product[:m, :n] = first.astype(np.float32) @ second.astype(np.float32)
        if not is_new:
            product[:m, :n] += NZ.unpack(before[0])[:m, :n]
    return NZ.pack(product, shape)


def is_static(*types: MemRefType) -> bool:
    return all(size >= 0 for type in types for size in type.get_shape())


INTRINSICS = {
    "load_cbuf_to_ca": _load(AddressSpace.L0A, ZZ, False),
    "load_cbuf_to_ca_transpose": _load(AddressSpace.L0A, ZZ, True),
    "load_cbuf_to_cb": _load(AddressSpace.L0B, ZN, False),
    "load_cbuf_to_cb_transpose": _load(AddressSpace.L0B, ZN, True),
    "mad": Intrinsic(Pipe.M, (AddressSpace.L0A, AddressSpace.L0B, AddressSpace.L0C), _verify_mad, _mad),
}
"""By name. `transpose`: L1 holds the transpose of the matrix that the multiplication reads."""


@irdl_op_definition
class CustomOp(Instruction):
    """Calls an instruction of the device by its name."""

    name = "hivm.hir.custom"

    called = prop_def(StringAttr, prop_name="name")
    ins = var_operand_def()
    outs = var_operand_def(MemRefType)
    rest = var_operand_def()
    core = attr_def(TCoreTypeAttr, attr_name="hivm.tcore_type")
    on_pipe = attr_def(PipeAttr, attr_name="hivm.pipe")
    symbol = attr_def(StringAttr)
    result = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, called: str, inputs: Sequence[SSAValue], output: SSAValue):
        super().__init__(
            operands=[inputs, [output], []],
            result_types=[[]],
            properties={"name": StringAttr(called)},
            attributes={
                "hivm.tcore_type": TCoreTypeAttr(TCoreType.CUBE),
                "hivm.pipe": PipeAttr(INTRINSICS[called].pipe),
                "symbol": StringAttr(called),
            },
        )

    @property
    def title(self) -> str:
        return f"{self.name} {self.called.data!r}"

    def intrinsic(self) -> Intrinsic:
        if self.called.data not in INTRINSICS:
            raise VerifyException(f"{self.title} is not known; the known ones are: {', '.join(INTRINSICS)}")
        return INTRINSICS[self.called.data]

    def types(self) -> tuple[MemRefType, ...]:
        """The types of the buffers that it reads, then of the buffer that it writes."""
        values = (*self.ins, *self.outs)
        return tuple(value.type for value in values if isinstance(value.type, MemRefType))

    def pipe(self) -> Pipe:
        return self.intrinsic().pipe

    def inputs(self) -> tuple[SSAValue, ...]:
        return tuple(self.ins)

    def output(self) -> SSAValue:
        return self.outs[0]

    def reads_output(self, inputs: Sequence[Any]) -> bool:
        return len(inputs) > 2 and not inputs[2]

    def verify_(self) -> None:
        intrinsic = self.intrinsic()
        if self.on_pipe.data is not intrinsic.pipe or self.symbol.data != self.called.data:
            raise VerifyException(f"{self.title} runs on {intrinsic.pipe}, by the symbol {self.called.data!r}")
        numbers = _NUMBERS if intrinsic.pipe is Pipe.M else 0
        buffers = self.types()
        if len(buffers) != len(intrinsic.spaces) or len(self.ins) + len(self.outs) != len(buffers) + numbers:
            raise VerifyException(f"{self.title} takes {len(intrinsic.spaces)} buffers and {numbers} numbers")
        for type, space in zip(buffers, intrinsic.spaces, strict=True):
            if space_of(type) is not space:
                raise VerifyException(f"{self.title} has an operand in {space_of(type)}, where {space} is required")
            c0 = FRACTAL if space is AddressSpace.L0C else FRACTAL_ROW_BYTES // element_dtype(type).itemsize
            shape = type.get_shape()
            if len(shape) != 4 or not same_size(shape[2], FRACTAL) or not same_size(shape[3], c0):
                raise VerifyException(f"{self.title}: {type} does not consist of fractals of {FRACTAL} x {c0}")
        self.check_elements([value for value in self.ins if isinstance(value.type, MemRefType)], {"f16", "f32", "bf16"})
        intrinsic.verify(self)

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        return self.intrinsic().compute(inputs, shape)
