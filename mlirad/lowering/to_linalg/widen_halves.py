"""Computes on f16 in f32, as NumPy does: memory still holds f16, and each result is rounded to it once.

Reads: nd. Writes: nd.cast around the same ops on f32. Leaves: f16 in constants, in ops that move elements, in additions
to elements, and in carries and calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.compare import cast
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class WidenHalves(ModulePass):
    """Compute on f16 in f32.

    Before:

        func.func @f(%x: tensor<3xf16>) -> f16 {
          %a = nd.exp %x : tensor<3xf16>
          %y = nd.sum %a {axes = array<i64: 0>} : tensor<3xf16> to f16
          func.return %y : f16
        }

    After `mlirad-widen-halves`:

        func.func @f(%x: tensor<3xf16>) -> f16 {
          %0 = nd.cast %x : tensor<3xf16> to tensor<3xf32>
          %1 = nd.exp %0 : tensor<3xf32>
          %a = nd.cast %1 : tensor<3xf32> to tensor<3xf16>
          %2 = nd.cast %a : tensor<3xf16> to tensor<3xf32>
          %3 = nd.sum %2 {axes = array<i64: 0>} : tensor<3xf32> to f32
          %y = nd.cast %3 : f32 to f16
          func.return %y : f16
        }
    """

    name = "mlirad-widen-halves"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(ops_inside(op)):
            if isinstance(each, NdOp) and each.is_rounded() and any(map(_is_half, (*each.operands, *each.results))):
                _widen(each)


def _is_half(value: SSAValue) -> bool:
    return types.element_type(value.type) == types.F16


def _widen(op: NdOp) -> None:
    with in_place_of(op):
        operands = [cast(Expr(each), types.F32) if _is_half(each) else Expr(each) for each in op.operands]
        pairs = zip(op.rebuild(*operands), op.results, strict=True)
        replace(op, [cast(new, types.element_type(old.type)).value for new, old in pairs])
