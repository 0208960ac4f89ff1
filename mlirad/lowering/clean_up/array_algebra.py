"""Exact identities of ops that move, read and write elements.

Reads: one nd op. Writes: new ops before it, through the expression layer, if there is a simpler form. Leaves: the op;
the caller replaces it.

A read of an element never moves past the write that overwrote the array: `extract` looks through an `insert` only to
find the inserted value. But movements of whole arrays are merged: in the worst case the array is copied, which costs no
more than the removed movement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from mlirad.analysis.constants import is_number, known_number, never_negative_zero
from mlirad.dialect.arrays.elements import AddAtOp, ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import (
    AddSliceOp,
    ExtractSliceOp,
    InsertSliceOp,
    SliceUpdateOp,
    without_thin_axes,
)
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, constant, emit, full, zeros_like
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.constant import ConstantOp, FullOp
from mlirad.dialect.ops.contraction import ContractOp, contract
from mlirad.dialect.ops.movement import (
    BroadcastOp,
    DimOp,
    ReshapeOp,
    TransposeOp,
    broadcast,
    reshape,
    size_along,
    size_of,
)
from mlirad.dialect.ops.reduction import MaxOp, MinOp, SumOp
from mlirad.dialect.ops.wrapped_index import WrapIndexOp
from mlirad.lowering.clean_up.algebra import Result, Rules, defined_by, rules_into
from mlirad.lowering.clean_up.mirrored_slices import flipped, mirrored_axes

RULES: Rules = {}
rule = rules_into(RULES)


def _full_like(source: FullOp, op: NdOp) -> Result:
    """The result of op as an array filled with the number of `source`."""
    (result,) = op.results
    shape = types.shape(result.type)
    return full(Expr(source.value), shape, [size_along(result, axis) for axis, size in enumerate(shape) if size < 0])


# --- constants --------------------------------------------------------------------------------------------------


@rule(ConstantOp)
def splat(op: ConstantOp) -> Result:
    """An array filled with one number becomes `nd.full` of a scalar."""
    type = op.result.type
    if not types.is_tensor(type) or not types.shape(type):
        return None
    number = known_number(op.result)
    return None if number is None else full(constant(number, types.element_type(type)), types.shape(type))


# --- movement ---------------------------------------------------------------------------------------------------


@rule(BroadcastOp)
def broadcast_of(op: BroadcastOp, x: SSAValue, *lengths: SSAValue) -> Result:
    if x.type == op.result.type:
        return x
    sizes = [Expr(size) for size in lengths]
    if not types.is_tensor(x.type):
        return full(Expr(x), types.shape(op.result.type), sizes)
    if (source := defined_by(x, FullOp)) is not None:
        return _full_like(source, op)
    if (inner := defined_by(x, BroadcastOp)) is not None:
        outer = ints(op.dims)
        return broadcast(Expr(inner.x), [outer[axis] for axis in ints(inner.dims)], types.shape(op.result.type), sizes)
    return None


@rule(ReshapeOp)
def reshape_of(op: ReshapeOp, x: SSAValue) -> Result:
    if x.type == op.result.type:
        return x
    if (inner := defined_by(x, ReshapeOp)) is not None:
        return reshape(Expr(inner.x), op.result.type)
    source = defined_by(x, FullOp)
    if source is None:
        return None
    return _full_like(source, op) if types.is_tensor(op.result.type) else source.value


@rule(TransposeOp)
def transpose_of(op: TransposeOp, x: SSAValue) -> Result:
    permutation = ints(op.permutation)
    if permutation == tuple(range(len(permutation))):
        return x
    if (inner := defined_by(x, TransposeOp)) is not None:
        first = ints(inner.permutation)
        return emit(TransposeOp, inner.x, permutation=[first[axis] for axis in permutation])
    source = defined_by(x, FullOp)
    return None if source is None else _full_like(source, op)


@rule(DimOp)
def dim_of(op: DimOp, x: SSAValue) -> Result:
    """A known size, or the size of an earlier array (reading a size does not read the array)."""
    axis = op.axis.value.data
    size = types.shape(x.type)[axis]
    if size >= 0:
        return constant(size, types.I64)
    return None if size_of(x, axis) == (x, axis) else size_along(x, axis)


@rule(SumOp, MaxOp, MinOp)
def reduction_of(op: SumOp, x: SSAValue) -> Result:
    source = defined_by(x, FullOp)
    if source is None or 0 in types.shape(x.type):
        return None
    if isinstance(op, SumOp) and not is_number(source.value, 0):
        return None  # adding x n times is not exactly n * x
    return _full_like(source, op) if types.is_tensor(op.result.type) else source.value


@rule(ContractOp)
def contract_transposed(op: ContractOp, x: SSAValue, y: SSAValue) -> Result:
    """A product absorbs the transposition of an operand into its labels."""
    for number, operand in enumerate((x, y)):
        inner = defined_by(operand, TransposeOp)
        if inner is None:
            continue
        lhs, rhs, result = op.labels
        labels = (lhs, rhs)[number]
        source = [""] * len(labels)
        for axis, from_axis in enumerate(ints(inner.permutation)):
            source[from_axis] = labels[axis]
        relabelled = "".join(source)
        if number == 0:
            return contract(f"{relabelled},{rhs}->{result}", Expr(inner.x), Expr(y), tangent=op.tangent_operand)
        return contract(f"{lhs},{relabelled}->{result}", Expr(x), Expr(inner.x), tangent=op.tangent_operand)
    return None


# --- elements ---------------------------------------------------------------------------------------------------


@rule(ExtractOp)
def extract_from(_op: ExtractOp, array: SSAValue, *indices: SSAValue) -> Result:
    if (full_array := defined_by(array, FullOp)) is not None:
        return full_array.value
    if (written := defined_by(array, InsertOp)) is not None:
        return written.value if _same(written.indices, indices) else None
    reshaped = defined_by(array, ReshapeOp)
    return None if reshaped is None or types.is_tensor(reshaped.x.type) else reshaped.x


@rule(InsertOp)
def insert_into(_op: InsertOp, value: SSAValue, array: SSAValue, *indices: SSAValue) -> Result:
    read = defined_by(value, ExtractOp)
    if read is not None and read.t is array and _same(read.indices, indices):
        return array
    overwritten = defined_by(array, InsertOp)
    if overwritten is not None and array.has_one_use() and _same(overwritten.indices, indices):
        return emit(InsertOp, value, overwritten.t, *indices)
    return None


@rule(AddAtOp)
def add_to_zeros(_op: AddAtOp, value: SSAValue, array: SSAValue, *indices: SSAValue) -> Result:
    """0 + x without the read; for floats the addition stays, because 0.0 + -0.0 is 0.0."""
    if not is_number(array, 0) or types.is_bool(array.type):
        return None
    return emit(InsertOp, value if never_negative_zero(value) else Expr(value) + 0.0, array, *indices)


@rule(ExtractSliceOp)
def extract_slice_from(op: ExtractSliceOp, array: SSAValue, *_places: SSAValue) -> Result:
    if _is_whole(op, op.result):
        return array
    if (full_array := defined_by(array, FullOp)) is not None:
        return _full_like(full_array, op)
    written = defined_by(array, InsertSliceOp)
    if written is None:
        return None
    if _same_slice(written, op):
        return written.value
    return flipped(written.value, axes) if (axes := mirrored_axes(written, op)) else None


@rule(InsertSliceOp)
def insert_slice_into(op: InsertSliceOp, value: SSAValue, array: SSAValue, *starts: SSAValue) -> Result:
    if _is_whole(op, value):
        return value
    read = defined_by(value, ExtractSliceOp)
    if read is not None and read.t is array and _same_slice(read, op):
        return array
    overwritten = defined_by(array, InsertSliceOp)
    is_last = overwritten is not None and array.has_one_use()
    if is_last and overwritten is not None and _same_slice(overwritten, op):
        return op.result_on(Expr(value), Expr(overwritten.t), *(Expr(start) for start in starts))
    return None


@rule(AddSliceOp)
def add_slice_to(op: AddSliceOp, part: SSAValue, array: SSAValue, *starts: SSAValue) -> Result:
    if _is_whole(op, part):
        return Expr(array) + Expr(part)
    before = defined_by(array, InsertSliceOp)
    # A marked clear may yet prove needless. Later passes gather all additions to boxes of an array, and its clear, into
    # one sum.
    is_next = before is not None and not before.attributes and array.has_one_use() and not _is_box(op)
    if is_next and before is not None and _same_slice(before, op):
        old, array = before.value, before.t
    elif is_next and before is not None and (axes := mirrored_axes(before, op)):
        old, array = flipped(before.value, axes).value, before.t
    elif is_number(array, 0):
        old = array
    else:
        return None
    value = without_thin_axes(Expr(part))
    if not is_number(old, 0):
        value = reshape(Expr(old), value.type) + value
    elif not never_negative_zero(part):
        value = value + zeros_like(value)
    value = reshape(value, part.type)
    return emit(InsertSliceOp, value, array, *starts, sizes=op.sizes, strides=op.strides)


@rule(WrapIndexOp)
def wrap_known(_op: WrapIndexOp, index: SSAValue, size: SSAValue) -> Result:
    known = known_number(index)
    if known is None:
        return None
    return index if known >= 0 else Expr(index) + Expr(size)


def _same(indices: Sequence[SSAValue], others: Sequence[SSAValue]) -> bool:
    """Whether two element positions are certainly equal: the same values, or equal constants."""
    return all(a is b or _equal_constants(a, b) for a, b in zip(indices, others, strict=True))


def _equal_constants(a: SSAValue, b: SSAValue) -> bool:
    first, second = known_number(a), known_number(b)
    return first is not None and second is not None and bool(np.equal(first, second))


def _same_slice(op: ExtractSliceOp | SliceUpdateOp, other: ExtractSliceOp | SliceUpdateOp) -> bool:
    if op.sizes != other.sizes or op.strides != other.strides or not _same(op.starts, other.starts):
        return False
    return _same_shape(_part(op), _part(other))


def _part(op: ExtractSliceOp | SliceUpdateOp) -> SSAValue:
    return op.result if isinstance(op, ExtractSliceOp) else op.value


def _is_box(op: SliceUpdateOp) -> bool:
    """Whether a slice has constant places and sizes, and the strides 1."""
    is_known = all(known_number(start) is not None for start in op.starts) and -1 not in ints(op.sizes)
    return is_known and all(stride == 1 for stride in ints(op.strides))


def _is_whole(op: ExtractSliceOp | SliceUpdateOp, part: SSAValue) -> bool:
    """Whether a slice with the shape of `part` is the whole array."""
    forwards = all(stride == 1 for stride in ints(op.strides))
    return forwards and all(is_number(start, 0) for start in op.starts) and _same_shape(part, op.t)


def _same_shape(one: SSAValue, other: SSAValue) -> bool:
    """Whether two arrays certainly have the same shape."""
    if types.shape(one.type) != types.shape(other.type):
        return False
    unknown = [axis for axis, size in enumerate(types.shape(one.type)) if size < 0]
    return all(_same_length(size_of(one, axis), size_of(other, axis)) for axis in unknown)


def _same_length(one: SSAValue | tuple[SSAValue, int], other: SSAValue | tuple[SSAValue, int]) -> bool:
    if isinstance(one, SSAValue) and isinstance(other, SSAValue):
        return one is other or _equal_constants(one, other)
    return one == other
