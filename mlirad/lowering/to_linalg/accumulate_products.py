"""Adds products to the sums that loops carry, without an array for each product.

Reads: linalg.generic on tensors in `scf.for`. Writes: products whose initial result is the carried sum. Leaves: sums
that a trip reads in another way, and sums with other initial values than zeros, if they are not in the product's own
shape.

The reverse sweep of a loop sums the cotangents of what its trips share: the weights of a layer, for images or for steps
in time. Each trip computed a product, brought its axes into the order of the weights, and added it to the sum. Now the
sum has the product's order of axes until the loop ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf, tensor
from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from mlirad.analysis.constants import is_number
from mlirad.analysis.loops import Carry, Loop
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import emitting
from mlirad.dialect.core.upstream import empty, filled
from mlirad.lowering.loop_body import body_of
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class AccumulateProducts(ModulePass):
    """Let a product begin with a carried sum, in place of zeros.

    Before:

        func.func @f(%a: tensor<4x8x3xf64>, %b: tensor<4x3x5xf64>, %zero: index, %one: index, %n: index)
            -> tensor<8x5xf64> {
          %0 = arith.constant 0.0 : f64
          %1 = tensor.empty() : tensor<8x5xf64>
          %2 = linalg.fill ins(%0 : f64) outs(%1 : tensor<8x5xf64>) -> tensor<8x5xf64>
          %t = scf.for %i = %zero to %n step %one iter_args(%s = %2) -> (tensor<8x5xf64>) {
            %3 = tensor.extract_slice %a[%i, 0, 0] [1, 8, 3] [1, 1, 1] : tensor<4x8x3xf64> to tensor<8x3xf64>
            %4 = tensor.extract_slice %b[%i, 0, 0] [1, 3, 5] [1, 1, 1] : tensor<4x3x5xf64> to tensor<3x5xf64>
            %5 = tensor.empty() : tensor<8x5xf64>
            %6 = linalg.fill ins(%0 : f64) outs(%5 : tensor<8x5xf64>) -> tensor<8x5xf64>
            %7 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                                  affine_map<(i, j, k) -> (i, j)>],
                                 iterator_types = ["parallel", "parallel", "reduction"]}
                ins(%3, %4 : tensor<8x3xf64>, tensor<3x5xf64>) outs(%6 : tensor<8x5xf64>) {
            ^bb0(%8: f64, %9: f64, %10: f64):
              %11 = arith.mulf %8, %9 : f64
              %12 = arith.addf %10, %11 : f64
              linalg.yield %12 : f64
            } -> tensor<8x5xf64>
            %13 = tensor.empty() : tensor<8x5xf64>
            %14 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                                   affine_map<(i, j) -> (i, j)>],
                                  iterator_types = ["parallel", "parallel"]}
                ins(%s, %7 : tensor<8x5xf64>, tensor<8x5xf64>) outs(%13 : tensor<8x5xf64>) {
            ^bb0(%15: f64, %16: f64, %17: f64):
              %18 = arith.addf %15, %16 : f64
              linalg.yield %18 : f64
            } -> tensor<8x5xf64>
            scf.yield %14 : tensor<8x5xf64>
          }
          func.return %t : tensor<8x5xf64>
        }

    After `mlirad-accumulate-products`:

        func.func @f(%a: tensor<4x8x3xf64>, %b: tensor<4x3x5xf64>, %zero: index, %one: index, %n: index)
            -> tensor<8x5xf64> {
          %0 = arith.constant 0.0 : f64
          %1 = tensor.empty() : tensor<8x5xf64>
          %2 = linalg.fill ins(%0 : f64) outs(%1 : tensor<8x5xf64>) -> tensor<8x5xf64>
          %t = scf.for %i = %zero to %n step %one iter_args(%s = %2) -> (tensor<8x5xf64>) {
            %3 = tensor.extract_slice %a[%i, 0, 0] [1, 8, 3] [1, 1, 1] : tensor<4x8x3xf64> to tensor<8x3xf64>
            %4 = tensor.extract_slice %b[%i, 0, 0] [1, 3, 5] [1, 1, 1] : tensor<4x3x5xf64> to tensor<3x5xf64>
            %7 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                                  affine_map<(i, j, k) -> (i, j)>],
                                 iterator_types = ["parallel", "parallel", "reduction"]}
                ins(%3, %4 : tensor<8x3xf64>, tensor<3x5xf64>) outs(%s : tensor<8x5xf64>) {
            ^bb0(%8: f64, %9: f64, %10: f64):
              %11 = arith.mulf %8, %9 : f64
              %12 = arith.addf %10, %11 : f64
              linalg.yield %12 : f64
            } -> tensor<8x5xf64>
            scf.yield %7 : tensor<8x5xf64>
          }
          func.return %t : tensor<8x5xf64>
        }
    """

    name = "mlirad-accumulate-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in ops_inside(op):
            if isinstance(loop, scf.ForOp):
                for number in range(len(loop.results)):
                    if (found := _Sum.of(Loop(loop), number)) is not None:
                        found.replace()


@dataclass(frozen=True)
class _Sum:
    """A carried sum. moves: the ops that bring the product into the shape of the sum, the last one first."""

    loop: Loop
    number: int
    addition: GenericOp
    moves: tuple[Operation, ...]
    product: GenericOp

    @staticmethod
    def of(loop: Loop, number: int) -> _Sum | None:
        carry = loop.carry(number)
        added = _added(carry)
        if added is None:
            return None
        addition, value = added
        moves: list[Operation] = []
        while value.has_one_use():
            made = value.owner
            if not isinstance(made, Operation) or made.parent is not loop.body or len(made.results) != 1:
                return None
            if isinstance(made, tensor.CollapseShapeOp | tensor.ExpandShapeOp) or _is_copy(made):
                moves.append(made)
                value = made.operands[0]
                continue
            is_first = not moves or (_is_cleared(carry.init) and types.is_static(made.results[0].type))
            if not isinstance(made, GenericOp) or not _is_product(made) or not is_first:
                return None
            return _Sum(loop, number, addition, tuple(moves), made)
        return None

    def replace(self) -> None:
        product, cleared = self.product, self.product.outputs[0]
        if self.moves:
            self._move()
        product.operands[len(product.inputs)] = self.loop.args[self.number]
        self.addition.results[0].replace_all_uses_with(product.results[0])
        memory = self.addition.outputs[0]
        erase(self.addition)
        for value in (memory, cleared):
            _erase_unused(value)

    def _move(self) -> None:
        """Carry the sum in the product's shape, and bring it into its own shape after the loop."""
        loop, carry, type = self.loop.op, self.loop.carry(self.number), self.product.results[0].type
        clear, after = carry.init.owner, loop.next_op
        assert isinstance(clear, FillOp) and after is not None and loop.parent is not None
        with emitting(InsertPoint.before(loop), self.addition.location):
            loop.operands[len(self.loop.controls) + self.number] = filled(clear.inputs[0], type)
        _erase_unused(carry.init)
        Rewriter.replace_value_with_new_type(carry.arg, type)
        value = Rewriter.replace_value_with_new_type(carry.result, type)
        value.replace_all_uses_with(self.moves[0].results[0])
        for each in reversed(self.moves):
            each.detach()
            loop.parent.insert_op_before(each, after)
            memory = each.operands[1:]
            with in_place_of(each):
                each.operands = [value, *(empty(out.type) for out in memory)]
            for out in memory:
                _erase_unused(out)
            value = each.results[0]


def _added(carry: Carry) -> tuple[GenericOp, SSAValue] | None:
    """The op that adds an array, element by element, to a carried one, and the array, if the sum is only passed on."""
    op = carry.yielded.owner
    if not isinstance(op, GenericOp) or not carry.yielded.has_one_use() or not carry.arg.has_one_use():
        return None
    if len(op.inputs) != 2 or len(op.outputs) != 1 or carry.arg not in op.inputs:
        return None
    first, *_ = inner = list(op.body.block.ops)
    adds = len(inner) == 2 and isinstance(first, AddfOp) and set(first.operands) == set(op.body.block.args[:2])
    maps = [each.data for each in op.indexing_maps]
    if not adds or any(map != AffineMap.identity(map.num_dims) for map in maps):
        return None
    return op, next(value for value in op.inputs if value is not carry.arg)


def _is_product(op: GenericOp) -> bool:
    """Whether an op multiplies and adds up, beginning with zeros."""
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return False
    return _is_cleared(op.outputs[0]) and body_of(op.body.block).is_multiply_add


def _is_cleared(value: SSAValue) -> bool:
    return isinstance(value.owner, FillOp) and is_number(value.owner.inputs[0], 0)


def _is_copy(op: Operation) -> bool:
    """Whether an op copies an array with its axes in another order."""
    if not isinstance(op, GenericOp) or len(op.inputs) != 1 or len(op.outputs) != 1:
        return False
    (only, *others), maps = op.body.block.ops, [each.data for each in op.indexing_maps]
    is_moved = all(isinstance(e, AffineDimExpr) for map in maps for e in map.results)
    is_whole = all(len({*map.results}) == map.num_dims == len(map.results) for map in maps)
    is_plain = isinstance(only, YieldOp) and not others and only.operands[0] is op.body.block.args[0]
    return is_plain and is_moved and is_whole and types.is_static(op.results[0].type)


def _erase_unused(value: SSAValue) -> None:
    """Erase memory, and its clear, that nothing uses."""
    made = value.owner
    if isinstance(made, FillOp | tensor.EmptyOp) and value.first_use is None:
        memory = made.operands[1:]
        erase(made)
        for each in memory:
            _erase_unused(each)
