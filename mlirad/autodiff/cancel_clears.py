"""Removes the clear of a cotangent's element, or slice, that is added back.

Reads: an array of cotangents in which an element is cleared (marked by `mark_clear`), because the forward sweep
overwrote it, and later added again. `x[i] -= y` does this, because the new value contains the old one. Writes: the
additions in between, now on the original array. Leaves: no mark, and dead ops.

The pass changes the order of the additions. The differentiator may choose the order in which it sums cotangents, so the
pass touches only its own writes. The user's writes keep their bits (lowering/clean_up/algebra.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from mlirad.autodiff.updates import is_same_part, subset_of
from mlirad.dialect.core.answers import Cotangent
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import NdOp, read_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.xdsl_support.traversal import ops_inside

CLEARS = "mlirad.clears"


@dataclass(frozen=True)
class CancelClears(ModulePass):
    """Remove clears whose element is added back, block by block. Additions in between update the original array.

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
                assert isinstance(clear, NdOp)
                cleared = subset_of(clear)
                found = _added_back(clear, cleared)
                if found is not None:
                    added_back, added = found
                    added_back.results[0].replace_all_uses_with(added.array)
                    clear.results[0].replace_all_uses_with(cleared.array)


def mark_clear(g: Expr, cotangent: Cotangent) -> None:
    """Mark `cotangent`, which a rule computed from g, if it is g with one part cleared."""
    clear = cotangent.value.owner if isinstance(cotangent, Expr) else None
    write = None if clear is None else written_subset(clear)
    if isinstance(clear, NdOp) and write is not None and write.holds_part and write.array is g.value:
        clear.attributes[CLEARS] = UnitAttr()


def _added_back(clear: NdOp, cleared: Subset) -> tuple[NdOp, Subset] | None:
    """The op that adds the cleared part back, if all ops in between are additions with no other use."""
    array: SSAValue = clear.results[0]
    while (use := array.get_user_of_unique_use()) is not None and use.parent is clear.parent:
        added = written_subset(use)
        if added is None or not isinstance(use, NdOp) or added.change is not Change.ADDED or added.array is not array:
            return None
        read = read_subset(added.part.owner)
        if read is not None and read.array is cleared.array:
            if is_same_part(added, cleared) and is_same_part(read, cleared):
                return use, added
        array = use.results[0]
    return None
