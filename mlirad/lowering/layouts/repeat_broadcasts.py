"""Repeats broadcasts in the loops that use them, so that no trip reads an array that holds each number many times.

Reads and writes: nd, in place. Leaves: broadcasts of short rows, whose elements are better read as one long row, and
those that other ops than elementwise ones read.

Hoisting moves a broadcast out of all loops that do not change it. There it would be stored. In the block of the op that
reads it, it is fused with that op, which then reads the array that was broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp, is_pointwise
from mlirad.lowering.rewriting import erase
from mlirad.xdsl_support.traversal import ops_inside

_ROW, _LEAST = 32, 1 << 9
"""The fewest elements of a row, and of an array."""


@dataclass(frozen=True)
class RepeatBroadcasts(ModulePass):
    """Broadcast an array again before each elementwise op of another block.

    Before:

        func.func @f(%w: tensor<64xf64>, %x: tensor<9x64xf64>, %n: i64, %zero: i64, %one: i64) -> tensor<9x64xf64> {
          %wide = nd.broadcast %w {dims = array<i64: 1>} : tensor<64xf64> to tensor<9x64xf64>
          %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<9x64xf64>) : i64 {
            %v = nd.mul %s, %wide : tensor<9x64xf64>
            scf.yield %v : tensor<9x64xf64>
          }
          func.return %y : tensor<9x64xf64>
        }

    After `mlirad-repeat-broadcasts`:

        func.func @f(%w: tensor<64xf64>, %x: tensor<9x64xf64>, %n: i64, %zero: i64, %one: i64) -> tensor<9x64xf64> {
          %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<9x64xf64>) : i64 {
            %wide = nd.broadcast %w {dims = array<i64: 1>} : tensor<64xf64> to tensor<9x64xf64>
            %v = nd.mul %s, %wide : tensor<9x64xf64>
            scf.yield %v : tensor<9x64xf64>
          }
          func.return %y : tensor<9x64xf64>
        }
    """

    name = "mlirad-repeat-broadcasts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(ops_inside(op)):
            if isinstance(each, NdOp) and _is_long_broadcast(each):
                _repeat(each)


def _is_long_broadcast(op: NdOp) -> bool:
    """Whether an op only repeats an array, in long rows."""
    if len(op.operands) != 1 or len(op.results) != 1 or not types.is_tensor(op.operands[0].type):
        return False
    type = op.results[0].type
    if not types.is_static(type) or not types.shape(type) or types.shape(type)[-1] < _ROW:
        return False
    shape = types.shape(type)
    return prod(shape) >= _LEAST and any(op.repeats(axis) for axis in range(len(shape)))


def _repeat(op: NdOp) -> None:
    for use in list(op.results[0].uses):
        user = use.operation
        if user.parent is not None and user.parent is not op.parent and _is_elementwise(user):
            again = op.clone()
            user.parent.insert_op_before(again, user)
            user.operands[use.index] = again.results[0]
    if op.results[0].first_use is None:
        erase(op)


def _is_elementwise(op: Operation) -> bool:
    return isinstance(op, NdOp) and is_pointwise(op)
