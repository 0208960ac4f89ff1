"""Facts about the tensors of stage `linalg`: which slices are the same, and which tensors are read where written.

Reads: ops of stage `linalg`. Writes: nothing. Leaves: the ops. Moves, webs and rewriting use these facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, MemRefType, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from mlirad.analysis.memory import NATIVE
from mlirad.analysis.trip_forms import Form, are_disjoint, ends_of, linear
from mlirad.dialect.core import types
from mlirad.dialect.core.upstream import is_thin
from mlirad.errors import CompileError
from mlirad.xdsl_support.once_per_object import once

MOST_ELEMENTS = 16
"""The limit for an array in straight-line code, whose elements may become numbers: a 4 x 4 matrix."""
Slice = tensor.ExtractSliceOp | tensor.InsertSliceOp


def is_memref(value: SSAValue) -> bool:
    return type(value.type) is MemRefType


@once
def is_static(type: Attribute) -> bool:
    return isinstance(type, TensorType) and DYNAMIC_INDEX not in type.get_shape()


def is_small(type: Attribute) -> bool:
    """Whether the elements of a tensor may become numbers."""
    return isinstance(type, TensorType) and is_static(type) and prod(type.get_shape()) <= MOST_ELEMENTS


def is_in_place(op: func.CallOp, result: SSAValue) -> bool:
    """Whether a result stays in the memory of its operand; a function that grows an array may move it."""
    return is_static(result.type) or NATIVE in op.attributes


def is_thin_view(op: Operation) -> bool:
    """Whether op is a view that only drops dimensions of size 1, or adds some."""
    return isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp) and is_thin(op)


def is_output_read(op: LinalgStructuredOperation, index: int) -> bool:
    """Whether the op's body reads the old contents of operand `index`, an output."""
    return op.body.block.args[index].first_use is not None


def is_written_where_read(op: LinalgStructuredOperation, read: int, written: int) -> bool:
    """Whether each element of operand `read` is read only by the iteration that writes that element of `written`."""
    maps = op.get_indexing_maps().data
    source, target = maps[read].data, maps[written].data
    dims = {expr.position for expr in target.results if isinstance(expr, AffineDimExpr)}
    return source == target and len(dims) == len(target.results) == target.num_dims


def is_same_slice(first: Slice, second: Slice) -> bool:
    """Whether two slices select the same elements (of any two tensors)."""
    names = ("static_offsets", "static_sizes", "static_strides")
    if any(first.properties[name] != second.properties[name] for name in names):
        return False
    mine = (*first.offsets, *first.sizes, *first.strides)
    others = (*second.offsets, *second.sizes, *second.strides)
    return len(mine) == len(others) and all(is_same_scalar(a, b) for a, b in zip(mine, others, strict=True))


def are_apart(first: Slice, second: Slice) -> bool:
    """Whether two slices of one array are certain to have no element in common."""
    ends = zip(_ends(first), _ends(second), strict=True)
    return any(one is not None and other is not None and are_disjoint(one, other) for one, other in ends)


def _ends(op: Slice) -> Iterator[tuple[Form, Form] | None]:
    """The lowest and the highest index along each axis; None if a stride is not known."""
    starts = _forms(op.static_offsets.get_values(), op.offsets)
    sizes = _forms(op.static_sizes.get_values(), op.sizes)
    strides = _forms(op.static_strides.get_values(), op.strides)
    for start, size, stride in zip(starts, sizes, strides, strict=True):
        yield None if stride.value is None else ends_of(start, size, stride.value)


def _forms(static: Sequence[int], dynamic: Sequence[SSAValue]) -> Iterator[Form]:
    unknown = iter(dynamic)
    for each in static:
        yield linear(next(unknown)) if each == DYNAMIC_INDEX else Form(each)


def is_same_scalar(first: SSAValue, second: SSAValue) -> bool:
    if first is second:
        return True
    one, other = first.owner, second.owner
    if isinstance(one, arith.IndexCastOp) and isinstance(other, arith.IndexCastOp):
        return first.type == second.type and is_same_scalar(one.input, other.input)
    return isinstance(one, arith.ConstantOp) and isinstance(other, arith.ConstantOp) and one.value == other.value


def is_splat(op: arith.ConstantOp) -> bool:
    return isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat()


def refuse(op: Operation, why: str) -> CompileError:
    return CompileError(f"{op.name}: {why}", types.from_location(op.location))
