"""Removes the clear of a cotangent's element, or slice, that is added back.

Reads: an array of cotangents that is cleared where the forward sweep overwrote it (marked by `mark_clear`), and to
which the cleared element is added again. `x[i] -= y` gives this, because its old value is a term of the new one.
Writes: the additions in between, to the array as it was. Leaves: no mark, and dead ops.

This changes the order of the additions. The differentiator may choose the order in which cotangents are summed, so the
pass only touches writes made by it, and never the user's, which keep their bits (lowering/clean_up/algebra.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.autodiff.updates import READS, UpdateOp, places_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.ops.indexing import AddAtOp, AddSliceOp, InsertOp, InsertSliceOp
from mlirad.xdsl_support.traversal import ops_inside

CLEARS = "mlirad.clears"


@dataclass(frozen=True)
class CancelClears(ModulePass):
    """Remove clears whose element is added back, block by block. The addition in between goes to the array itself.

    Before:

        func.func @f(%g: tensor<3xf64>, %i: i64, %j: i64, %zero: f64) -> tensor<3xf64> {
          %v = nd.extract %g[%i] : tensor<3xf64> -> f64
          %minus = nd.neg %v : f64
          %cleared = nd.insert %zero, %g[%i] {mlirad.clears} : f64 into tensor<3xf64>
          %sum = nd.add_at %minus, %cleared[%j] : f64 into tensor<3xf64>
          %d_x = nd.add_at %v, %sum[%i] : f64 into tensor<3xf64>
          func.return %d_x : tensor<3xf64>
        }

    After `mlirad-cancel-clears`:

        func.func @f(%g: tensor<3xf64>, %i: i64, %j: i64, %zero: f64) -> tensor<3xf64> {
          %v = nd.extract %g[%i] : tensor<3xf64> -> f64
          %minus = nd.neg %v : f64
          %cleared = nd.insert %zero, %g[%i] : f64 into tensor<3xf64>
          %sum = nd.add_at %minus, %g[%j] : f64 into tensor<3xf64>
          %d_x = nd.add_at %v, %sum[%i] : f64 into tensor<3xf64>
          func.return %sum : tensor<3xf64>
        }
    """

    name = "mlirad-cancel-clears"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for clear in ops_inside(op):
            if clear.attributes.pop(CLEARS, None) is not None:
                assert isinstance(clear, InsertOp | InsertSliceOp)
                added_back = _added_back(clear)
                if added_back is not None:
                    added_back.result.replace_all_uses_with(added_back.t)
                    clear.result.replace_all_uses_with(clear.t)


def mark_clear(g: Expr, cotangent: Any) -> None:
    """Remember that `cotangent`, which a rule made of the cotangent g, is g with a place cleared, if it is that."""
    clear = cotangent.value.owner if isinstance(cotangent, Expr) else None
    if isinstance(clear, InsertOp | InsertSliceOp) and clear.t is g.value:
        clear.attributes[CLEARS] = UnitAttr()


def _added_back(clear: UpdateOp) -> UpdateOp | None:
    """The addition of the element that `clear` clears, if all ops in between are additions that nothing else uses."""
    if not types.is_static(clear.value.type):
        return None  # that the lengths are equal would have to be proved
    array: SSAValue = clear.result
    while (use := array.get_user_of_unique_use()) is not None and use.parent is clear.parent:
        if not isinstance(use, AddAtOp | AddSliceOp) or use.t is not array:
            return None
        read = use.value.owner
        is_same = use.value.type == clear.value.type and _place(use) == _place(clear)
        if is_same and isinstance(read, READS) and read.t is clear.t and _place(read) == _place(clear):
            return use
        array = use.result
    return None


def _place(op: Operation) -> tuple[tuple[SSAValue, ...], Any]:
    return tuple(places_of(op)), op.properties
