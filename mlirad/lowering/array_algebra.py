"""Exact identities of the ops that move, read and write elements.

Reads: one op of nd. Writes: new ops before it, through the expression layer. Leaves: the op; the caller replaces it.

A read of an element is never moved past the write that destroyed the array: `extract` looks through an `insert` only
to the value that was inserted. Movements are merged all the same: at worst the array is copied, which costs no more
than the movement that is gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from mlirad.dialect import types
from mlirad.dialect.constant import ConstantOp, FullOp, full
from mlirad.dialect.contraction import ContractOp, contract
from mlirad.dialect.expr import Expr, constant, emit, zeros_like
from mlirad.dialect.indexing import (
    AddAtOp,
    AddSliceOp,
    ExtractOp,
    ExtractSliceOp,
    InsertOp,
    InsertSliceOp,
    SliceUpdateOp,
    WrapIndexOp,
)
from mlirad.dialect.movement import BroadcastOp, DimOp, ReshapeOp, TransposeOp, broadcast, dim, reshape, size_of
from mlirad.dialect.op import NdOp, ints
from mlirad.dialect.reduction import MaxOp, MinOp, SumOp
from mlirad.lowering.algebra import Result, Rules, defined_by, rules_into
from mlirad.lowering.known import is_number, known_number, never_negative_zero

RULES: Rules = {}
rule = rules_into(RULES)


def _full_like(source: FullOp, op: NdOp) -> Result:
    """The number of `source` everywhere in the array that op computes."""
    (result,) = op.results
    shape = types.shape(result.type)
    return full(Expr(source.value), shape, [_length(result, axis) for axis, size in enumerate(shape) if size < 0])


def _length(array: SSAValue, axis: int) -> Expr:
    """An unknown size, from where it is known first."""
    found = size_of(array, axis)
    return Expr(found) if isinstance(found, SSAValue) else dim(Expr(found[0]), found[1])


# --- constants --------------------------------------------------------------------------------------------------


@rule(ConstantOp)
def splat(op: ConstantOp) -> Result:
    """Arrays of one number have one form: `nd.full` of a scalar."""
    type = op.result.type
    if not types.is_tensor(type) or not types.shape(type):
        return None
    number = known_number(op.result)
    return None if number is None else full(constant(number, types.element_type(type)), types.shape(type))


# --- movement ---------------------------------------------------------------------------------------------------


@rule(BroadcastOp)
def broadcast_of(op: BroadcastOp) -> Result:
    if op.x.type == op.result.type:
        return op.x
    if not types.is_tensor(op.x.type):
        return full(Expr(op.x), types.shape(op.result.type), [Expr(size) for size in op.sizes])
    if (source := defined_by(op.x, FullOp)) is not None:
        return _full_like(source, op)
    if (inner := defined_by(op.x, BroadcastOp)) is not None:
        outer = ints(op.dims)
        sizes = [Expr(size) for size in op.sizes]
        return broadcast(Expr(inner.x), [outer[axis] for axis in ints(inner.dims)], types.shape(op.result.type), sizes)
    return None


@rule(ReshapeOp)
def reshape_of(op: ReshapeOp) -> Result:
    if op.x.type == op.result.type:
        return op.x
    if (inner := defined_by(op.x, ReshapeOp)) is not None:
        return reshape(Expr(inner.x), op.result.type)
    source = defined_by(op.x, FullOp)
    if source is None:
        return None
    return _full_like(source, op) if types.is_tensor(op.result.type) else source.value


@rule(TransposeOp)
def transpose_of(op: TransposeOp) -> Result:
    permutation = ints(op.permutation)
    if permutation == tuple(range(len(permutation))):
        return op.x
    if (inner := defined_by(op.x, TransposeOp)) is not None:
        first = ints(inner.permutation)
        return emit(TransposeOp, inner.x, permutation=[first[axis] for axis in permutation])
    source = defined_by(op.x, FullOp)
    return None if source is None else _full_like(source, op)


@rule(DimOp)
def dim_of(op: DimOp) -> Result:
    """A size that is known, or that of an earlier array (asking for a size reads nothing)."""
    axis = op.axis.value.data
    size = types.shape(op.x.type)[axis]
    if size >= 0:
        return constant(size, types.I64)
    return None if size_of(op.x, axis) == (op.x, axis) else _length(op.x, axis)


@rule(SumOp, MaxOp, MinOp)
def reduction_of(op: SumOp) -> Result:
    source = defined_by(op.x, FullOp)
    if source is None or 0 in types.shape(op.x.type):
        return None
    if isinstance(op, SumOp) and not is_number(source.value, 0):
        return None  # n * x is not the sum of n times x
    return _full_like(source, op) if types.is_tensor(op.result.type) else source.value


@rule(ContractOp)
def contract_transposed(op: ContractOp) -> Result:
    """A product reads a transposed operand through its labels."""
    lhs, rhs, result = op.labels
    for number, (labels, operand) in enumerate(((lhs, op.x), (rhs, op.y))):
        inner = defined_by(operand, TransposeOp)
        if inner is None:
            continue
        source = [""] * len(labels)
        for axis, from_axis in enumerate(ints(inner.permutation)):
            source[from_axis] = labels[axis]
        relabelled = "".join(source)
        if number == 0:
            return contract(f"{relabelled},{rhs}->{result}", Expr(inner.x), Expr(op.y))
        return contract(f"{lhs},{relabelled}->{result}", Expr(op.x), Expr(inner.x))
    return None


# --- elements ---------------------------------------------------------------------------------------------------


@rule(ExtractOp)
def extract_from(op: ExtractOp) -> Result:
    owner = op.t.owner
    if isinstance(owner, FullOp):
        return owner.value
    if isinstance(owner, InsertOp) and _same(owner.indices, op.indices):
        return owner.value
    if isinstance(owner, ReshapeOp) and not types.is_tensor(owner.x.type):
        return owner.x
    return None


@rule(InsertOp)
def insert_into(op: InsertOp) -> Result:
    read = defined_by(op.value, ExtractOp)
    if read is not None and read.t is op.t and _same(read.indices, op.indices):
        return op.t
    overwritten = defined_by(op.t, InsertOp)
    if overwritten is not None and op.t.has_one_use() and _same(overwritten.indices, op.indices):
        return emit(InsertOp, op.value, overwritten.t, *op.indices)
    return None


@rule(AddAtOp)
def add_to_zeros(op: AddAtOp) -> Result:
    """0 + x without the read; of floats the addition stays, since 0.0 + -0.0 is 0.0."""
    if not is_number(op.t, 0) or types.is_bool(op.t.type):
        return None
    value = Expr(op.value)
    return emit(InsertOp, value if never_negative_zero(op.value) else value + 0.0, op.t, *op.indices)


@rule(ExtractSliceOp)
def extract_slice_from(op: ExtractSliceOp) -> Result:
    if _is_whole(op, op.result):
        return op.t
    owner = op.t.owner
    if isinstance(owner, FullOp):
        return _full_like(owner, op)
    if isinstance(owner, InsertSliceOp) and _same_slice(owner, op):
        return owner.value
    return None


@rule(InsertSliceOp)
def insert_slice_into(op: InsertSliceOp) -> Result:
    if _is_whole(op, op.value):
        return op.value
    read = defined_by(op.value, ExtractSliceOp)
    if read is not None and read.t is op.t and _same_slice(read, op):
        return op.t
    overwritten = defined_by(op.t, InsertSliceOp)
    is_last = overwritten is not None and op.t.has_one_use()
    if is_last and overwritten is not None and _same_slice(overwritten, op):
        return op.rebuild(Expr(op.value), Expr(overwritten.t), *(Expr(start) for start in op.starts))
    return None


@rule(AddSliceOp)
def add_slice_to(op: AddSliceOp) -> Result:
    if _is_whole(op, op.value):
        return Expr(op.t) + Expr(op.value)
    if not is_number(op.t, 0):
        return None
    value = Expr(op.value)
    if not never_negative_zero(op.value):
        value = value + zeros_like(value)
    return emit(InsertSliceOp, value, op.t, *op.starts, sizes=op.sizes, strides=op.strides)


@rule(WrapIndexOp)
def wrap_known(op: WrapIndexOp) -> Result:
    known = known_number(op.index)
    if known is None:
        return None
    return op.index if known >= 0 else Expr(op.index) + Expr(op.size)


def _same(indices: Sequence[SSAValue], others: Sequence[SSAValue]) -> bool:
    """Whether two places are surely one: the same values, or equal constants."""
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


def _is_whole(op: ExtractSliceOp | SliceUpdateOp, part: SSAValue) -> bool:
    """Whether a slice, of the shape of `part`, is the whole array."""
    forwards = all(stride == 1 for stride in ints(op.strides))
    return forwards and all(is_number(start, 0) for start in op.starts) and _same_shape(part, op.t)


def _same_shape(one: SSAValue, other: SSAValue) -> bool:
    """Whether two arrays are surely of one shape."""
    if types.shape(one.type) != types.shape(other.type):
        return False
    unknown = [axis for axis, size in enumerate(types.shape(one.type)) if size < 0]
    return all(_same_length(size_of(one, axis), size_of(other, axis)) for axis in unknown)


def _same_length(one: SSAValue | tuple[SSAValue, int], other: SSAValue | tuple[SSAValue, int]) -> bool:
    if isinstance(one, SSAValue) and isinstance(other, SSAValue):
        return one is other or _equal_constants(one, other)
    return one == other
