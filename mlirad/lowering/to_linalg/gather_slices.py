"""Turns additions to several shifted slices of one array into one sum, as in the gradient of a stencil.

Reads: nd, with slices at constant indices. Writes: nd. Leaves: small arrays, arrays of more than three axes, and slices
at indices known only at run time.

Where all the slices overlap, each element is the sum of its old value and of one element of each added array, in the
order of the additions. So only the number of memory accesses changes. Strips remain at the borders: along the last axis
they are also sums; along the other axes they get their additions one by one. If the array was set there before, what
was put there is the old value, and only the strips are set. A part that a few cheap ops compute from a slice is
computed where it is added, without an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.subset import Change
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.lowering.to_linalg.slice_terms import Terms, erase_unused
from mlirad.lowering.to_linalg.slice_writes import Box, SliceWrite, places, write_of
from mlirad.xdsl_support.traversal import ops_inside

_FEWEST = 1 << 12
"""The fewest elements where all slices overlap: with fewer, the data that is read twice is in the cache anyway."""


@dataclass(frozen=True)
class GatherSlices(ModulePass):
    """Add arrays to several slices of another array at once.

    least: the fewest elements that the slices have in common.

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
          %0 = nd.extract_slice %t[%c0] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<8xf64> -> tensor<2xf64>
          %c0_1 = nd.constant {value = 0 : i64} : i64
          %1 = nd.extract_slice %s[%c0_1] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<2xf64>
          %2 = nd.add %0, %1 : tensor<2xf64>
          %c0_2 = nd.constant {value = 0 : i64} : i64
          %3 = nd.insert_slice %2, %t[%c0_2] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<2xf64> into tensor<8xf64>
          %c2 = nd.constant {value = 2 : i64} : i64
          %4 = nd.extract_slice %3[%c2] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<8xf64> -> tensor<4xf64>
          %c2_1 = nd.constant {value = 2 : i64} : i64
          %5 = nd.extract_slice %s[%c2_1] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<4xf64>
          %6 = nd.add %4, %5 : tensor<4xf64>
          %c0_3 = nd.constant {value = 0 : i64} : i64
          %7 = nd.extract_slice %s[%c0_3] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<4xf64>
          %8 = nd.add %6, %7 : tensor<4xf64>
          %c2_2 = nd.constant {value = 2 : i64} : i64
          %9 = nd.insert_slice %8, %3[%c2_2] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<4xf64> into tensor<8xf64>
          %c6 = nd.constant {value = 6 : i64} : i64
          %10 = nd.extract_slice %9[%c6] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<8xf64> -> tensor<2xf64>
          %c4 = nd.constant {value = 4 : i64} : i64
          %11 = nd.extract_slice %s[%c4] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<6xf64> -> tensor<2xf64>
          %12 = nd.add %10, %11 : tensor<2xf64>
          %c6_1 = nd.constant {value = 6 : i64} : i64
          %b = nd.insert_slice %12, %9[%c6_1] {sizes = array<i64: 2>, strides = array<i64: 1>}
              : tensor<2xf64> into tensor<8xf64>
          func.return %b : tensor<8xf64>
        }
    """

    name = "mlirad-gather-slices"
    least: int = _FEWEST

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for last in ops_inside(op):
            found = write_of(last)
            if found is None or found.change is not Change.ADDED or _is_continued(found):
                continue
            for group in _groups(_chain(found)):
                if len(group.all_writes) > 1 and group.common.count >= self.least:
                    group.gather()


def _is_continued(write: SliceWrite) -> bool:
    user = write.op.results[0].get_user_of_unique_use()
    later = None if user is None else write_of(user)
    return later is not None and later.continues(write)


def _chain(last: SliceWrite) -> list[SliceWrite]:
    """The additions to one array that end with `last`, and what was put there before them, if anything."""
    chain = [last]
    while isinstance(before := chain[0].array.owner, Operation):
        write = write_of(before)
        if write is None or not chain[0].continues(write):
            break
        chain.insert(0, write)
        if write.change is Change.REPLACED:
            break
    return chain


def _groups(chain: Sequence[SliceWrite]) -> list[_Group]:
    """Consecutive additions to slices that mostly overlap; the last group first."""
    put = chain[0] if chain[0].change is Change.REPLACED else None
    groups: list[_Group] = []
    for write in chain if put is None else chain[1:]:
        common = groups[-1].common.shared_with(write.box) if groups else write.box
        if groups and all(common.mostly_in(each.box) for each in (*groups[-1].writes, write)):
            groups[-1] = _Group([*groups[-1].writes, write], common)
        else:
            groups.append(_Group([write], write.box))
    if put is not None:
        groups[0] = _with_put(groups[0], put)
    return groups[::-1]


def _with_put(group: _Group, put: SliceWrite) -> _Group:
    """The group with the op that sets the array, if the sum can compute what is put there."""
    common = group.common.shared_with(put.box)
    found = _Group(group.writes, common, put)
    is_most = all(common.mostly_in(each.box) for each in group.writes)
    return found if is_most and Terms(found.all_writes).is_computed(put) else group


@dataclass(frozen=True)
class _Group:
    """Additions that become one sum. common: the part that they share. put: the op that sets the array there before."""

    writes: Sequence[SliceWrite]
    common: Box
    put: SliceWrite | None = None

    @property
    def all_writes(self) -> list[SliceWrite]:
        return [*([] if self.put is None else [self.put]), *self.writes]

    def gather(self) -> None:
        last = self.writes[-1].op
        terms = Terms(self.all_writes)
        with in_place_of(last):
            array = Expr(self.all_writes[0].array)
            for write in self.all_writes:
                for strip in write.box.strips_around(self.common):
                    change = insert_slice if write is self.put else add_slice
                    array = change(terms.of(write, strip), array, places(strip.starts))
            for cell in self._cells():
                array = insert_slice(self._sum(cell, array, terms), array, places(cell.starts))
        replace(last, [array.value])
        writes = self.all_writes
        for write in writes[-2::-1]:
            erase(write.op)
        for part in dict.fromkeys(write.part for write in writes):
            erase_unused(part)

    def _cells(self) -> Iterator[Box]:
        """The parts along the last axis, each with its own set of overlapping slices, between the strips of other
        axes."""
        boxes = [write.box for write in self.all_writes]
        edges = sorted({each for box in boxes for each in (box.starts[-1], box.ends[-1])})
        last = len(self.common.starts) - 1
        cells = [self.common.along(last, low, high) for low, high in pairwise(edges)]
        # Between the first end and the last start nothing begins, so the common part is one cell.
        return (cell for cell in cells if any(box.holds(cell) for box in boxes))

    def _sum(self, cell: Box, array: Expr, terms: Terms) -> Expr:
        """The elements of a cell after all additions."""
        if self.put is not None and self.put.box.holds(cell):
            total = terms.of(self.put, cell)
        else:
            total = extract_slice(array, places(cell.starts), cell.sizes)
        for write in self.writes:
            if write.box.holds(cell):
                total = total + terms.of(write, cell)
        return total
