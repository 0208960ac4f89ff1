"""Zeros of a value's type and run-time shape.

A shape is not a read: it is asked of the earliest value that is known to have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, OpResult, SSAValue

from mlirad.autodiff.carries import Loop, yields
from mlirad.dialect import types
from mlirad.dialect.constant import full
from mlirad.dialect.expr import Expr, constant, emit
from mlirad.dialect.movement import DimOp
from mlirad.dialect.op import NdOp
from mlirad.dialect.tape import GrowOp


def zeros(type_of: SSAValue, sizes: Sequence[Expr] = ()) -> Expr:
    """Zeros of a value's type; `sizes` are its unknown ones."""
    zero = constant(0, types.element_type(type_of.type))
    return full(zero, types.shape(type_of.type), sizes) if types.is_tensor(type_of.type) else zero


def unknown_axes(value: SSAValue) -> list[int]:
    return [axis for axis, size in enumerate(types.shape(value.type)) if size < 0]


def dim(value: SSAValue, axis: int) -> Expr:
    return emit(DimOp, value, axis=axis)


def shape_source(value: SSAValue) -> SSAValue:
    """The earliest value that is known to have the shape of `value`: through updates, carries and branches."""
    return _source(value, frozenset())


def _source(value: SSAValue, assumed: frozenset[SSAValue]) -> SSAValue:
    """`assumed`: arguments of loops under consideration, which may stand for themselves."""
    while isinstance(op := value.owner, NdOp) and op.memory.overwrites is not None and not isinstance(op, GrowOp):
        value = op.operands[op.memory.overwrites]
    if types.is_static(value.type) or value in assumed:
        return value
    match value:
        case OpResult(op=scf.ForOp() | scf.WhileOp() as op, index=index):
            return _of_carry(value, Loop(op), index, assumed)
        case OpResult(op=scf.IfOp() as op, index=index):
            then, other = (_source(yields(region.block)[index], assumed) for region in op.regions)
            return then if then is other else value
        case BlockArgument(block=block, index=index):
            op = block.parent_op()
            if isinstance(op, scf.ForOp | scf.WhileOp) and block is Loop(op).body:
                return _of_carry(value, Loop(op), index - (len(block.args) - len(Loop(op).args)), assumed)
    return value


def _of_carry(value: SSAValue, loop: Loop, index: int, assumed: frozenset[SSAValue]) -> SSAValue:
    carry = loop.carries[index]
    is_kept = _source(carry.yielded, assumed | {carry.arg}) is carry.arg
    return _source(carry.init, assumed) if is_kept else value
