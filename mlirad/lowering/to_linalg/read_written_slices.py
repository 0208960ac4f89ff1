"""Reads from an array what was just written to it, so that its memory is the only one that holds it.

Reads: nd. Writes: nd, with reads of slices. Leaves: what is read before it is written, or after it is overwritten.

`b[1:-1] = f(a)`, followed by reads of `b[1:-1]`, is cleaned up to reads of `f(a)` itself, which would then need memory
of its own, and a copy to the slice.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis.moves import Lifetimes
from mlirad.dialect.arrays.slices import Slice
from mlirad.dialect.core.expr import Expr, emitting
from mlirad.dialect.core.op import NdOp, is_pointwise, read_subset, written_subset
from mlirad.dialect.core.subset import Change
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class ReadWrittenSlices(ModulePass):
    """Let elementwise ops and reads of slices that follow a write of a slice read the slice.

    Before:

        func.func @f(%a: tensor<4xf64>, %t: tensor<8xf64>, %i: i64) -> (tensor<8xf64>, tensor<4xf64>) {
          %e = nd.exp %a : tensor<4xf64>
          %b = nd.insert_slice %e, %t[%i] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<4xf64> into tensor<8xf64>
          %c = nd.add %e, %a : tensor<4xf64>
          func.return %b, %c : tensor<8xf64>, tensor<4xf64>
        }

    After `mlirad-read-written-slices`:

        func.func @f(%a: tensor<4xf64>, %t: tensor<8xf64>, %i: i64) -> (tensor<8xf64>, tensor<4xf64>) {
          %e = nd.exp %a : tensor<4xf64>
          %b = nd.insert_slice %e, %t[%i] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<4xf64> into tensor<8xf64>
          %0 = nd.extract_slice %b[%i] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<8xf64> -> tensor<4xf64>
          %c = nd.add %0, %a : tensor<4xf64>
          func.return %b, %c : tensor<8xf64>, tensor<4xf64>
        }
    """

    name = "mlirad-read-written-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for write in ops_inside(op):
            found = written_subset(write)
            if isinstance(found, Slice) and found.change is Change.REPLACED and not found.part.has_one_use():
                _read_back(write, found)


def _read_back(write: Operation, written: Slice) -> None:
    block, maker = write.parent, written.part.owner
    if block is None or not isinstance(maker, NdOp) or maker.parent is not block or not is_pointwise(maker):
        return
    others = [use for use in written.part.uses if use.operation is not write]
    if not others or not all(_may_read_a_slice(use) and use.operation.parent is block for use in others):
        return
    readers = {use.operation for use in others}  # the new slice reads the size of the part itself
    order = {each: number for number, each in enumerate(block.ops)}
    last = max(readers, key=order.__getitem__)
    if any(order[reader] < order[write] for reader in readers):
        return
    array = write.results[0]
    if Lifetimes(block).is_taken_between(array, write, last):
        return
    with emitting(InsertPoint.after(write), write.location):
        part = written.read(Expr(array), [Expr(place) for place in written.places])
    written.part.replace_uses_with_if(part.value, lambda use: use.operation in readers)


def _may_read_a_slice(use: Use) -> bool:
    op = use.operation
    return isinstance(op, NdOp) and (is_pointwise(op) or read_subset(op) is not None)
