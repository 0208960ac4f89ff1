"""Reads and writes one element of each row under a mask, in the nests that compute the rows.

Reads: nd on tensors. Writes: nd: comparisons, selects and largest elements. Leaves: writes to long rows, and arrays
that are not computed element by element; for a write, for this write alone.

`s[np.arange(n), labels]`, and its gradient, which adds to these elements, are loops of their own: they cannot be vector
loops, cannot run row by row with the nests around them, and need the array in memory. In short rows it costs less to
compare each element's column with the label; and a nest that reads so needs to compute only the chosen element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.dialect.arrays.gather import Places
from mlirad.dialect.arrays.indexed_op import counts_up
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, where
from mlirad.dialect.core.op import NdOp, accessed_subset, is_pointwise
from mlirad.dialect.core.subset import Change
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import TransposeOp, broadcast
from mlirad.dialect.ops.reduction import MaxOp
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_inside

_LONGEST_WRITTEN_ROW = 32
"""With more elements, comparing all of them costs more than a loop that touches one. Rows that are read have no limit:
their loops read one element (`to_loops/picked_elements.py`)."""


@dataclass(frozen=True)
class MaskRows(ModulePass):
    """Select elements by their column.

    Before:

        func.func @f(%x: tensor<90x4xf64>, %v: tensor<90xf64>, %columns: tensor<90xi64>) -> tensor<90x4xf64> {
          %rows = nd.arange : tensor<90xi64>
          %t = nd.exp %x : tensor<90x4xf64>
          %y = nd.scatter_add %v, %t[%rows, %columns] {axes = array<i64: 0, 1>, at = 0 : i64}
              : tensor<90xf64> into tensor<90x4xf64>[tensor<90xi64>, tensor<90xi64>]
          func.return %y : tensor<90x4xf64>
        }

    After `mlirad-mask-rows`:

        func.func @f(%x: tensor<90x4xf64>, %v: tensor<90xf64>, %columns: tensor<90xi64>) -> tensor<90x4xf64> {
          %rows = nd.arange : tensor<90xi64>
          %t = nd.exp %x : tensor<90x4xf64>
          %0 = nd.broadcast %v {dims = array<i64: 0>} : tensor<90xf64> to tensor<90x4xf64>
          %1 = nd.add %t, %0 : tensor<90x4xf64>
          %cst = nd.constant {value = dense<[0, 1, 2, 3]> : tensor<4xi64>} : tensor<4xi64>
          %2 = nd.broadcast %cst {dims = array<i64: 1>} : tensor<4xi64> to tensor<90x4xi64>
          %3 = nd.broadcast %columns {dims = array<i64: 0>} : tensor<90xi64> to tensor<90x4xi64>
          %4 = nd.equal %2, %3 : (tensor<90x4xi64>, tensor<90x4xi64>) -> tensor<90x4xi1>
          %y = nd.select %4, %1, %t : tensor<90x4xi1>, tensor<90x4xf64>
          func.return %y : tensor<90x4xf64>
        }
    """

    name = "mlirad-mask-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in ops_inside(op):
            subset = accessed_subset(each)
            if not isinstance(subset, Places) or (chosen := _chosen(subset)) is None:
                continue
            if subset.change is Change.NONE and _is_computed(subset.array) and not types.is_complex(subset.array.type):
                with in_place_of(each):
                    replace(each, [_read(subset, chosen).value])
            elif subset.change in (Change.REPLACED, Change.ADDED) and _is_made_for(each, subset):
                with in_place_of(each):
                    replace(each, [_written(subset, chosen).value])


@dataclass(frozen=True)
class _Chosen:
    """The element that is accessed: for each index along the axis `rows`, its index along the axis `column`."""

    rows: int
    column: int
    index: SSAValue


def _chosen(access: Places) -> _Chosen | None:
    """The element of each row, if an access to short rows is to one element of each."""
    if len(access.indexed) != 2 or not types.is_static(access.array.type):
        return None
    shape = types.shape(access.array.type)
    for own, other in ((0, 1), (1, 0)):
        rows, column = access.indexed[own], access.indexed[other]
        is_each = types.shape(access.places[own].type) == (shape[rows],) and counts_up(access.places[own])
        is_short = shape[column] <= _LONGEST_WRITTEN_ROW or access.change is Change.NONE
        if is_each and shape[column] >= 1 and is_short:
            return _Chosen(rows, column, access.places[other])
    return None


def _is_computed(array: SSAValue) -> bool:
    """Whether an array is computed element by element, and need not be in memory for a nest that reads it."""
    return isinstance(array.owner, NdOp) and is_pointwise(array.owner)


def _is_made_for(write: Operation, subset: Places) -> bool:
    """Whether the nest that computes an array can compute the write, too."""
    array = subset.array
    is_filled = isinstance(array.owner, NdOp) and array.owner.contents() is not None
    return is_filled or (_is_computed(array) and array.has_one_use() and array.owner.parent is write.parent)


def _read(subset: Places, chosen: _Chosen) -> Expr:
    """The largest element of each row, after all but the chosen one were replaced by the least number."""
    array = Expr(subset.array)
    least = constant(MaxOp.neutral(array.element), array.element)
    found = emit(MaxOp, where(_is_chosen(subset, chosen), array, least), axes=[chosen.column])
    axes = _axes_of_part(subset, chosen)
    return _transposed(found, [sorted(axes).index(axis) for axis in axes])


def _written(subset: Places, chosen: _Chosen) -> Expr:
    array, axes = Expr(subset.array), _axes_of_part(subset, chosen)
    part = _transposed(Expr(subset.part), sorted(range(len(axes)), key=axes.__getitem__))
    part = broadcast(part, sorted(axes), array.shape)
    changed = array + part if subset.change is Change.ADDED else part
    return where(_is_chosen(subset, chosen), changed, array)


def _is_chosen(subset: Places, chosen: _Chosen) -> Expr:
    shape = types.shape(subset.array.type)
    columns = broadcast(counted(shape[chosen.column]), [chosen.column], shape)
    return columns == broadcast(Expr(chosen.index), [chosen.rows], shape)


def _axes_of_part(subset: Places, chosen: _Chosen) -> list[int]:
    """For each axis of the part, the axis of the array."""
    return [chosen.rows if axis is None else axis for axis in subset.axes]


def _transposed(x: Expr, order: Sequence[int]) -> Expr:
    return x if list(order) == list(range(len(order))) else emit(TransposeOp, x, permutation=order)
