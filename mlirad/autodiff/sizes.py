"""Zeros of a value's type and run-time shape, and the source of a run-time size.

Asking for a shape does not read the array: the size is an operand that an op received for it, or it is read from the
earliest value that is known to have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import Loop, yields
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, dim, full, located
from mlirad.dialect.ops.movement import size_of

Axis = tuple[SSAValue, int]


def zeros(type_of: SSAValue, sizes: Sequence[Expr] = ()) -> Expr:
    """Zeros of a value's type; `sizes` are its unknown sizes."""
    zero = constant(0, types.element_type(type_of.type))
    return full(zero, types.shape(type_of.type), sizes) if types.is_tensor(type_of.type) else zero


def unknown_axes(value: SSAValue) -> list[int]:
    return [axis for axis, size in enumerate(types.shape(value.type)) if size < 0]


def size_value(value: SSAValue, axis: int) -> SSAValue:
    """A size of `value` as an i64, defined at `value` or earlier."""
    found = size_source(value, axis)
    if isinstance(found, SSAValue):
        return found
    array, place = found
    owner = array.owner
    following = owner.next_op if isinstance(owner, Operation) else owner.first_op
    assert following is not None
    with located(following.location), building(InsertPoint.before(following)):
        return dim(Expr(array), place).value


def size_source(value: SSAValue, axis: int) -> SSAValue | Axis:
    """The earliest source of a size of `value`, found through ops, carries and branches."""
    return _source(value, axis, frozenset())


def _source(value: SSAValue, axis: int, assumed: frozenset[Axis]) -> SSAValue | Axis:
    """`assumed`: the loop arguments under consideration, which may be their own source."""
    found = size_of(value, axis)
    if isinstance(found, SSAValue) or found in assumed:
        return found
    value, axis = found
    if types.shape(value.type)[axis] >= 0:
        return found
    match value:
        case OpResult(op=scf.ForOp() | scf.WhileOp() as op, index=index):
            return _of_carry(found, Loop(op), index, assumed)
        case OpResult(op=scf.IfOp() as op, index=index):
            then, other = (_source(yields(region.block)[index], axis, assumed) for region in op.regions)
            return then if then == other and _is_before(then, op) else found
        case BlockArgument(block=block, index=index):
            op = block.parent_op()
            if isinstance(op, scf.ForOp | scf.WhileOp) and block is Loop(op).body:
                return _of_carry(found, Loop(op), index - (len(block.args) - len(Loop(op).args)), assumed)
    return found


def _of_carry(at: Axis, loop: Loop, index: int, assumed: frozenset[Axis]) -> SSAValue | Axis:
    carry, axis = loop.carries[index], at[1]
    carried = (carry.arg, axis)
    before = _source(carry.init, axis, assumed)
    return before if _source(carry.yielded, axis, assumed | {carried}) in (carried, before) else at


def _is_before(source: SSAValue | Axis, op: Operation) -> bool:
    """Whether the source of a size is defined outside of `op`."""
    value = source if isinstance(source, SSAValue) else source[0]
    owner = value.owner
    return not op.is_ancestor(owner)
