"""Replaces divisions by loop-invariant numbers by products with one reciprocal, computed before the loop.

Reads: loops with divisions that have the flag `arcp`. Writes: a reciprocal before the loop, and products. Leaves:
divisions without the flag, and divisions by numbers that vary in the innermost loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.dialect.core.attributes import dense
from mlirad.dialect.core.expr import insert
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.traversal import defining_block


@dataclass(frozen=True)
class HoistReciprocals(ModulePass):
    """Replace x / s in a loop by x * (1 / s), if s is loop-invariant and `arcp` allows it.

    Before:

        func.func @f(%x: memref<8xf64>, %s: f64) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c8 = arith.constant 8 : index
          scf.for %i = %c0 to %c8 step %c1 {
            %a = memref.load %x[%i] : memref<8xf64>
            %b = arith.divf %a, %s fastmath<arcp> : f64
            memref.store %b, %x[%i] : memref<8xf64>
          }
          func.return
        }

    After `mlirad-hoist-reciprocals`:

        func.func @f(%x: memref<8xf64>, %s: f64) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c8 = arith.constant 8 : index
          %one = arith.constant 1.000000e+00 : f64
          %r = arith.divf %one, %s fastmath<arcp> : f64
          scf.for %i = %c0 to %c8 step %c1 {
            %a = memref.load %x[%i] : memref<8xf64>
            %b = arith.mulf %a, %r fastmath<arcp> : f64
            memref.store %b, %x[%i] : memref<8xf64>
          }
          func.return
        }
    """

    name = "mlirad-hoist-reciprocals"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reciprocals: dict[tuple[SSAValue, Operation], SSAValue] = {}
        for each in [found for found in op.walk() if isinstance(found, arith.DivfOp) and _may_multiply(found)]:
            divisor = each.rhs
            spread = divisor.owner if isinstance(divisor.owner, vector.BroadcastOp) else None
            number = divisor if spread is None else spread.source
            loop = _outermost_without(number, each)
            if loop is None:
                continue
            if (number, loop) not in reciprocals:
                with in_place_of(loop):
                    reciprocals[number, loop] = insert(arith.DivfOp(_one_of(number.type), number, each.fastmath)).result
            with in_place_of(each):
                factor = reciprocals[number, loop]
                if spread is not None:
                    factor = insert(vector.BroadcastOp(factor, spread.vector.type)).vector
                replace(each, [insert(arith.MulfOp(each.lhs, factor, each.fastmath)).result])
                if spread is not None and spread.vector.first_use is None:
                    erase(spread)


def _one_of(type: Attribute) -> SSAValue:
    """1, or a vector of ones."""
    element = type.element_type if isinstance(type, VectorType) else type
    value = {"value": dense(1.0, element)}
    one = insert(arith.ConstantOp.create(result_types=[element], properties=value)).results[0]
    return insert(vector.BroadcastOp(one, type)).vector if isinstance(type, VectorType) else one


def _may_multiply(op: arith.DivfOp) -> bool:
    return FastMathFlag.ALLOW_RECIP in op.fastmath.data


def _outermost_without(value: SSAValue, op: Operation) -> Operation | None:
    """The outermost loop around `op` in which `value` is not defined; None if the innermost loop defines it."""
    made = defining_block(value)
    found, block = None, op.parent
    while block is not None and block is not made:
        parent = block.parent_op()
        if isinstance(parent, _LOOPS):
            found = parent
        block = None if parent is None else parent.parent
    return None if block is None else found


_LOOPS = (scf.ForOp, scf.WhileOp, scf.ParallelOp)
