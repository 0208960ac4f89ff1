"""Lets products read windows of arrays, and large factors in another order, in place of copies of them.

Reads: linalg.generic on tensors. Writes: linalg.generic that read an array at sums of indices. Leaves: windows whose
elements a vector would have to gather one by one, and other readers of windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import insert
from mlirad.dialect.core.upstream import empty, filled, generic, map_of, reshaped, segments
from mlirad.lowering.loop_body import body_of
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.xdsl_support.traversal import ops_inside

Groups = tuple[tuple[int, ...], ...]
_PACKED, _FEWEST_COLUMNS = 1 << 18, 64
"""From so many bytes and columns on, a product packs its other factor. It is then packed from where it is, instead of
from a copy with its axes in another order."""


@dataclass(frozen=True)
class FoldWindows(ModulePass):
    """Read windows in the product that multiplies them.

    Before:

        func.func @f(%a: tensor<5x3xf64>, %x: tensor<9xf64>, %c: tensor<5x7xf64>) -> tensor<5x7xf64> {
          %0 = tensor.empty() : tensor<3x7xf64>
          %w = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i, j)>],
                               iterator_types = ["parallel", "parallel"]}
              ins(%x : tensor<9xf64>) outs(%0 : tensor<3x7xf64>) {
          ^bb0(%1: f64, %2: f64):
            linalg.yield %1 : f64
          } -> tensor<3x7xf64>
          %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                                affine_map<(i, j, k) -> (i, j)>],
                               iterator_types = ["parallel", "parallel", "reduction"]}
              ins(%a, %w : tensor<5x3xf64>, tensor<3x7xf64>) outs(%c : tensor<5x7xf64>) {
          ^bb0(%3: f64, %4: f64, %5: f64):
            %6 = arith.mulf %3, %4 : f64
            %7 = arith.addf %5, %6 : f64
            linalg.yield %7 : f64
          } -> tensor<5x7xf64>
          func.return %y : tensor<5x7xf64>
        }

    After `mlirad-fold-windows`:

        func.func @f(%a: tensor<5x3xf64>, %x: tensor<9xf64>, %c: tensor<5x7xf64>) -> tensor<5x7xf64> {
          %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k + j)>,
                                                affine_map<(i, j, k) -> (i, j)>],
                               iterator_types = ["parallel", "parallel", "reduction"]}
              ins(%a, %x : tensor<5x3xf64>, tensor<9xf64>) outs(%c : tensor<5x7xf64>) {
          ^bb0(%0: f64, %1: f64, %2: f64):
            %3 = arith.mulf %0, %1 : f64
            %4 = arith.addf %2, %3 : f64
            linalg.yield %4 : f64
          } -> tensor<5x7xf64>
          func.return %y : tensor<5x7xf64>
        }
    """

    name = "mlirad-fold-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in ops_inside(op):
            if not isinstance(product, GenericOp) or len(product.inputs) != 2 or len(product.outputs) != 1:
                continue
            if any(not isinstance(e, AffineDimExpr) for each in product.indexing_maps for e in each.data.results):
                continue
            for number, value in enumerate(product.inputs):
                windows = _windows_of(value)
                if windows is not None and body_of(product.body.block).is_multiply_add:
                    folded = _Folded.of(product, number, *windows)
                    if folded.is_worth_while:
                        folded.replace()
                        break


def _windows_of(value: SSAValue) -> tuple[GenericOp, Groups] | None:
    """The op that copies windows, and which of their axes are one axis of the value."""
    groups = tuple((axis,) for axis in range(len(types.shape(value.type))))
    made = value.owner
    if isinstance(made, tensor.CollapseShapeOp):
        groups = tuple(tuple(axis.value.data for axis in group) for group in made.reassociation)
        made = made.src.owner
    if not isinstance(made, GenericOp) or len(made.inputs) != 1 or len(made.outputs) != 1:
        return None
    (only,) = made.body.block.ops if len(list(made.body.block.ops)) == 1 else (None,)
    if not isinstance(only, YieldOp) or only.operands[0] is not made.body.block.args[0]:
        return None
    source, target = (each.data for each in made.indexing_maps)
    if target != AffineMap.identity(target.num_dims) or all(isinstance(e, AffineDimExpr) for e in source.results):
        return None
    return (made, groups) if types.is_static(value.type) and types.is_static(made.inputs[0].type) else None


def _copied(value: SSAValue, shape: Sequence[int]) -> tuple[SSAValue, list[int]] | None:
    """What is copied with its axes in another order to make a value, if it has that shape before it is reshaped; and
    the value's axis for each axis of it."""
    while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp) and value.has_one_use():
        value = value.owner.src
    made = value.owner
    if not isinstance(made, GenericOp) or not value.has_one_use() or tuple(types.shape(value.type)) != tuple(shape):
        return None
    ops = list(made.body.block.ops)
    if len(made.inputs) != 1 or len(ops) != 1 or ops[0].operands[0] is not made.body.block.args[0]:
        return None
    source, target = (each.data for each in made.indexing_maps)
    axes = _labels(source)
    is_order = sorted(axes) == list(range(len(shape))) and target == AffineMap.identity(target.num_dims)
    return (made.inputs[0], axes) if is_order and len(axes) == len(source.results) else None


@dataclass(frozen=True)
class _Folded:
    """A product in which every axis of the windows is a loop.

    loops: for each loop of the old product its new ones.
    """

    product: GenericOp
    number: int
    windows: GenericOp
    groups: Groups
    loops: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(product: GenericOp, number: int, windows: GenericOp, groups: Groups) -> _Folded:
        labels = _labels(product.indexing_maps.data[number].data)
        count, loops = 0, []
        for d in range(len(product.iterator_types)):
            width = len(groups[labels.index(d)]) if d in labels else 1
            loops.append(tuple(range(count, count + width)))
            count += width
        return _Folded(product, number, windows, groups, tuple(loops))

    @property
    def is_worth_while(self) -> bool:
        """Whether vectors of the result are products with adjacent elements of the array, or with single ones."""
        windows, other, out = self._places()
        last = windows[-1]
        if self._is_summed:
            is_cleared = isinstance(self.product.outputs[0].owner, FillOp) and self.product.outputs[0].has_one_use()
            return is_cleared and len(set(out) - set(windows)) == 1
        source = self.windows.indexing_maps.data[0].data
        shared = set(windows) & set(out) - set(other)
        return (
            out[-1] == last
            and source.results[-1].eval(_unit(source.num_dims, source.num_dims - 1), ()) == 1
            and tuple(d for d in out if d in shared) == out[-len(shared) :]
            and len(set(out) - set(windows)) > 0
        )

    @property
    def _is_summed(self) -> bool:
        """Whether the sum runs along the windows' last axis: a vector of the rest then multiplies each element."""
        windows, other, out = self._places()
        return windows[-1] in other and windows[-1] not in out and len(set(windows) & set(out) - set(other)) > 0

    def _places(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The new loops along the axes of the windows, of the other factor and of the result."""
        maps = self.product.indexing_maps.data
        windows, other, out = (
            tuple(each for d in _labels(maps[number].data) for each in self.loops[d])
            for number in (self.number, 1 - self.number, 2)
        )
        return windows, other, out

    def _packs_rows(self, sizes: Mapping[int, int]) -> bool:
        """Whether the other factor will certainly be copied into the order in which tiles read it."""
        windows, other, out = self._places()
        columns = prod(sizes[d] for d in windows if d in out and d not in other)
        factor = prod(sizes[d] for d in other if d not in windows or d not in out)
        width = types.itemsize(types.element_type(self.product.results[0].type))
        return not self._is_summed and columns >= _FEWEST_COLUMNS and factor * width >= _PACKED

    def replace(self) -> None:
        product, (windows, other, out) = self.product, self._places()
        count = sum(map(len, self.loops))
        sizes = dict(zip(windows, types.shape(self.windows.results[0].type), strict=True))
        for d, size in _sizes(product).items():
            if len(self.loops[d]) == 1:
                sizes[self.loops[d][0]] = size
        source = self.windows.indexing_maps.data[0].data
        place = tuple(e.replace_dims_and_symbols([AffineDimExpr(d) for d in windows], []) for e in source.results)
        weights, shape = product.inputs[1 - self.number], [sizes[d] for d in other]
        copied = _copied(weights, shape) if self._packs_rows(sizes) else None
        with in_place_of(product):
            if copied is None:
                second, axes = reshaped(weights, shape), other
            else:
                second, axes = copied[0], tuple(other[axis] for axis in copied[1])
            maps, factors = (
                [AffineMapAttr(AffineMap(count, 0, place)), map_of(count, axes)],
                [self.windows.inputs[0], second],
            )
            if self.number == 1:
                maps.reverse()
                factors.reverse()
            kinds = [IteratorType.PARALLEL if d in out else IteratorType.REDUCTION for d in range(count)]
            order = out
            if self._is_summed:
                order = (*(d for d in out if d in windows), *(d for d in out if d not in windows))
            op = GenericOp.create(
                operands=[*factors, memory := _memory(product.outputs[0], [sizes[d] for d in order])],
                result_types=[memory.type],
                properties={
                    "indexing_maps": ArrayAttr([*maps, map_of(count, order)]),
                    "iterator_types": ArrayAttr([IteratorTypeAttr(kind) for kind in kinds]),
                    "operandSegmentSizes": segments(2, 1),
                },
                regions=[product.detach_region(product.body)],
            )
            made = _in_order(insert(op).results[0], [order.index(d) for d in out])
            _pass_on(product.results[0], made)
            unused = product.inputs[self.number], product.outputs[0], *([weights] if copied is not None else [])
            if product.results[0].uses.get_length():
                product.results[0].replace_all_uses_with(reshaped(made, types.shape(product.results[0].type)))
        erase(product)
        for value in unused:
            _erase_unused(value)


def _memory(out: SSAValue, shape: Sequence[int]) -> SSAValue:
    """What the product is added to, in another shape."""
    fill = out.owner
    if isinstance(fill, FillOp) and out.has_one_use():
        return filled(fill.inputs[0], types.tensor(shape, types.element_type(out.type)))
    return reshaped(out, shape)


def _in_order(value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The value with its axes in another order."""
    if list(axes) == sorted(axes):
        return value
    element, shape = types.element_type(value.type), types.shape(value.type)
    body = Block(arg_types=[element, element])
    body.add_op(YieldOp(body.args[0]))
    memory = empty(types.tensor([shape[axis] for axis in axes], element))
    return generic(
        [value], memory, (tuple(axes.index(axis) for axis in range(len(axes))), tuple(range(len(axes)))), body
    )


def _pass_on(old: SSAValue, new: SSAValue) -> None:
    """Let those that expand the old value use the new one, if it has these axes already, after some of size 1."""
    shape = types.shape(new.type)
    for expand in [use.operation for use in old.uses]:
        if not isinstance(expand, tensor.ExpandShapeOp):
            continue
        wanted = types.shape(expand.result.type)
        if wanted != (1,) * (len(wanted) - len(shape)) + tuple(shape):
            continue
        for use in list(expand.result.uses):
            if isinstance(use.operation, tensor.InsertSliceOp) and use.index == 0:
                use.operation.operands[0] = new
        if expand.result.uses.get_length():
            with in_place_of(expand):
                expand.result.replace_all_uses_with(reshaped(new, wanted))
        erase(expand)


def _erase_unused(value: SSAValue) -> None:
    """Erase what nothing uses: reshaped windows, a clear, and the memory of both."""
    made = value.owner
    if isinstance(made, tensor.CollapseShapeOp | GenericOp | FillOp | tensor.EmptyOp) and not value.uses.get_length():
        operands = list(made.operands)
        erase(made)
        if operands:
            _erase_unused(operands[-1])


def _labels(map: AffineMap) -> list[int]:
    return [e.position for e in map.results if isinstance(e, AffineDimExpr)]


def _sizes(op: GenericOp) -> dict[int, int]:
    """The size of each loop."""
    maps = [each.data for each in op.indexing_maps.data]
    return {
        d: size
        for operand, map in zip(op.operands, maps, strict=True)
        for d, size in zip(_labels(map), types.shape(operand.type), strict=True)
    }


def _unit(count: int, axis: int) -> list[int]:
    return [int(d == axis) for d in range(count)]
