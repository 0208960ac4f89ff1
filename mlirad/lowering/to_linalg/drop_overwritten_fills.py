"""Leaves memory undefined whose first contents are overwritten before they are read.

Reads: nd, with writes of elements and slices at constant indices, or at those of the loops around. Writes:
tensor.empty. Leaves: arrays that are read, or that may not be overwritten as a whole.

`d = np.empty(n); d[0] = ...; d[1:-1] = ...; d[-1] = ...` begins with a fill, because undefined elements would be no
value, and the reverse sweep's arrays begin with zeros. So does `y = np.empty((n, m))` before a loop that sets each
`y[i]`. A loop that adds once to each part of an array of zeros, as reverse sweeps of loops do, sets each part, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.constants import constant_int, contents_of, is_number, never_negative_zero
from mlirad.analysis.loops import Loop, counts_from_zero, trip_count
from mlirad.analysis.trip_forms import Trip, linear
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, insert, zeros_like
from mlirad.dialect.core.op import written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.lowering.to_linalg.slice_writes import Box, touched
from mlirad.xdsl_support.traversal import ops_inside

_MOST_WRITES = 32
"""Each part is compared with all before it."""


@dataclass(frozen=True)
class DropOverwrittenFills(ModulePass):
    """Write into new memory instead of an array of equal numbers, if the writes in a row, or the trips of loops, cover
    all of it.

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
        for each in ops_inside(op):
            if isinstance(each, scf.ForOp):
                loop, operands = Loop(each), []
                for number, init in enumerate(loop.inits):
                    if _is_plain(init) and (written := _written_by_trips(loop, number)) is not None:
                        operands.append(len(loop.controls) + number)
                        if written.change is Change.ADDED:
                            _set_part(written)
            else:
                found = written_subset(each)
                is_covered = found is not None and _is_plain(found.array) and _writes_cover(each, found.array.type)
                operands = [found.number] if found is not None and is_covered else []
            for operand in operands:
                with in_place_of(each):
                    each.operands[operand] = insert(tensor.EmptyOp([], each.operands[operand].type)).tensor


def _is_plain(array: SSAValue) -> bool:
    """Whether an array has a known size, and is filled with one number."""
    type = array.type
    return contents_of(array) is not None and types.is_static(type) and types.signless(type) == type


def _set_part(added: Subset) -> None:
    """Set the part to which an op adds, which is zero; the sum 0.0 + -0.0 is 0.0."""
    (op,) = [use.operation for use in added.array.uses]
    with in_place_of(op):
        part = Expr(added.part)
        part = part if never_negative_zero(added.part) else part + zeros_like(part)
        replace(op, [added.put(part, Expr(added.array), [Expr(place) for place in added.places]).value])


def _written_by_trips(first: Loop, number: int) -> Subset | None:
    """What the trips of a loop, and of loops within it, write to a carried array, if they write each element once, and
    read none.

    The array is used nowhere else: each loop's body hands it to one op, and passes that op's result on.
    """
    loops, init = [(first, number)], first.inits[number]
    while True:
        loop, number = loops[-1]
        carried = loop.args[number]
        if not isinstance(loop.op, scf.ForOp) or not counts_from_zero(loop.op) or not carried.has_one_use():
            return None
        use = carried.get_unique_use()
        assert use is not None
        if use.operation.parent is not loop.body:
            return None
        if not isinstance(use.operation, scf.ForOp):
            break
        if (number := use.index - len(Loop(use.operation).controls)) < 0:
            return None
        loops.append((Loop(use.operation), number))
    found = written_subset(use.operation)
    if found is None or found.number != use.index:
        return None
    if found.change is not Change.REPLACED and not (found.change is Change.ADDED and is_number(init, 0)):
        return None
    value: SSAValue = use.operation.results[0]
    for loop, number in reversed(loops):
        if loop.carry(number).yielded is not value or not value.has_one_use():
            return None
        value = loop.op.results[number]
    nest = [loop.op for loop, _ in loops if isinstance(loop.op, scf.ForOp)]
    return found if _is_everything(found, nest) else None


def _is_everything(written: Subset, loops: list[scf.ForOp]) -> bool:
    """Whether a part moves over all of its array in these loops: each axis is whole, or its index is a loop's."""
    if not written.is_all_of_ranges or any(not trip_count(loop) for loop in loops):
        return False
    unused = list(loops)
    for range, size in zip(written.ranges, types.shape(written.array.type), strict=True):
        if range is None or range.stride != 1:
            return False
        if range.length == size and _is_zero(range.start):
            continue
        moving = [each for each in unused if trip_count(each) == size and _goes_through(each, range.start)]
        if range.length != 1 or not moving:
            return False
        unused.remove(moving[0])
    # Other loops write the same elements again: they must not add to them again.
    return written.change is Change.REPLACED or all(trip_count(each) == 1 for each in unused)


def _goes_through(loop: scf.ForOp, start: int | SSAValue) -> bool:
    """Whether an index counts up from 0, or down to 0, with the trips of a loop."""
    if isinstance(start, int):
        return False
    form, own, count = linear(start), Trip(loop), trip_count(loop)
    first = {1: 0, -1: (count or 0) - 1}.get(form.terms.get(own, 0))
    return len(form.terms) == 1 and first == form.constant


def _is_zero(start: int | SSAValue) -> bool:
    return (start if isinstance(start, int) else constant_int(start)) == 0


def _writes_cover(first: Operation, type: Attribute) -> bool:
    """Whether a write, and those after it, replace all of an array."""
    return _covers(_boxes(first), prod(types.shape(type)))


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
