"""Writes to dense slices at constant indices, the contents of such slices, and parts that have no element in common.

Reads: nd. Writes: nothing. Leaves: everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from mlirad.analysis.constants import constant_int, holds_one_number, number_of
from mlirad.analysis.trip_forms import Form, Opaque, are_disjoint, ends_of, linear, of_term
from mlirad.dialect.arrays.elements import Element
from mlirad.dialect.arrays.slices import Slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.dialect.core.op import NdOp, read_subset, written_subset
from mlirad.dialect.core.subset import Change, Range, Subset

_MOST_AXES = 5


@dataclass(frozen=True)
class Box:
    """A part of an array: along each axis from `starts` to `ends`."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple([end - start for start, end in zip(self.starts, self.ends, strict=True)])

    @property
    def count(self) -> int:
        return prod(max(0, size) for size in self.sizes)

    def holds(self, other: Box) -> bool:
        inside = (a <= b for a, b in zip((*self.starts, *other.ends), (*other.starts, *self.ends), strict=True))
        return all(inside)

    def shared_with(self, other: Box) -> Box:
        """The intersection of both boxes; its count is 0 if it is empty."""
        starts, ends = zip(self.starts, other.starts, strict=True), zip(self.ends, other.ends, strict=True)
        return Box(tuple(map(max, starts)), tuple(map(min, ends)))

    def mostly_in(self, other: Box) -> bool:
        """Whether this box covers at least two thirds of the other box along each axis."""
        return all(3 * each >= 2 * whole for each, whole in zip(self.sizes, other.sizes, strict=True))

    def along(self, axis: int, start: int, end: int) -> Box:
        """The same box, but with the range from start to end along one axis."""
        return Box(
            (*self.starts[:axis], start, *self.starts[axis + 1 :]), (*self.ends[:axis], end, *self.ends[axis + 1 :])
        )

    def strips_around(self, inner: Box) -> Iterator[Box]:
        """The strips before and after a box within this one, along all axes except the last. The strips of an axis are
        as long as the inner box along the preceding axes."""
        return self._strips(inner, len(self.starts) - 1)

    def without(self, inner: Box) -> Iterator[Box]:
        """The rest of this box around a box within it: strips along all axes."""
        return self._strips(inner, len(self.starts))

    def _strips(self, inner: Box, axes: int) -> Iterator[Box]:
        rest = self
        for axis in range(axes):
            for low, high in ((self.starts[axis], inner.starts[axis]), (inner.ends[axis], self.ends[axis])):
                if low < high:
                    yield rest.along(axis, low, high)
            rest = rest.along(axis, inner.starts[axis], inner.ends[axis])


@dataclass(frozen=True)
class SliceWrite:
    """A slice of `array` to which an op adds `part`, or which it replaces by `part`. An element is a slice of size 1,
    and its part is a number."""

    op: NdOp
    change: Change
    array: SSAValue
    part: SSAValue
    box: Box

    @property
    def clears(self) -> bool:
        """Whether the slice is set to one number."""
        return self.change is Change.REPLACED and holds_one_number(self.part)

    def follows(self, before: SliceWrite) -> bool:
        """Whether this write changes the result of another write that has no other reader."""
        result = before.op.results[0]
        is_next = self.array is result and result.has_one_use() and self.part is not result
        return is_next and self.op.parent is before.op.parent

    def continues(self, before: SliceWrite) -> bool:
        """Whether this write adds to the result of another write that has no other reader."""
        return self.change is Change.ADDED and self.follows(before)


def write_of(op: Operation) -> SliceWrite | None:
    """The write of an op, if it is to a dense slice at a constant index."""
    found = written_subset(op)
    box = None if found is None else _box(found)
    if found is None or box is None or not isinstance(op, NdOp):
        return None
    return SliceWrite(op, found.change, found.array, found.part, box)


def write_of_element(op: Operation) -> SliceWrite | None:
    """The write of an op, if it is to an element at a constant index."""
    found = written_subset(op)
    box = touched(found) if isinstance(found, Element) else None
    if found is None or box is None or not isinstance(op, NdOp):
        return None
    return SliceWrite(op, found.change, found.array, found.part, box)


def read_box(op: Operation) -> tuple[SSAValue, Box] | None:
    """The array and the box that an op reads, if it is a dense slice at a constant index."""
    found = read_subset(op)
    box = None if found is None else _box(found)
    return None if found is None or box is None else (found.array, box)


def are_apart(one: Subset, other: Subset) -> bool:
    """Whether two parts of one array are certain to have no element in common."""
    pairs = zip(one.ranges, other.ranges, strict=True)
    return any(a is not None and b is not None and are_disjoint(_ends(a), _ends(b)) for a, b in pairs)


def _ends(along: Range) -> tuple[Form, Form]:
    start, length = along.start, along.length
    if isinstance(length, tuple):
        array, axis = length
        size = types.shape(array.type)[axis]
        count = Form(size) if size >= 0 else of_term(Opaque(array, axis=axis))
    else:
        count = Form(length) if isinstance(length, int) else linear(length)
    return ends_of(Form(start) if isinstance(start, int) else linear(start), count, along.stride)


def touched(found: Subset) -> Box | None:
    """The box of a read or a write, if it is of a dense slice or an element at a constant index."""
    if not isinstance(found, Element):
        return _box(found)
    places = [constant_int(place) for place in found.places]
    known = [place for place in places if place is not None]
    return Box(tuple(known), tuple([place + 1 for place in known])) if len(known) == len(places) else None


def _box(found: Subset) -> Box | None:
    if not isinstance(found, Slice) or any(stride != 1 for stride in found.strides):
        return None
    sizes, starts = types.shape(found.part.type), [constant_int(place) for place in found.places]
    known = [start for start in starts if start is not None]
    if len(known) < len(sizes) or len(known) < len(starts) or min(sizes) < 1 or len(sizes) > _MOST_AXES:
        return None
    return Box(tuple(known), tuple([start + size for start, size in zip(known, sizes, strict=True)]))


def number_in(array: SSAValue) -> Expr:
    """The number that fills an array."""
    owner: Any = array.owner
    contents = owner.contents()
    if isinstance(contents, SSAValue):
        return Expr(contents)
    return constant(number_of(contents, array.type), types.element_type(array.type))


def places(starts: Sequence[int]) -> list[Expr]:
    return [constant(start, types.I64) for start in starts]
