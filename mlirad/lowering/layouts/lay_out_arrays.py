"""Moves the axes along which a loop steps to the front of its arrays, so that the slices of a trip are contiguous.

Reads: nd and scf. Writes: the same reads and writes, of arrays with their axes in another order; transposes. Leaves:
arrays that loops use as a whole, by slices along several axes, or mostly by single elements.

`p = np.empty((n, n))`, of which every trip reads and writes columns `p[:, j]`, is stored by columns. An array that no
op sees as a whole may have any order. Where others make or use it outside loops, as the caller does, it is transposed
there, if nested loops use each element so often that this pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.subset import Change, Subset
from mlirad.dialect.ops.movement import TransposeOp, reshape
from mlirad.lowering.layouts.sliced_arrays import (
    SlicedArray,
    SlicedArrays,
    Use,
    filled_as,
    is_element,
    is_filled,
    is_reshape,
    slice_at,
)
from mlirad.lowering.rewriting import erase, in_place_of, replace


@dataclass(frozen=True)
class LayOutArrays(ModulePass):
    """Store arrays so that their slices are contiguous.

    Before:

        func.func @f(%x: tensor<9xf64>, %j: i64) -> tensor<9xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %p = nd.full %zero : f64 to tensor<9x7xf64>
          %part = nd.reshape %x : tensor<9xf64> to tensor<9x1xf64>
          %q = nd.insert_slice %part, %p[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
              : tensor<9x1xf64> into tensor<9x7xf64>
          %r = nd.extract_slice %q[%c0, %c0] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
              : tensor<9x7xf64> -> tensor<9x1xf64>
          %y = nd.reshape %r : tensor<9x1xf64> to tensor<9xf64>
          func.return %y : tensor<9xf64>
        }

    After `mlirad-lay-out-arrays`:

        func.func @f(%x: tensor<9xf64>, %j: i64) -> tensor<9xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %p = nd.full %zero : f64 to tensor<7x9xf64>
          %part = nd.reshape %x : tensor<9xf64> to tensor<1x9xf64>
          %q = nd.insert_slice %part, %p[%j, %c0] {sizes = array<i64: 1, 9>, strides = array<i64: 1, 1>}
              : tensor<1x9xf64> into tensor<7x9xf64>
          %r = nd.extract_slice %q[%c0, %c0] {sizes = array<i64: 1, 9>, strides = array<i64: 1, 1>}
              : tensor<7x9xf64> -> tensor<1x9xf64>
          %y = nd.reshape %r : tensor<1x9xf64> to tensor<9xf64>
          func.return %y : tensor<9xf64>
        }
    """

    name = "mlirad-lay-out-arrays"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for array in SlicedArrays(op).found():
            order = array.order()
            if order is not None:
                _rewrite(array, order)


def _rewrite(array: SlicedArray, order: Sequence[int]) -> None:
    for op, index in array.filled:
        with in_place_of(op):
            old = op.operands[index]
            op.operands[index] = filled_as(old, types.shape(_permuted(old, order)))
            _drop(old)
    made = {value: _transposed(value, order) for value in array.made}
    for op, index in array.joined:
        op.operands[index] = made.get(op.operands[index], op.operands[index])
    used = array.used
    for value in array.values:
        if value not in made:
            new = Rewriter.replace_value_with_new_type(value, _permuted(value, order))
            if value in used:
                _replace_uses(new, used[value], order)
    for op in array.accesses:
        subset = slice_at(op)
        with in_place_of(op):
            if is_element(subset):
                _replace_element(op, subset, order)
            elif subset.change is Change.NONE:
                _replace_read(op, subset, order)
            else:
                _replace_write(op, subset, order)


def _replace_uses(value: SSAValue, uses: Sequence[Use], order: Sequence[int]) -> None:
    back = _transposed(value, sorted(range(len(order)), key=order.__getitem__))
    for op, index in uses:
        op.operands[index] = back


def _transposed(value: SSAValue, order: Sequence[int]) -> SSAValue:
    """The array with its axes in this order, made where the value is made."""
    owner = value.owner
    following = owner.first_op if isinstance(owner, Block) else owner.next_op
    assert following is not None  # at least the terminator of the block
    with in_place_of(following):
        return emit(TransposeOp, Expr(value), permutation=list(order)).value


def _permuted(value: SSAValue, order: Sequence[int]) -> TensorType:
    shape = types.shape(value.type)
    return types.tensor([shape[axis] for axis in order], types.element_type(value.type))


def _replace_element(op: Operation, subset: Subset, order: Sequence[int]) -> None:
    """Reorder the indices, which are the operands after the array."""
    assert isinstance(op, NdOp)
    first = subset.number + 1
    others, indices = map(Expr, op.operands[:first]), [Expr(index) for index in op.operands[first:]]
    (new,) = op.rebuild(*others, *(indices[axis] for axis in order))
    new.value.name_hint = op.results[0].name_hint
    replace(op, [new.value])


def _replace_read(op: Operation, subset: Subset, order: Sequence[int]) -> None:
    """One index along the axes that move: elements keep their order, whatever the shape of the slice."""
    starts, strides = _place(subset, order)
    lengths = [each.length for each in subset.ranges if each is not None]
    sizes = [length if isinstance(length, int) else Expr(length) for length in lengths if not isinstance(length, tuple)]
    part = extract_slice(Expr(subset.array), starts, [sizes[axis] for axis in order], strides)
    part.value.name_hint = subset.part.name_hint
    for use in list(subset.part.uses):
        reader = use.operation
        if is_reshape(reader):
            with in_place_of(reader):
                replace(reader, [_reshaped(part, reader.results[0])])
    if any(subset.part.uses):
        replace(op, [_reshaped(part, subset.part)])
    else:
        erase(op)


def _replace_write(op: Operation, subset: Subset, order: Sequence[int]) -> None:
    starts, strides = _place(subset, order)
    type, source = _permuted(subset.part, order), subset.part.owner
    if is_filled(subset.part):
        part = Expr(filled_as(subset.part, types.shape(type)))
    else:
        part = reshape(Expr(source.operands[0] if is_reshape(source) else subset.part), type)
        part.value.name_hint = part.value.name_hint or subset.part.name_hint
    update = insert_slice if subset.change is Change.REPLACED else add_slice
    new = update(part, Expr(subset.array), starts, strides)
    new.value.name_hint = op.results[0].name_hint
    replace(op, [new.value])
    _drop(subset.part)


def _place(subset: Subset, order: Sequence[int]) -> tuple[list[Expr], list[int]]:
    places = [each for each in subset.ranges if each is not None]
    starts = [Expr(place) for place in subset.places[: len(places)]]
    return [starts[axis] for axis in order], [places[axis].stride for axis in order]


def _reshaped(part: Expr, like: SSAValue) -> SSAValue:
    found = reshape(part, like.type)
    found.value.name_hint = like.name_hint
    return found.value


def _drop(value: SSAValue) -> None:
    """Erase a filled array or a reshape without uses."""
    owner = value.owner
    if isinstance(owner, NdOp) and (is_reshape(owner) or is_filled(value)) and not any(value.uses):
        erase(owner)
