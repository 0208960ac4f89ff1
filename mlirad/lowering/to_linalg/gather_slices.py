"""Turns additions to several shifted slices of one array into one sum, as in the gradient of a stencil.

Reads: nd, with slices at constant indices. Writes: nd. Leaves: small arrays, arrays of more than three axes, and slices
at indices known only at run time.

Where all the slices overlap, each element is the sum of its old value and of one element of each added array, in the
order of the additions. So only the number of memory accesses changes. Strips remain at the borders: along the last axis
they are also sums; along the other axes they get their additions one by one. If the array was set there before, what
was put there is the old value, and only the strips are set. A part that a few cheap ops compute from a slice is
computed where it is added, without an array. In an array with one axis, elements that are written outside of the part
that all slices share become terms of the borders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mlirad.analysis.constants import holds_one_number
from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, full
from mlirad.dialect.core.subset import Change
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.lowering.rewriting import replace as replace_op
from mlirad.lowering.to_linalg.slice_terms import Terms, erase_unused
from mlirad.lowering.to_linalg.slice_writes import Box, SliceWrite, number_in, places, write_of, write_of_element
from mlirad.xdsl_support.traversal import ops_inside

_FEWEST = 1 << 9
"""The fewest elements in the overlap of all slices: with fewer, the borders cost as much as the passes spared."""


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
            found = _write_of(last)
            if found is None or _is_continued(found):
                continue
            for group in _groups(_chain(found)):
                if group.is_sum and group.common.count >= self.least:
                    group.gather()


def _write_of(op: Operation) -> SliceWrite | None:
    return write_of(op) or write_of_element(op)


def _is_continued(write: SliceWrite) -> bool:
    user = write.op.results[0].get_user_of_unique_use()
    later = None if user is None else _write_of(user)
    return later is not None and not _begins(later) and later.follows(write)


def _begins(write: SliceWrite) -> bool:
    """Whether a write sets a slice, so that a sum begins with it: what it replaces is no term."""
    return write.change is Change.REPLACED and not _is_element(write)


def _is_element(write: SliceWrite) -> bool:
    return not types.is_tensor(write.part.type)


def _chain(last: SliceWrite) -> list[SliceWrite]:
    """The writes to one array that end with `last`: additions to slices, writes of elements between them, and first the
    write that sets a slice before them, if any."""
    chain = [last]
    while not _begins(chain[0]) and isinstance(before := chain[0].array.owner, Operation):
        write = _write_of(before)
        if write is None or not chain[0].follows(write):
            break
        chain.insert(0, write)
    return chain


def _groups(chain: Sequence[SliceWrite]) -> list[_Group]:
    """Consecutive additions to slices that mostly overlap, with the writes of elements outside of the overlap; the last
    group first."""
    put = chain[0] if _begins(chain[0]) else None
    groups: list[_Group] = []
    elements: list[SliceWrite] = []
    for write in chain if put is None else chain[1:]:
        if _is_element(write):
            elements.append(write)
            continue
        wider = groups[-1].with_slice(write, elements) if groups else None
        if wider is None:
            groups.append(_Group([write], write.box, before=elements))
        else:
            groups[-1] = wider
        elements = []
    if groups:
        groups[-1] = groups[-1].with_last(elements)
        groups = [group.with_first() for group in groups]
        groups[0] = groups[0] if put is None else groups[0].with_put(put)
    return groups[::-1]


@dataclass(frozen=True)
class _Group:
    """Writes that become one sum.

    common: the part that their slices share. put: the earlier write that sets this part of the array. before: the
    writes of elements directly before, which are not part of the sum.
    """

    writes: Sequence[SliceWrite]
    common: Box
    put: SliceWrite | None = None
    before: Sequence[SliceWrite] = ()

    @property
    def all_writes(self) -> list[SliceWrite]:
        return [*([] if self.put is None else [self.put]), *self.writes]

    @property
    def slices(self) -> list[SliceWrite]:
        return [write for write in self.writes if not _is_element(write)]

    @property
    def is_sum(self) -> bool:
        return len(self.slices) + (self.put is not None) > 1

    def with_slice(self, write: SliceWrite, elements: Sequence[SliceWrite]) -> _Group | None:
        """The group with a slice, and the elements that are written before it; None if they cannot be one sum."""
        common = self.common.shared_with(write.box)
        is_most = all(common.mostly_in(each.box) for each in (*self.slices, write))
        if not is_most or not all(_is_beside(each, common) for each in elements):
            return None
        return replace(self, writes=[*self.writes, *elements, write], common=common)

    def with_first(self) -> _Group:
        """The group with the last of the elements before it, as many as are outside of the common part."""
        taken = list(takewhile(lambda each: _is_beside(each, self.common), reversed(self.before)))[::-1]
        left = self.before[: len(self.before) - len(taken)]
        return replace(self, writes=[*taken, *self.writes], before=left)

    def with_last(self, elements: Sequence[SliceWrite]) -> _Group:
        """The group with the first of the elements after it, as many as are outside of the common part."""
        return replace(self, writes=[*self.writes, *takewhile(lambda each: _is_beside(each, self.common), elements)])

    def with_put(self, put: SliceWrite) -> _Group:
        """The group with the op that sets the array, if the sum can compute what is put there."""
        common = self.common.shared_with(put.box)
        found = replace(self, common=common, put=put)
        is_most = all(common.mostly_in(each.box) for each in self.slices)
        is_next = not self.before
        return found if is_next and is_most and Terms(found.all_writes).is_computed(put) else self

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
        replace_op(last, [array.value])
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
        """The elements of a cell after all writes. array: the array before these writes."""
        total: Expr | None = None
        for write in self.all_writes:
            if not write.box.holds(cell):
                continue
            if write.change is Change.REPLACED:
                total = terms.of(write, cell)
            else:
                total = (self._old(array, cell) if total is None else total) + terms.of(write, cell)
        assert total is not None, "a cell has a write"
        return total

    def _old(self, array: Expr, cell: Box) -> Expr:
        first = self.all_writes[0].array
        if holds_one_number(first):
            return full(number_in(first), cell.sizes)
        return extract_slice(array, places(cell.starts), cell.sizes)


def _is_beside(element: SliceWrite, common: Box) -> bool:
    """Whether an element of an array with one axis is outside of the part that all slices share."""
    return len(common.starts) == 1 and not common.shared_with(element.box).count
