"""Turns additions of one array to several slices of another, each a little further, into one sum: a stencil's gradient.

Reads: nd, with slices at constant places. Writes: nd. Leaves: what is small, of more than two axes, or at places that
only the run knows.

Where all the slices overlap, each element is the sum of its old value and of one element of the array for each slice,
in the order of the additions; so nothing changes but the number of times that memory is read and written. What is left
are strips at the borders, which get their additions one by one. If the array was set to one number there before, that
number is the old value, and only the strips are set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.constants import constant_int, holds_one_number, number_of
from mlirad.dialect.arrays.slices import Slice, add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, full
from mlirad.dialect.core.op import NdOp, written_subset
from mlirad.dialect.core.subset import Change
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.traversal import ops_inside

_MOST_AXES = 2
_FEWEST = 1 << 12
"""Elements where all slices overlap: below, what is read twice is in the cache anyway."""


@dataclass(frozen=True)
class GatherSlices(ModulePass):
    """Add an array to several slices of another at once.

    least: of how many elements they have in common.

    Before:

        func.func @f(%s: tensor<6xf64>, %t: tensor<8xf64>) -> tensor<8xf64> {
          %zero = nd.constant {value = 0 : i64} : i64
          %two = nd.constant {value = 2 : i64} : i64
          %a = nd.add_slice %s, %t[%zero] {sizes = array<i64: 6>, strides = array<i64: 1>}
              : tensor<6xf64> into tensor<8xf64>
          %b = nd.add_slice %s, %a[%two] {sizes = array<i64: 6>, strides = array<i64: 1>}
              : tensor<6xf64> into tensor<8xf64>
          func.return %b : tensor<8xf64>
        }

    After `mlirad-gather-slices{least=4}`:

        func.func @f(%s: tensor<6xf64>, %t: tensor<8xf64>) -> tensor<8xf64> {
          %zero = nd.constant {value = 0 : i64} : i64
          %two = nd.constant {value = 2 : i64} : i64
          %c0 = nd.constant {value = 0 : i64} : i64
          %0 = nd.extract_slice %s[%c0] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<2xf64>
          %c0_1 = nd.constant {value = 0 : i64} : i64
          %1 = nd.add_slice %0, %t[%c0_1] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<2xf64> into tensor<8xf64>
          %c4 = nd.constant {value = 4 : i64} : i64
          %2 = nd.extract_slice %s[%c4] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<2xf64>
          %c6 = nd.constant {value = 6 : i64} : i64
          %3 = nd.add_slice %2, %1[%c6] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<2xf64> into tensor<8xf64>
          %c2 = nd.constant {value = 2 : i64} : i64
          %4 = nd.extract_slice %3[%c2] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<8xf64> -> tensor<4xf64>
          %c2_1 = nd.constant {value = 2 : i64} : i64
          %5 = nd.extract_slice %s[%c2_1] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<4xf64>
          %6 = nd.add %4, %5 : tensor<4xf64>
          %c0_2 = nd.constant {value = 0 : i64} : i64
          %7 = nd.extract_slice %s[%c0_2] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<4xf64>
          %8 = nd.add %6, %7 : tensor<4xf64>
          %c2_2 = nd.constant {value = 2 : i64} : i64
          %b = nd.insert_slice %8, %3[%c2_2] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<4xf64> into tensor<8xf64>
          func.return %b : tensor<8xf64>
        }
    """

    name = "mlirad-gather-slices"
    least: int = _FEWEST

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for last in ops_inside(op):
            found = _write_of(last)
            if found is not None and found.change is Change.ADDED and not _is_continued(last, found):
                chain = _chain(last, found)
                if len(chain) > 1:
                    _gather(chain, self.least)


@dataclass(frozen=True)
class _Box:
    """A part of an array: along each axis from `starts` to `ends`."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple([end - start for start, end in zip(self.starts, self.ends, strict=True)])

    def holds(self, other: _Box) -> bool:
        inside = (a <= b for a, b in zip((*self.starts, *other.ends), (*other.starts, *self.ends), strict=True))
        return all(inside)

    def without(self, inner: _Box) -> Iterator[_Box]:
        """The strips around a box within this one."""
        starts, ends = list(self.starts), list(self.ends)
        for axis, (start, end) in enumerate(zip(inner.starts, inner.ends, strict=True)):
            for low, high in ((starts[axis], start), (end, ends[axis])):
                if low < high:
                    yield _Box((*starts[:axis], low, *starts[axis + 1 :]), (*ends[:axis], high, *ends[axis + 1 :]))
            starts[axis], ends[axis] = start, end


@dataclass(frozen=True)
class _Write:
    """A slice of `array` that an op adds `part` to, or replaces by it."""

    op: NdOp
    change: Change
    array: SSAValue
    part: SSAValue
    box: _Box


def _write_of(op: Operation) -> _Write | None:
    """What an op writes, if it is a dense slice at a constant place."""
    found = written_subset(op)
    if not isinstance(op, NdOp) or not isinstance(found, Slice) or any(stride != 1 for stride in found.strides):
        return None
    sizes, starts = types.shape(found.part.type), [constant_int(place) for place in found.places]
    known = [start for start in starts if start is not None]
    if len(known) < len(sizes) or len(known) < len(starts) or min(sizes) < 1 or len(sizes) > _MOST_AXES:
        return None
    ends = [start + size for start, size in zip(known, sizes, strict=True)]
    return _Write(op, found.change, found.array, found.part, _Box(tuple(known), tuple(ends)))


def _is_continued(op: Operation, write: _Write) -> bool:
    """Whether the next write of the array adds the same."""
    (result,) = op.results
    users = [_write_of(use.operation) for use in result.uses]
    return len(users) == 1 and users[0] is not None and _continues(users[0], write)


def _continues(later: _Write, write: _Write) -> bool:
    return later.change is Change.ADDED and later.part is write.part and later.array is write.op.results[0]


def _chain(op: Operation, last: _Write) -> list[_Write]:
    """Writes that add the same part, one after the other."""
    chain = [last]
    while (before := chain[0].array).has_one_use() and isinstance(before.owner, Operation):
        write = _write_of(before.owner)
        if write is None or write.change is not Change.ADDED or not _continues(chain[0], write):
            break
        chain.insert(0, write)
    return chain if all(write.op.parent is op.parent for write in chain) else [last]


def _gather(chain: Sequence[_Write], least: int) -> None:
    boxes = [write.box for write in chain]
    starts = tuple([max(each) for each in zip(*(box.starts for box in boxes), strict=True)])
    ends = tuple([min(each) for each in zip(*(box.ends for box in boxes), strict=True)])
    common = _Box(starts, ends)
    sizes = zip(common.sizes, boxes[0].sizes, strict=True)
    if min(common.sizes) < 1 or prod(common.sizes) < least or any(3 * each < 2 * whole for each, whole in sizes):
        return
    last = chain[-1].op
    cleared = _cleared(chain[0], common)
    with in_place_of(last):
        part = Expr(chain[0].part)
        array = Expr(chain[0].array)
        if cleared is not None:
            array = Expr(cleared.array)
            for strip in cleared.box.without(common):
                array = _put(full(_number_in(cleared.part), strip.sizes), array, strip)
        for box in boxes:
            for strip in box.without(common):
                array = add_slice(_part(part, strip, box), array, _places(strip.starts))
        if cleared is not None:
            total = full(_number_in(cleared.part), common.sizes)
        else:
            total = extract_slice(array, _places(common.starts), common.sizes)
        for box in boxes:
            total = total + _part(part, common, box)
        result = _put(total, array, common)
    replace(last, [result.value])
    for write in [*([] if cleared is None else [cleared]), *chain[:-1]][::-1]:
        erase(write.op)


def _cleared(first: _Write, common: _Box) -> _Write | None:
    """What sets the elements of a box to one number, right before the first addition."""
    before = first.array
    write = _write_of(before.owner) if before.has_one_use() and isinstance(before.owner, Operation) else None
    if write is None or write.change is not Change.REPLACED or write.op.parent is not first.op.parent:
        return None
    return write if holds_one_number(write.part) and write.box.holds(common) else None


def _number_in(array: SSAValue) -> Expr:
    """The number that an array holds everywhere."""
    owner: Any = array.owner
    contents = owner.contents()
    if isinstance(contents, SSAValue):
        return Expr(contents)
    return constant(number_of(contents, array.type), types.element_type(array.type))


def _places(starts: Sequence[int]) -> list[Expr]:
    return [constant(start, types.I64) for start in starts]


def _part(part: Expr, box: _Box, whole: _Box) -> Expr:
    """What an array that is put at `whole` has in a box."""
    if box == whole:
        return part
    starts = [start - first for start, first in zip(box.starts, whole.starts, strict=True)]
    return extract_slice(part, _places(starts), box.sizes)


def _put(part: Expr, array: Expr, box: _Box) -> Expr:
    return insert_slice(part, array, _places(box.starts))
