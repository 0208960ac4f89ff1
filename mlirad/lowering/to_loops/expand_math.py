"""Expands math on vectors into polynomials, or, without a polynomial, into scalar math, lane by lane.

Reads: math on vectors. Writes: arith, vector and scf. Leaves: math on scalars, and vector ops that processors have
instructions for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, math
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.lowering.loop_builder import LoopBuilder
from mlirad.lowering.loop_constants import Constants
from mlirad.lowering.to_loops.inverse_math import INVERSES
from mlirad.lowering.to_loops.lanes import Lanes
from mlirad.lowering.to_loops.powers import power
from mlirad.lowering.to_loops.vector_math import EXPANSIONS, FORMATS, by_lanes
from mlirad.xdsl_support.traversal import ops_inside

_NATIVE = (
    math.AbsFOp,
    math.AbsIOp,
    math.CeilOp,
    math.CopySignOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.RsqrtOp,
    math.SqrtOp,
    math.TruncOp,
)
_INACCURATE = (math.CbrtOp,)
"""Ops that are expanded on scalars too: the C library's results may be wrong by several units in the last place."""
_ALL = EXPANSIONS | INVERSES | {math.PowFOp: lambda _, x, y: power(x, y)}
_EXPANDED = frozenset(math.Math.operations) - frozenset(_NATIVE)


@dataclass(frozen=True)
class ExpandMath(ModulePass):
    """Expand math on vectors into polynomials; ops without one become loops over the lanes.

    The results are within 2 units in the last place, and do not depend on the lane.

    Before:

        func.func @f(%x: vector<4xf64>) -> vector<4xf64> {
          %y = math.erf %x : vector<4xf64>
          func.return %y : vector<4xf64>
        }

    After `mlirad-expand-math`:

        func.func @f(%x: vector<4xf64>) -> vector<4xf64> {
          %0 = arith.constant dense<0.000000e+00> : vector<4xf64>
          %1 = arith.constant 0 : index
          %2 = arith.constant 4 : index
          %3 = arith.constant 1 : index
          %y = scf.for %4 = %1 to %2 step %3 iter_args(%5 = %0) -> (vector<4xf64>) {
            %6 = vector.extract %x[%4] : f64 from vector<4xf64>
            %7 = math.erf %6 : f64
            %8 = vector.insert %7, %5 [%4] : f64 into vector<4xf64>
            scf.yield %8 : vector<4xf64>
          }
          func.return %y : vector<4xf64>
        }
    """

    name = "mlirad-expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _expand(function)


def is_expanded(op: Operation) -> bool:
    """Whether it is computed on vectors by other means than on scalars."""
    return op.__class__ in _EXPANDED


def _expand(function: func.FuncOp) -> None:
    """Expand one function's ops, which share their constants."""
    constants = Constants(function.body.blocks[0])
    for op in ops_inside(function):
        if op.__class__ in _EXPANDED and isinstance(op.results[0].type, VectorType):
            _replace(op, LoopBuilder(op, constants))
        elif op.__class__ in _INACCURATE:
            _replace_scalar(op, LoopBuilder(op, constants))


def _replace(op: Operation, builder: LoopBuilder) -> None:
    type = op.results[0].type
    assert isinstance(type, VectorType)
    expansion = _expansion(op)
    if expansion is not None and type.element_type.bitwidth in FORMATS:
        result = expansion(op, *(Lanes(builder, operand) for operand in op.operands)).value
    else:
        result = by_lanes(builder, op, op.operands, type)
    _put(op, result)


def _replace_scalar(op: Operation, builder: LoopBuilder) -> None:
    """Apply the vector function to one lane."""
    expansion = _expansion(op)
    assert expansion is not None
    vectors = (Lanes(builder, builder.splat(operand, 1)) for operand in op.operands)
    _put(op, builder.extract(expansion(op, *vectors).value, 0, op.results[0].type))


def _expansion(op: Operation) -> Callable[..., Lanes] | None:
    return _ALL.get(op.__class__)


def _put(op: Operation, result: SSAValue) -> None:
    op.results[0].replace_all_uses_with(result)
    op.detach()
    op.erase()
