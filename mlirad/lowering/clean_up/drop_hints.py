"""Removes hints to differentiation and its attributes: checkpointing, `ad.stop`, and derivative rules.

Reads and writes: any stage, in place. Leaves: no attribute of the dialect `ad`, and no `ad.stop`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from mlirad.analysis.rule_attributes import drop_own_rule
from mlirad.dialect.ad.notes import BUDGET, CHECKPOINT, RECOVERED
from mlirad.dialect.core.op import NdOp
from mlirad.lowering.rewriting import replace
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class DropHints(ModulePass):
    """Remove the attributes of the dialect `ad` from every loop and function, and `ad.stop`.

    Before:

        func.func @f(%x: f64, %n: i64, %zero: i64, %one: i64) -> f64 {
          %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
            %u = ad.stop %s : f64
            %v = nd.sin %u : f64
            scf.yield %v : f64
          } {ad.checkpoint = 3 : i64}
          func.return %y : f64
        }

    After `mlirad-drop-hints`:

        func.func @f(%x: f64, %n: i64, %zero: i64, %one: i64) -> f64 {
          %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
            %v = nd.sin %s : f64
            scf.yield %v : f64
          }
          func.return %y : f64
        }
    """

    name = "mlirad-drop-hints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes.pop(BUDGET, None)
        for inner in list(ops_inside(op)):
            for hint in (BUDGET, CHECKPOINT, RECOVERED):
                inner.attributes.pop(hint, None)
            drop_own_rule(inner)
            if isinstance(inner, NdOp) and (operand := inner.hinted()) is not None:
                replace(inner, [operand])
