"""Computes ops for several rows of their arrays at a time, in vectors.

Reads: ops of a `PlanarSequence`. Writes: the same ops for a strip of rows. Leaves: the ops themselves.

The arrays of a strip have one more axis, the last: the number of the row. So each op computes vectors of neighbouring
numbers, whatever axis the rows have in the whole arrays. Arrays are brought into that order once for each strip:

    x[i, j : j + 8, k]    ->    copy[i, 0, k, :]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.loops import Loop, block_of, counts_from_zero, trip_count
from mlirad.analysis.trip_forms import Form, Opaque, Term, Trip, linear
from mlirad.dialect.arrays.slices import extract_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.core.op import accessed_subset
from mlirad.dialect.core.subset import Subset
from mlirad.dialect.ops.movement import TransposeOp, reshape
from mlirad.lowering.planes.planar_sequences import PlanarSequence
from mlirad.lowering.planes.planar_trips import RowAxis
from mlirad.lowering.planes.row_ops import RowOps

Place = tuple[SSAValue, RowAxis, tuple[tuple[Form, int, int] | None, ...]]
"""An array, its rows, and along each axis the start, length and stride of a part; None: all of the axis."""


@dataclass
class StripOps(RowOps):
    """Ops for `strip` rows from number `row` on."""

    strip: int = 1
    _copies: dict[Place, Expr] = field(default_factory=dict)
    _places: dict[Operation, Place] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.strip

    def read_ahead(self, sequence: PlanarSequence) -> None:
        """Copy the arrays from before that the trips of loops read, slice by slice."""
        for op in self.parts:
            subset = accessed_subset(op)
            place = None if subset is None or op.parent is sequence.block else self._place(sequence, op, subset)
            if place is not None:
                self._places[op] = place
                if place not in self._copies:
                    self._copies[place] = self._copy(place)

    def _place(self, sequence: PlanarSequence, op: Operation, subset: Subset) -> Place | None:
        """The part of an array that all trips read; None if they use only a little of it."""
        axes, moving = [], 0
        loop, shape = op.parent_op(), types.shape(subset.array.type)
        if not isinstance(loop, scf.ForOp) or loop.parent is not sequence.block:
            return None  # it may never read that part
        for axis, place in enumerate(subset.ranges):
            assert place is not None and isinstance(place.length, int)
            form = linear(place.start) if isinstance(place.start, SSAValue) else Form(constant=place.start)
            if all(_is_before(term, sequence) for term in form.terms):
                axes.append((form, place.length, place.stride))
                continue
            is_next = abs(form.terms.get(Trip(loop), 0)) == 1 and place.length == 1
            if axis == self.parts[op].axis or not is_next or 2 * (trip_count(loop) or 0) < shape[axis]:
                return None
            axes.append(None)
            moving += 1
        return (subset.array, self.parts[op], tuple(axes)) if moving == 1 else None

    def _copy(self, place: Place) -> Expr:
        array, rows, axes = place
        starts, sizes, strides = [], list(types.shape(array.type)), []
        for axis, each in enumerate(axes):
            form, length, stride = each or (Form(), sizes[axis], 1)
            start = _computed(form)
            if axis == rows.axis:
                start, length = start + self._first(rows) * stride, self.strip * rows.unit
            starts.append(start)
            strides.append(stride)
            sizes[axis] = length
        return self._turned(extract_slice(Expr(array), starts, sizes, strides), rows)

    # --- the order of a strip -----------------------------------------------------------------------------------

    def _access(self, op: Operation, subset: Subset) -> Expr:
        if op not in self._places:
            return self._turned(super()._access(op, subset), self.parts[op])
        place = self._places[op]
        zero = constant(0, types.I64)
        starts = [
            self._start(each) if fixed is None and each is not None else zero
            for each, fixed in zip(subset.ranges, place[2], strict=True)
        ]
        sizes = self._sizes(types.shape(subset.part.type), self.parts[op])
        return extract_slice(self._copies[place], [*starts, zero], sizes)

    def row_of(self, whole: Expr, rows: RowAxis) -> Expr:
        return self._turned(super().row_of(whole, rows), rows)

    def result(self, value: SSAValue) -> Expr:
        x, axis = super().result(value), self.rows[value].axis
        sizes = list(x.shape)
        if prod(sizes[axis:-1]) != 1:
            order = list(range(len(sizes) - 1))
            order.insert(axis, len(sizes) - 1)
            x = _transposed(x, order)
        size = sizes.pop()
        sizes[axis] *= size
        return reshape(x, types.tensor(sizes, x.element))

    def _sizes(self, shape: Sequence[int], rows: RowAxis) -> list[int]:
        return [*super()._sizes(shape, rows), self.strip]

    def _turned(self, x: Expr, rows: RowAxis) -> Expr:
        """The rows of an array become its last axis."""
        axis, sizes = rows.axis, list(x.shape)
        sizes[axis : axis + 1] = [self.strip, rows.unit]
        if prod(sizes[axis + 1 :]) != 1:
            x = reshape(x, types.tensor(sizes, x.element))
            return _transposed(x, [each for each in range(len(sizes)) if each != axis] + [axis])
        sizes.append(sizes.pop(axis))
        return reshape(x, types.tensor(sizes, x.element))


def _transposed(x: Expr, order: Sequence[int]) -> Expr:
    return emit(TransposeOp, x, permutation=order)


def _is_before(term: Term, sequence: PlanarSequence) -> bool:
    """Whether a term of an index is known before the ops of a sequence."""
    if isinstance(term, Trip):
        loop = term.loop
        return isinstance(loop, scf.ForOp) and counts_from_zero(loop) and loop.is_ancestor(sequence.block)
    outermost = sequence.block.find_ancestor_op_in_block(block_of(term.value).parent_op() or sequence.ops[0])
    return term.axis is None and outermost is None


def _computed(form: Form) -> Expr:
    total = constant(form.constant, types.I64)
    for term, factor in form.terms.items():
        value = term.value if isinstance(term, Opaque) else Loop(term.loop).body.args[0]
        total = total + (Expr(value) if factor == 1 else Expr(value) * factor)
    return total
