"""Fills only the border of an array that is filled with a number and then mostly overwritten.

Reads: nd, with slices at constant indices. Writes: nd, on memory without contents (`tensor.empty`). Leaves: small
arrays, and arrays that are read, or added to, before they are overwritten. Fills of arrays that are overwritten as a
whole are gone by then (`drop_overwritten_fills.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis.constants import holds_one_number
from mlirad.dialect.arrays.slices import insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emitting, full, insert
from mlirad.dialect.core.subset import Change
from mlirad.lowering.to_linalg.slice_terms import erase_unused
from mlirad.lowering.to_linalg.slice_writes import Box, SliceWrite, number_in, places, read_box, write_of
from mlirad.xdsl_support.traversal import ops_inside

_FEWEST = 1 << 12
"""The fewest elements of a slice that is not filled."""


@dataclass(frozen=True)
class FillBorders(ModulePass):
    """Fill only what remains of an array around its largest overwritten slice.

    least: the fewest elements of the slice.

    Before:

        func.func @f(%s: tensor<6xf64>) -> tensor<8xf64> {
          %one = nd.constant {value = 1 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %zeros = nd.full %zero : f64 to tensor<8xf64>
          %a = nd.insert_slice %s, %zeros[%one] {sizes = array<i64: 6>, strides = array<i64: 1>}
              : tensor<6xf64> into tensor<8xf64>
          func.return %a : tensor<8xf64>
        }

    After `mlirad-fill-borders{least=4}`:

        func.func @f(%s: tensor<6xf64>) -> tensor<8xf64> {
          %one = nd.constant {value = 1 : i64} : i64
          %zero = nd.constant {value = 0.000000e+00 : f64} : f64
          %0 = tensor.empty() : tensor<8xf64>
          %1 = nd.full %zero : f64 to tensor<1xf64>
          %c0 = nd.constant {value = 0 : i64} : i64
          %2 = nd.insert_slice %1, %0[%c0] {sizes = array<i64: 1>, strides = array<i64: 1>}
              : tensor<1xf64> into tensor<8xf64>
          %3 = nd.full %zero : f64 to tensor<1xf64>
          %c7 = nd.constant {value = 7 : i64} : i64
          %4 = nd.insert_slice %3, %2[%c7] {sizes = array<i64: 1>, strides = array<i64: 1>}
              : tensor<1xf64> into tensor<8xf64>
          %a = nd.insert_slice %s, %4[%one] {sizes = array<i64: 6>, strides = array<i64: 1>}
              : tensor<6xf64> into tensor<8xf64>
          func.return %a : tensor<8xf64>
        }
    """

    name = "mlirad-fill-borders"
    least: int = _FEWEST

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in ops_inside(op):
            first = write_of(each)
            if first is None or not holds_one_number(first.array) or not isinstance(first.array.owner, Operation):
                continue
            if types.signless(first.array.type) != first.array.type:
                continue
            whole = Box((0,) * len(first.box.starts), tuple(types.shape(first.array.type)))
            inner = max(_overwritten(first), key=lambda box: box.count, default=None)
            if inner is not None and inner.count >= self.least and 2 * inner.count >= whole.count:
                _fill_around(first, whole, inner)


def _overwritten(first: SliceWrite) -> Iterator[Box]:
    """The slices of an array that are replaced before anything reads them or adds to them, from a first write on."""
    used: list[Box] = []
    write: SliceWrite | None = first
    while write is not None:
        if write.change is not Change.REPLACED:
            used.append(write.box)
        elif not any(write.box.shared_with(each).count for each in used):
            yield write.box
        write = _next(write, used)


def _next(write: SliceWrite, used: list[Box]) -> SliceWrite | None:
    """The only write to a write's result, whose other uses are reads of slices in the same block: these are added to
    `used`."""
    array, later = write.op.results[0], list[SliceWrite]()
    for use in array.uses:
        found, read = write_of(use.operation), read_box(use.operation)
        if use.operation.parent is not write.op.parent:
            return None
        if found is not None and found.array is array and found.part is not array:
            later.append(found)
        elif read is not None:
            used.append(read[1])
        else:
            return None
    return later[0] if len(later) == 1 else None


def _fill_around(first: SliceWrite, whole: Box, inner: Box) -> None:
    """Let a write begin with memory that is filled only around a box."""
    filled: Any = first.array
    with emitting(InsertPoint.before(first.op), first.op.location):
        array = Expr(insert(tensor.EmptyOp([], filled.type)).tensor)
        for strip in whole.without(inner):
            array = insert_slice(full(number_in(filled), strip.sizes), array, places(strip.starts))
    filled.replace_uses_with_if(array.value, lambda use: use.operation is first.op)
    erase_unused(filled)
