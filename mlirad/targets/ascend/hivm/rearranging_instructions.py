"""Vector instructions with an output of another shape than the input: reductions, broadcasts, transposes, arange.

Reads: a buffer of the unified buffer, or a scalar. Writes: a buffer of the unified buffer. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, DenseArrayBase, IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.hivm_attributes import ReduceKind, ReduceKindAttr
from mlirad.targets.ascend.hivm.instruction import (
    ARITHMETIC,
    FLOATS,
    OneInput,
    Room,
    Shape,
    VectorInstruction,
    WithTempBuffer,
    element_dtype,
    element_name,
    i64_array,
    integers,
    is_scalar,
    per_block,
    same_size,
)

_REPEAT = 8
"""The number of 32-byte blocks that a vector instruction computes at once."""


class Rearranging(OneInput, WithTempBuffer):
    """`src` and `dst` have the same rank and elements."""

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of the input and the output. Raises VerifyException unless ranks and elements are the same."""
        source, target = self.inputs()[0].type, self.output().type
        if not isinstance(source, MemRefType) or not isinstance(target, MemRefType):
            raise VerifyException(f"{self.name} takes buffers")
        if len(source.get_shape()) != len(target.get_shape()) or element_name(source) != element_name(target):
            raise VerifyException(f"{self.name}: ranks or element types differ: {source} and {target}")
        return source.get_shape(), target.get_shape()

    def check_axes(self, axes: Sequence[int], rank: int) -> None:
        if len(set(axes)) != len(axes) or not all(0 <= axis < rank for axis in axes):
            raise VerifyException(f"{self.name}: axes {list(axes)} of a buffer of rank {rank}")

    def check_one_along(self, axes: Sequence[int], small: Sequence[int], large: Sequence[int]) -> None:
        """Refuse shapes other than `large`, and `large` with size 1 along the axes."""
        for axis, (one, other) in enumerate(zip(small, large, strict=True)):
            if not same_size(one, 1 if axis in axes else other):
                raise VerifyException(f"{self.name}: shapes {tuple(small)} and {tuple(large)} along axes {list(axes)}")


_REDUCED: dict[ReduceKind, Callable[..., np.ndarray]] = {
    ReduceKind.SUM: np.add.reduce,
    ReduceKind.PROD: np.multiply.reduce,
    ReduceKind.MAX: np.maximum.reduce,
    ReduceKind.MIN: np.minimum.reduce,
}


@irdl_op_definition
class VReduceOp(Rearranging):
    """Reduces the axes `reduce_dims`, which have size 1 in the output.

    The order of additions is NumPy's, and sums of f16 are rounded once; the hardware has its own order.
    """

    name = "hivm.hir.vreduce"
    ACCEPTED: ClassVar[frozenset[str]] = FLOATS | {"i32"}

    src = operand_def(MemRefType)
    dst = var_operand_def(MemRefType)
    temp_buffer = opt_operand_def(MemRefType)
    init = opt_operand_def()
    arith = prop_def(ReduceKindAttr)
    reduce_dims = prop_def(DenseArrayBase)
    result = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        src: SSAValue,
        dst: SSAValue,
        kind: ReduceKind,
        axes: Sequence[int],
        temp_buffer: SSAValue | None = None,
    ):
        super().__init__(
            operands=[src, [dst], temp_buffer, None],
            result_types=[[]],
            properties={"arith": ReduceKindAttr(kind), "reduce_dims": i64_array(axes)},
        )

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        """For at most two axes, one of them reduced."""
        (axis,) = integers(self.reduce_dims)
        *rows, columns = shape(self.src)
        whole = room(self.src)
        if axis < len(rows) or DYNAMIC_INDEX in (*rows, columns):
            return whole
        block = per_block(self.src.type)
        repeat = _REPEAT * block
        count = rows[0] if rows else 1
        if self.arith.data is ReduceKind.PROD:
            return count * (repeat + block) if columns > repeat else 2 * whole
        if not rows and self.arith.data is not ReduceKind.SUM:
            return repeat if columns > repeat else 0
        if block <= columns <= repeat or (columns < block and columns % 2):
            return 0
        return count * repeat if repeat < columns <= 2 * repeat else whole // 2

    def row_buffers(self) -> tuple[SSAValue, ...]:
        return (self.src,)

    def verify_types(self) -> None:
        if len(self.dst) != 1 or self.init is not None or self.results:
            raise VerifyException(f"{self.name} takes one input and one output buffer, and has no result")
        self.check_elements((self.src, *self.dst), self.ACCEPTED)
        source, target = self.shapes()
        axes = integers(self.reduce_dims)
        self.check_axes(axes, len(source))
        if not axes:
            raise VerifyException(f"{self.name} reduces no axis")
        self.check_one_along(axes, target, source)

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return _REDUCED[self.arith.data](
                inputs[0], axis=integers(self.reduce_dims), keepdims=True, dtype=inputs[0].dtype
            )

    def passes(self) -> float:
        return 2.0


@irdl_op_definition
class VBrcOp(Rearranging):
    """A scalar in every element, or a buffer repeated along the axes `broadcast_dims`, where its size is 1."""

    name = "hivm.hir.vbrc"

    src = operand_def()
    dst = operand_def(MemRefType)
    temp_buffer = opt_operand_def(MemRefType)
    broadcast_dims = prop_def(DenseArrayBase)
    result = var_result_def()

    def __init__(self, src: SSAValue, dst: SSAValue, axes: Sequence[int] = (), temp_buffer: SSAValue | None = None):
        super().__init__(
            operands=[src, dst, temp_buffer],
            result_types=[[]],
            properties={"broadcast_dims": i64_array(axes)},
        )

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        """For at most two axes, one of them repeated: a column needs scratch, a row does not."""
        axes, sizes = integers(self.broadcast_dims), shape(self.dst)
        if is_scalar(self.src.type) or len(sizes) < 2 or axes != (1,) or shape(self.src) == (1, 1):
            return 0
        rows, columns = sizes
        block = per_block(self.dst.type)
        if DYNAMIC_INDEX in sizes:
            return max(2 * room(self.dst), _REPEAT * block)
        return 0 if rows % _REPEAT == 0 and columns == block else -(-rows // _REPEAT) * _REPEAT * block

    def row_buffers(self) -> tuple[SSAValue, ...]:
        return () if is_scalar(self.src.type) else (self.dst,)

    def verify_types(self) -> None:
        self.check_elements((self.src, self.dst), ARITHMETIC)
        axes = integers(self.broadcast_dims)
        if is_scalar(self.src.type):
            if axes or element_name(self.src.type) != element_name(self.dst.type):
                raise VerifyException(f"{self.name}: a scalar {self.src.type} for {self.dst.type} along {list(axes)}")
            return
        source, target = self.shapes()
        if not axes:
            raise VerifyException(f"{self.name} repeats a buffer along no axis")
        self.check_axes(axes, len(source))
        self.check_one_along(axes, source, target)

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(np.asarray(inputs[0], element_dtype(self.dst.type)), shape)


@irdl_op_definition
class VTransposeOp(Rearranging):
    """Axis i of the output is axis `permutation[i]` of the input."""

    name = "hivm.hir.vtranspose"

    src = operand_def(MemRefType)
    dst = operand_def(MemRefType)
    temp_buffer = opt_operand_def(MemRefType)
    permutation = prop_def(DenseArrayBase)
    disable_align = prop_def(BoolAttr)
    result = var_result_def()

    def __init__(self, src: SSAValue, dst: SSAValue, permutation: Sequence[int], temp_buffer: SSAValue | None = None):
        super().__init__(
            operands=[src, dst, temp_buffer],
            result_types=[[]],
            properties={"permutation": i64_array(permutation), "disable_align": BoolAttr.from_bool(False)},
        )

    def row_buffers(self) -> tuple[SSAValue, ...]:
        return (self.src, self.dst)

    def verify_types(self) -> None:
        self.check_elements((self.src, self.dst), ARITHMETIC | {"bf16", "i8"})
        source, target = self.shapes()
        permutation = integers(self.permutation)
        self.check_axes(permutation, len(source))
        if len(permutation) != len(source) or not all(
            same_size(source[axis], size) for axis, size in zip(permutation, target, strict=True)
        ):
            raise VerifyException(f"{self.name}: {source} permuted by {list(permutation)} is not {target}")

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        return np.transpose(inputs[0], integers(self.permutation))

    def passes(self) -> float:
        return 2.0


@irdl_op_definition
class VArangeOp(VectorInstruction):
    """`offset + sum of strides[axis] * index[axis]` in each element; the offset is 0 by default."""

    name = "hivm.hir.varange"

    dst = operand_def(MemRefType)
    offset = opt_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, dst: SSAValue, strides: Sequence[SSAValue], offset: SSAValue | None = None):
        super().__init__(operands=[dst, offset, strides], result_types=[[]])

    def inputs(self) -> tuple[SSAValue, ...]:
        return (*(() if self.offset is None else (self.offset,)), *self.strides)

    def output(self) -> SSAValue:
        return self.dst

    def verify_types(self) -> None:
        self.check_elements((self.dst,), ARITHMETIC)
        assert isinstance(self.dst.type, MemRefType)
        if len(self.strides) != len(self.dst.type.get_shape()):
            raise VerifyException(f"{self.name} has {len(self.strides)} strides for {self.dst.type}")

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        offset, strides = (0, inputs) if self.offset is None else (inputs[0], inputs[1:])
        counted = sum(
            (stride * np.arange(size).reshape(-1, *(1,) * (len(shape) - axis - 1)))
            for axis, (stride, size) in enumerate(zip(strides, shape, strict=True))
        )
        return (counted + offset + np.zeros(shape, np.int64)).astype(element_dtype(self.dst.type))
