"""Stops derivatives at a maximum or minimum that is only subtracted and added back.

Reads: nd ops, before differentiation. Writes: `ad.stop` after such extremes. Leaves: everything else.

Softmax and the logarithm of a sum of exponentials subtract the largest element, so that nothing overflows. Their values
do not depend on what is subtracted, and the derivative with respect to it is 0: there is no need to count ties, nor to
add up cotangents that cancel but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.dialect.ad.tape import StopOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import emit, emitting
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.shift import UNCHANGED, Shift
from mlirad.dialect.ops.reduction import ExtremalOp
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class StopCancelledExtremes(ModulePass):
    """Let no derivative flow through an extreme that cancels in everything computed from it.

    Before:

        func.func @f(%x: tensor<3xf64>) -> f64 {
          %high = nd.max %x {axes = array<i64: 0>} : tensor<3xf64> to f64
          %all = nd.full %high : f64 to tensor<3xf64>
          %lower = nd.sub %x, %all : tensor<3xf64>
          %e = nd.exp %lower : tensor<3xf64>
          %sum = nd.sum %e {axes = array<i64: 0>} : tensor<3xf64> to f64
          %log = nd.log %sum : f64
          %y = nd.add %high, %log : f64
          func.return %y : f64
        }

    After `mlirad-stop-cancelled-extremes`:

        func.func @f(%x: tensor<3xf64>) -> f64 {
          %high = nd.max %x {axes = array<i64: 0>} : tensor<3xf64> to f64
          %0 = ad.stop %high : f64
          %all = nd.full %0 : f64 to tensor<3xf64>
          %lower = nd.sub %x, %all : tensor<3xf64>
          %e = nd.exp %lower : tensor<3xf64>
          %sum = nd.sum %e {axes = array<i64: 0>} : tensor<3xf64> to f64
          %log = nd.log %sum : f64
          %y = nd.add %0, %log : f64
          func.return %y : f64
        }
    """

    name = "mlirad-stop-cancelled-extremes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for extreme in [each for each in ops_inside(op) if isinstance(each, ExtremalOp)]:
            value: OpResult | None = extreme.result
            while value is not None and types.is_float(types.element_type(value.type)):
                if _cancels(value):
                    _stop(value)
                    break
                value = _next(value)


def _next(value: OpResult) -> OpResult | None:
    """The only value that a derivative with respect to this one goes through, such as `where(isfinite(x), x, 0)`."""
    users = [op for op in {use.operation for use in value.uses} if not _is_inert(op) and not _is_only_tested(op)]
    return users[0].results[0] if len(users) == 1 and len(users[0].results) == 1 and not users[0].regions else None


def _is_inert(op: Operation) -> bool:
    """Whether all results are without a derivative."""
    return isinstance(op, NdOp) and not any(types.is_inexact(result.type) for result in op.results)


def _is_only_tested(op: Operation) -> bool:
    return bool(op.results) and all(_is_inert(use.operation) for result in op.results for use in result.uses)


def _stop(value: OpResult) -> None:
    uses, block = list(value.uses), value.op.parent
    assert block is not None and value.op.next_op is not None
    with emitting(InsertPoint(block, value.op.next_op), value.op.location):
        stopped = emit(StopOp, value)
    for use in uses:
        use.operation.operands[use.index] = stopped.value


def _cancels(value: OpResult) -> bool:
    """Whether adding a number to a value, or one to each of its elements, changes nothing that has a derivative."""
    axes = tuple(axis for axis, size in enumerate(types.shape(value.type)) if size != 1)
    shifts: dict[SSAValue, Shift] = {value: Shift(1, axes=axes)}
    pending = _count_of_uses(value)
    after = value.op.next_op
    while pending and after is not None:
        for op in after.walk():
            count = sum(operand in shifts for operand in op.operands)
            if not count:
                continue
            pending -= count
            if not isinstance(op, NdOp):
                return False
            if _is_inert(op):
                continue
            found = op.shifted(*(shifts.get(operand, UNCHANGED) for operand in op.operands))
            if found is None:
                return False
            if found.by:
                shifts[op.results[0]] = found
                pending += _count_of_uses(op.results[0])
        after = after.next_op
    return not pending


def _count_of_uses(value: SSAValue) -> int:
    return sum(1 for _ in value.uses)
