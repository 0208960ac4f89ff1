"""An identity of nd ops: the sum of overlapping windows of a product is a product with windows.

Reads: nd, with `nd.overlap` of `nd.contract`. Writes: nd, with `nd.contract` of `nd.windows` of a padded factor.
Leaves: windows in steps, other orders of axes, and sums for which the product would take more than twice as many
multiplications, or would have few rows.

The gradient of a convolution by its image is the product of the weights with the results' cotangents, as large as all
windows, and then the sum of these windows. The same sum is a convolution of the padded cotangents with the reversed
weights, and such products read windows in place (`fold_windows.py`). The weights are reversed where they are defined,
before a loop over images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis.constants import constant_int
from mlirad.dialect.arrays.slices import ExtractSliceOp, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, constant, emit, emitting, full, integers
from mlirad.dialect.layers.windows import OverlapOp, WindowsOp
from mlirad.dialect.ops.contraction import ContractOp, contract
from mlirad.dialect.ops.movement import ReshapeOp, TransposeOp, reshape
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.xdsl_support.traversal import ops_inside

_MOST_WORK = 2
"""The most multiplications for each one of the product before."""
_PACKED = 4
"""Each row of the product saves the time to pack so many of its steps: a window's element is written and summed."""


@dataclass(frozen=True)
class MultiplyOverlaps(ModulePass):
    """Multiply windows instead of summing the windows of a product.

    Before:

        func.func @f(%w: tensor<4x6xf64>, %g: tensor<4x9xf64>) -> tensor<2x11xf64> {
          %y = nd.contract "ki,kj->ij" %w, %g : (tensor<4x6xf64>, tensor<4x9xf64>) -> tensor<6x9xf64>
          %z = nd.reshape %y : tensor<6x9xf64> to tensor<2x3x9xf64>
          %x = nd.overlap %z {axes = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 1>}
              : tensor<2x3x9xf64> to tensor<2x11xf64>
          func.return %x : tensor<2x11xf64>
        }

    After `mlirad-multiply-overlaps`:

        func.func @f(%w: tensor<4x6xf64>, %g: tensor<4x9xf64>) -> tensor<2x11xf64> {
          %0 = nd.reshape %w : tensor<4x6xf64> to tensor<4x2x3xf64>
          %c0 = nd.constant {value = 0 : i64} : i64
          %c0_1 = nd.constant {value = 0 : i64} : i64
          %c2 = nd.constant {value = 2 : i64} : i64
          %1 = nd.extract_slice %0[%c0, %c0_1, %c2] {sizes = array<i64: 4, 2, 3>, strides = array<i64: 1, 1, -1>}
              : tensor<4x2x3xf64> -> tensor<4x2x3xf64>
          %2 = nd.transpose %1 {permutation = array<i64: 1, 0, 2>} : tensor<4x2x3xf64> to tensor<2x4x3xf64>
          %3 = nd.reshape %2 : tensor<2x4x3xf64> to tensor<2x12xf64>
          %cst = nd.constant {value = 0.000000e+00 : f64} : f64
          %4 = nd.full %cst : f64 to tensor<4x13xf64>
          %c0_2 = nd.constant {value = 0 : i64} : i64
          %c2_1 = nd.constant {value = 2 : i64} : i64
          %5 = nd.insert_slice %g, %4[%c0_2, %c2_1] {sizes = array<i64: 4, 9>, strides = array<i64: 1, 1>}
              : tensor<4x9xf64> into tensor<4x13xf64>
          %6 = nd.windows %5 {axes = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 1>}
              : tensor<4x13xf64> to tensor<4x3x11xf64>
          %7 = nd.reshape %6 : tensor<4x3x11xf64> to tensor<12x11xf64>
          %x = nd.contract "XY,YZ->XZ" %3, %7 : (tensor<2x12xf64>, tensor<12x11xf64>) -> tensor<2x11xf64>
          func.return %x : tensor<2x11xf64>
        }
    """

    name = "mlirad-multiply-overlaps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in ops_inside(op):
            if isinstance(each, OverlapOp) and (found := _Overlap.of(each)) is not None:
                found.replace()


@dataclass(frozen=True)
class _Overlap:
    """The sum of a product's windows. Each group of axes is one label of the product.

    batch, summed: the labels of both factors that are in the product, and those that are not. kept, taps, places: the
    axes of the windows that come from the first factor and stay, that come from it and move windows, and those along
    which windows lie, from the second factor. first: whether the product's first operand is the first factor here.
    """

    op: OverlapOp
    product: ContractOp
    first: int
    batch: str
    summed: str
    row: str
    column: str
    groups: dict[str, tuple[int, ...]]
    kept: tuple[int, ...]
    taps: tuple[int, ...]

    @staticmethod
    def of(op: OverlapOp) -> _Overlap | None:
        made = op.y.owner
        if isinstance(made, ReshapeOp) and op.y.has_one_use():
            made = made.x.owner
        if not isinstance(made, ContractOp) or not made.result.has_one_use():
            return None
        if types.element_type(op.y.type) not in (types.F32, types.F64):
            return None
        x, y, result = made.labels
        groups = _groups(result, types.shape(made.result.type), types.shape(op.y.type))
        if groups is None or len(result) < 2:
            return None
        row, column = result[-2:]
        first = 0 if row in x else 1
        rows, columns = (x, y) if first == 0 else (y, x)
        batch, summed = result[:-2], "".join(label for label in x if label in y and label not in result)
        if set(rows) != {*batch, *summed, row} or set(columns) != {*batch, *summed, column} or not summed:
            return None
        taps = _taps(op, groups, row, column)
        if not taps:
            return None
        kept = tuple(axis for axis in groups[row] if axis not in taps)
        found = _Overlap(op, made, first, batch, summed, row, column, groups, kept, taps)
        return found if found._is_worth_while else None

    @property
    def _shape(self) -> tuple[int, ...]:
        """Of the windows."""
        return tuple(types.shape(self.op.y.type))

    @property
    def _places(self) -> tuple[int, ...]:
        return self.groups[self.column]

    @property
    def _slice(self) -> tuple[ExtractSliceOp, list[int]] | None:
        """The slice that is all that is needed of the sum, and where it begins along the last axes."""
        value = self.op.result
        user = value.get_user_of_unique_use()
        if isinstance(user, ReshapeOp):
            value = user.result
            user = value.get_user_of_unique_use()
        if not isinstance(user, ExtractSliceOp) or user.t is not value or user.lengths:
            return None
        count, shape, sizes = len(self._places), types.shape(value.type), ints(user.sizes)
        starts = [constant_int(each) for each in user.starts]
        begins = [start for start in starts[-count:] if start is not None]
        is_whole = sizes[:-count] == tuple(shape[:-count]) and all(start == 0 for start in starts[:-count])
        is_last = shape[-count:] == types.shape(self.op.result.type)[-count:] and len(begins) == count
        return (user, begins) if is_whole and is_last and set(ints(user.strides)) == {1} else None

    @property
    def _wanted(self) -> tuple[SSAValue, list[int], list[tuple[int, int]]]:
        """The sum, or the slice that is all that is needed of it; its lengths along the axes on which windows lie; and
        by how much the second factor is padded along these."""
        places, shape, array = self._places, self._shape, types.shape(self.op.result.type)
        axes, steps = ints(self.op.axes), ints(self.op.steps)
        moved = {axes[tap]: steps[tap] * (shape[tap] - 1) for tap in self.taps}

        def padded(starts: Sequence[int], lengths: Sequence[int]) -> list[tuple[int, int]]:
            return [
                (moved.get(axes[place], 0) - start, start + length - shape[place])
                for place, start, length in zip(places, starts, lengths, strict=True)
            ]

        if (cut := self._slice) is not None:
            op, starts = cut
            lengths = list(ints(op.sizes)[-len(places) :])
            pads = padded(starts, lengths)
            if min(map(min, pads)) >= 0:
                return op.result, lengths, pads
        lengths = [array[axes[place]] for place in places]
        return self.op.result, lengths, padded([0] * len(places), lengths)

    @property
    def _is_worth_while(self) -> bool:
        labels, rows = self.product.labels[self.first], types.shape(self.product.operands[self.first].type)
        steps = prod(size for label, size in zip(labels, rows, strict=True) if label in self.summed)
        has_rows = steps <= _PACKED * prod(self._shape[axis] for axis in self.kept)
        _, lengths, _ = self._wanted
        return has_rows and prod(lengths) <= _MOST_WORK * prod(self._shape[place] for place in self._places)

    def replace(self) -> None:
        result, lengths, pads = self._wanted
        rows, columns = self.product.operands if self.first == 0 else reversed(self.product.operands)
        weights = self._reversed(rows)
        with in_place_of(self.op):
            windows = self._windows(Expr(columns), pads, lengths)
            sum = contract(f"{self.batch}XY,{self.batch}YZ->{self.batch}XZ", weights, windows)
            result.replace_all_uses_with(reshape(sum, result.type).value)
        dead = result.owner
        while isinstance(dead, ExtractSliceOp | ReshapeOp | OverlapOp | ContractOp):
            maker = dead.operands[0].owner
            erase(dead)
            dead = maker if dead is not self.product else None

    def _reversed(self, rows: SSAValue) -> Expr:
        """The first factor as a matrix of `kept` rows, whose columns are the summed labels, then the taps backwards."""
        labels = self.product.labels[self.first]
        shape, sizes = self._shape, dict(zip(labels, types.shape(rows.type), strict=True))
        owner = rows.owner
        point = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        with emitting(point, self.op.location):
            axes: list[int | str] = [
                axis for label in labels for axis in (self.groups[label] if label == self.row else (label,))
            ]
            lengths = [shape[axis] if isinstance(axis, int) else sizes[axis] for axis in axes]
            value = reshape(Expr(rows), types.tensor(lengths, types.element_type(rows.type)))
            backwards = [axis in self.taps for axis in axes]
            firsts = [length - 1 if back else 0 for length, back in zip(lengths, backwards, strict=True)]
            value = extract_slice(value, integers(firsts), lengths, [-1 if back else 1 for back in backwards])
            order = [*self.batch, *self.kept, *self.summed, *self.taps]
            value = emit(TransposeOp, value, permutation=[axes.index(axis) for axis in order])
            matrix = [prod(shape[axis] for axis in self.kept), prod(self._depths(sizes))]
            batch = [sizes[label] for label in self.batch]
            return reshape(value, types.tensor([*batch, *matrix], types.element_type(rows.type)))

    def _depths(self, sizes: dict[str, int]) -> list[int]:
        return [*(sizes[label] for label in self.summed), *(self._shape[tap] for tap in self.taps)]

    def _windows(self, value: Expr, pads: Sequence[tuple[int, int]], lengths: Sequence[int]) -> Expr:
        """The windows of the padded second factor, as matrices of summed labels and taps by places."""
        labels, element = self.product.labels[1 - self.first], types.element_type(value.type)
        sizes = dict(zip(labels, types.shape(value.type), strict=True))
        order = [*self.batch, *self.summed, self.column]
        if order != list(labels):
            value = emit(TransposeOp, value, permutation=[labels.index(label) for label in order])
        outer = [sizes[label] for label in order[:-1]]
        inner = [self._shape[place] for place in self._places]
        value = reshape(value, types.tensor([*outer, *inner], element))
        if any(low or high for low, high in pads):
            whole = [low + size + high for (low, high), size in zip(pads, inner, strict=True)]
            zeros = full(constant(0, element), [*outer, *whole])
            value = insert_slice(value, zeros, integers([0] * len(outer) + [low for low, _ in pads]))
        count, axes, steps = len(outer), ints(self.op.axes), ints(self.op.steps)
        of_place = {axes[place]: count + number for number, place in enumerate(self._places)}
        windows = emit(
            WindowsOp,
            value,
            axes=[*range(count), *(of_place[axes[tap]] for tap in self.taps), *of_place.values()],
            steps=[*[1] * count, *(steps[tap] for tap in self.taps), *[1] * len(lengths)],
            result_type=types.tensor([*outer, *(self._shape[tap] for tap in self.taps), *lengths], element),
        )
        batch = [sizes[label] for label in self.batch]
        return reshape(windows, types.tensor([*batch, prod(self._depths(sizes)), prod(lengths)], element))


def _groups(labels: str, sizes: Sequence[int], shape: Sequence[int]) -> dict[str, tuple[int, ...]] | None:
    """For each label its axes of a shape to which an array of these sizes is reshaped, if the reshape only splits."""
    found: dict[str, tuple[int, ...]] = {}
    axis = 0
    for label, size in zip(labels, sizes, strict=True):
        start, product = axis, 1
        while axis < len(shape) and (axis == start or product < size):
            product *= shape[axis]
            axis += 1
        if product != size:
            return None
        found[label] = tuple(range(start, axis))
    if prod(shape[axis:]) != 1:
        return None
    last = labels[-1]
    return found | {last: (*found[last], *range(axis, len(shape)))}


def _taps(op: OverlapOp, groups: dict[str, tuple[int, ...]], row: str, column: str) -> tuple[int, ...]:
    """The axes of the rows that move windows, if windows lie along all axes of the columns in steps of 1, and all other
    axes are those of the array, in its order."""
    axes, steps = ints(op.axes), ints(op.steps)
    taps: list[int] = []
    for axis in range(len(types.shape(op.result.type))):
        parts = [r for r, each in enumerate(axes) if each == axis]
        *moving, place = parts
        if steps[place] != 1 or len(moving) > 1 or (moving and place not in groups[column]):
            return ()
        taps += moving
    others = [axes[r] for r in range(len(axes)) if r not in taps]
    is_from_rows = all(tap in groups[row] for tap in taps)
    return tuple(taps) if is_from_rows and others == sorted(others) else ()
