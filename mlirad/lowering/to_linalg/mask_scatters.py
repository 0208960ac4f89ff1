"""Writes one element of each short row under a mask, in the nest that computes the rows.

Reads: nd on tensors. Writes: nd: comparisons and selects. Leaves: long rows, and arrays that are not computed element
by element for this write alone.

`t[np.arange(n), labels] = v`, or its gradient, which adds, is a loop of its own: it cannot be a vector loop, and cannot
run row by row with the nests around it. In short rows it costs less to compare each element's column with the label.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.dialect.arrays.gather import Places, counts_up
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit, where
from mlirad.dialect.core.op import NdOp, is_pointwise, written_subset
from mlirad.dialect.core.subset import Change
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import TransposeOp, broadcast
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_inside

_LONGEST_ROW = 32
"""With more elements, comparing all of them costs more than a loop that touches one."""


@dataclass(frozen=True)
class MaskScatters(ModulePass):
    """Select the written elements by their column.

    Before:

        func.func @f(%x: tensor<90x4xf64>, %v: tensor<90xf64>, %columns: tensor<90xi64>) -> tensor<90x4xf64> {
          %rows = nd.arange : tensor<90xi64>
          %t = nd.exp %x : tensor<90x4xf64>
          %y = nd.scatter_add %v, %t[%rows, %columns] {axes = array<i64: 0, 1>, at = 0 : i64}
              : tensor<90xf64> into tensor<90x4xf64>[tensor<90xi64>, tensor<90xi64>]
          func.return %y : tensor<90x4xf64>
        }

    After `mlirad-mask-scatters`:

        func.func @f(%x: tensor<90x4xf64>, %v: tensor<90xf64>, %columns: tensor<90xi64>) -> tensor<90x4xf64> {
          %rows = nd.arange : tensor<90xi64>
          %t = nd.exp %x : tensor<90x4xf64>
          %cst = nd.constant {value = dense<[0, 1, 2, 3]> : tensor<4xi64>} : tensor<4xi64>
          %0 = nd.broadcast %cst {dims = array<i64: 1>} : tensor<4xi64> to tensor<90x4xi64>
          %1 = nd.broadcast %v {dims = array<i64: 0>} : tensor<90xf64> to tensor<90x4xf64>
          %2 = nd.add %t, %1 : tensor<90x4xf64>
          %3 = nd.broadcast %columns {dims = array<i64: 0>} : tensor<90xi64> to tensor<90x4xi64>
          %4 = nd.equal %0, %3 : (tensor<90x4xi64>, tensor<90x4xi64>) -> tensor<90x4xi1>
          %y = nd.select %4, %2, %t : tensor<90x4xi1>, tensor<90x4xf64>
          func.return %y : tensor<90x4xf64>
        }
    """

    name = "mlirad-mask-scatters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for write in ops_inside(op):
            subset = written_subset(write)
            if not isinstance(subset, Places) or not _is_made_for(write, subset):
                continue
            if (chosen := _chosen(subset)) is not None:
                with in_place_of(write):
                    replace(write, [_masked(subset, chosen).value])


@dataclass(frozen=True)
class _Chosen:
    """For each index along the axis `rows`, the index along the axis `column` of the element that is written."""

    rows: int
    column: int
    index: SSAValue


def _chosen(write: Places) -> _Chosen | None:
    """The element of each row, if a write to short rows is to one element of each."""
    if write.change is Change.OTHER or len(write.indexed) != 2 or not types.is_static(write.array.type):
        return None
    shape = types.shape(write.array.type)
    for own, other in ((0, 1), (1, 0)):
        rows, column = write.indexed[own], write.indexed[other]
        is_each = types.shape(write.places[own].type) == (shape[rows],) and counts_up(write.places[own])
        if is_each and shape[column] <= _LONGEST_ROW:
            return _Chosen(rows, column, write.places[other])
    return None


def _is_made_for(write: Operation, subset: Places) -> bool:
    """Whether the nest that computes the array can compute the write, too."""
    owner = subset.array.owner
    if not isinstance(owner, NdOp):
        return False
    return owner.contents() is not None or (
        owner.parent is write.parent and subset.array.has_one_use() and is_pointwise(owner)
    )


def _masked(write: Places, chosen: _Chosen) -> Expr:
    array, shape = Expr(write.array), types.shape(write.array.type)
    columns = broadcast(counted(shape[chosen.column]), [chosen.column], shape)
    axes = [chosen.rows if axis is None else axis for axis in write.axes]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    part = Expr(write.part)
    if order != list(range(len(axes))):
        part = emit(TransposeOp, part, permutation=order)
    part = broadcast(part, sorted(axes), shape)
    changed = array + part if write.change is Change.ADDED else part
    return where(columns == broadcast(Expr(chosen.index), [chosen.rows], shape), changed, array)
