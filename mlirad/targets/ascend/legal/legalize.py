"""Expands functions that the vector unit lacks into functions that it has, and computes on f16 in f32.

Reads: nd. Writes: nd; on elements of f32 only the vector unit's functions are used. Leaves: scalars that are not
elements, which the host computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import NdOp
from mlirad.lowering.clean_up.cse import Cse
from mlirad.lowering.clean_up.dce import Dce
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.lowering.to_linalg.widen_halves import WidenHalves
from mlirad.targets.ascend.legal.half_product_algebra import keep_halves
from mlirad.targets.ascend.legal.narrowing import narrow
from mlirad.targets.ascend.legal.vector_formulas import FORMULAS, Formula
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class AscendLegal(ModulePass):
    """Expand elementwise functions of arrays into formulas of vector instructions.

    Before:

        func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
          %y = nd.log2 %x : tensor<3xf32>
          func.return %y : tensor<3xf32>
        }

    After `mlirad-ascend-legal`:

        func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
          %0 = nd.log %x : tensor<3xf32>
          %cst = nd.constant {value = 1.44269502 : f32} : f32
          %1 = nd.full %cst : f32 to tensor<3xf32>
          %y = nd.mul %0, %1 : tensor<3xf32>
          func.return %y : tensor<3xf32>
        }
    """

    name = "mlirad-ascend-legal"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        narrow(op)
        Dce().apply(ctx, op)
        WidenHalves().apply(ctx, op)
        keep_halves(op)
        for each in list(ops_inside(op)):
            formula = formula_of(each)
            if formula is not None:
                with in_place_of(each):
                    built = formula.build(*map(Expr, each.operands))
                    results = built if isinstance(built, tuple) else (built,)
                    names = [result.name_hint for result in each.results]
                    replace(each, [result.value for result in results])
                for name, result in zip(names, results, strict=True):
                    result.value.name_hint = name
        Cse().apply(ctx, op)
        Dce().apply(ctx, op)


def formula_of(op: Operation) -> Formula | None:
    """The formula of an op on arrays of f32 that is not a vector instruction."""
    if not isinstance(op, NdOp) or not op.results or not types.is_tensor(op.results[0].type):
        return None
    found = next((FORMULAS[each] for each in op.spellings if each in FORMULAS), None)
    return found if types.element_type(op.results[0].type) == types.F32 else None
