"""Leaves memory undefined whose first contents are overwritten before they are read.

Reads: nd, with writes of elements and slices at constant indices. Writes: tensor.empty. Leaves: arrays that are read,
or that may not be overwritten as a whole.

`d = np.empty(n); d[0] = ...; d[1:-1] = ...; d[-1] = ...` begins with a fill, because undefined elements would be no
value, and the reverse sweep's arrays begin with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mlirad.analysis.constants import contents_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import insert
from mlirad.dialect.core.op import written_subset
from mlirad.dialect.core.subset import Change
from mlirad.lowering.rewriting import in_place_of
from mlirad.lowering.to_linalg.slice_writes import Box, touched
from mlirad.xdsl_support.traversal import ops_inside

_MOST_WRITES = 32
"""Each part is compared with all before it."""


@dataclass(frozen=True)
class DropOverwrittenFills(ModulePass):
    """Write into new memory instead of an array of equal numbers, if the writes in a row cover all of it.

    Before:

        func.func @f(%a: f64, %s: tensor<3xf64>) -> tensor<4xf64> {
          %first = nd.constant {value = 0 : i64} : i64
          %second = nd.constant {value = 1 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %zeros = nd.full %zero : f64 to tensor<4xf64>
          %b = nd.insert %a, %zeros[%first] : f64 into tensor<4xf64>
          %c = nd.insert_slice %s, %b[%second] {sizes = array<i64: 3>, strides = array<i64: 1>}
              : tensor<3xf64> into tensor<4xf64>
          func.return %c : tensor<4xf64>
        }

    After `mlirad-drop-overwritten-fills`:

        func.func @f(%a: f64, %s: tensor<3xf64>) -> tensor<4xf64> {
          %first = nd.constant {value = 0 : i64} : i64
          %second = nd.constant {value = 1 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %zeros = nd.full %zero : f64 to tensor<4xf64>
          %0 = tensor.empty() : tensor<4xf64>
          %b = nd.insert %a, %0[%first] : f64 into tensor<4xf64>
          %c = nd.insert_slice %s, %b[%second] {sizes = array<i64: 3>, strides = array<i64: 1>}
              : tensor<3xf64> into tensor<4xf64>
          func.return %c : tensor<4xf64>
        }
    """

    name = "mlirad-drop-overwritten-fills"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for write in ops_inside(op):
            found = written_subset(write)
            if found is None or contents_of(found.array) is None:
                continue
            type = found.array.type
            is_plain = types.is_static(type) and types.signless(type) == type
            if is_plain and _covers(_boxes(write), prod(types.shape(type))):
                with in_place_of(write):
                    write.operands[found.number] = insert(tensor.EmptyOp([], type)).tensor


def _boxes(first: Operation) -> Iterator[Box]:
    """The boxes that ops of a block replace in a row: each op is the only reader of the array before it."""
    write: Operation | None = first
    array = None
    while write is not None and write.parent is first.parent:
        found = written_subset(write)
        box = None if found is None or found.change is not Change.REPLACED else touched(found)
        if found is None or box is None or (array is not None and found.array is not array):
            return
        yield box
        array = write.results[0]
        write = array.get_user_of_unique_use()


def _covers(boxes: Iterator[Box], count: int) -> bool:
    """Whether boxes that do not overlap have this many elements."""
    known: list[Box] = []
    for box in boxes:
        if len(known) == _MOST_WRITES or any(box.shared_with(other).count for other in known):
            return False
        known.append(box)
        if sum(each.count for each in known) == count:
            return True
    return False
