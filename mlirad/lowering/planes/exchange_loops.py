"""Moves the loops over a plane outside of the loop whose trips compute the plane, so that memory is used in its order.

Reads: scf and nd. Writes: a loop over rows, in it the loop, for one row of each array. Leaves: loops that do not
compute rows apart (`planar_trips.py`), and loops that compute functions, which are faster in vectors.

A plane across the last axis of an array has one number in each cache line, and the next trip needs the number beside
it. If the lines of a trip do not fit into the first cache, each of them is fetched again for each number. Each number
is computed by the same operations, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.constants import holds_one_number, known_number
from mlirad.analysis.loops import Loop, trip_count, yields
from mlirad.analysis.trip_forms import Trip, linear
from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, apply, constant, emit_all, full, insert, located
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.ops.movement import reshape
from mlirad.lowering.planes.planar_trips import PlanarTrips, RowAxis, planar_trips, subset_of
from mlirad.lowering.planes.shifted_additions import store_additions
from mlirad.lowering.planes.taped_planes import store_planes_by_points
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import find, ops_of

_LINE = 64
"""The bytes of a cache line."""
_FUNCTION = 10
"""The cost from which on an op counts as a function."""


@dataclass(frozen=True)
class ExchangeLoops(ModulePass):
    """Compute a row in all trips before the next row, if trips cross the rows of large arrays.

    least: the bytes of all cache lines of a trip from which on they are too many for the first-level cache.

    Before:

        func.func @f(%x: tensor<9x16xf64>, %y: tensor<9x16xf64>) -> tensor<9x16xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %n = nd.constant {value = 16 : i64} : i64
          %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %y) -> (tensor<9x16xf64>) : i64 {
            %p = nd.extract_slice %x[%c0, %k] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
                : tensor<9x16xf64> -> tensor<9x1xf64>
            %q = nd.add_slice %p, %t[%c0, %k] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
                : tensor<9x1xf64> into tensor<9x16xf64>
            scf.yield %q : tensor<9x16xf64>
          }
          func.return %r : tensor<9x16xf64>
        }

    After `mlirad-exchange-loops{least=1}`:

        func.func @f(%x: tensor<9x16xf64>, %y: tensor<9x16xf64>) -> tensor<9x16xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %n = nd.constant {value = 16 : i64} : i64
          %c0_1 = nd.constant {value = 0 : i64} : i64
          %c9 = nd.constant {value = 9 : i64} : i64
          %c1_1 = nd.constant {value = 1 : i64} : i64
          %r = scf.for %row = %c0_1 to %c9 step %c1_1 iter_args(%0 = %y) -> (tensor<9x16xf64>) : i64 {
            %c0_2 = nd.constant {value = 0 : i64} : i64
            %c1_2 = nd.constant {value = 1 : i64} : i64
            %t = scf.for %k = %c0_2 to %n step %c1_2 iter_args(%t_1 = %0) -> (tensor<9x16xf64>) : i64 {
              %1 = nd.add %c0, %row : i64
              %p = nd.extract_slice %x[%1, %k] {sizes = array<i64: 1, 1>, strides = array<i64: 1, 1>}
                  : tensor<9x16xf64> -> tensor<1x1xf64>
              %2 = nd.add %c0, %row : i64
              %q = nd.add_slice %p, %t_1[%2, %k] {sizes = array<i64: 1, 1>, strides = array<i64: 1, 1>}
                  : tensor<1x1xf64> into tensor<9x16xf64>
              scf.yield %q : tensor<9x16xf64>
            }
            scf.yield %t : tensor<9x16xf64>
          }
          func.return %r : tensor<9x16xf64>
        }
    """

    name = "mlirad-exchange-loops"

    least: int = 1 << 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        loops = [loop for loop in find(op, scf.ForOp) if self._pays(loop) and planar_trips(loop) is not None]
        store_planes_by_points(op, loops)
        for loop in loops:
            while (trips := planar_trips(loop)) is not None:
                if trips.shared:
                    store_additions(loop, trips.shared)
                else:
                    loop = _exchange(trips)

    def _pays(self, loop: scf.ForOp) -> bool:
        return not _computes_functions(loop) and _crosses_lines(loop, self.least)


def _computes_functions(loop: scf.ForOp) -> bool:
    return any(isinstance(op, NdOp) and op.memory.cost >= _FUNCTION for op in ops_of(loop.body.block))


def _crosses_lines(loop: scf.ForOp, least: int) -> bool:
    """Whether the trips of a loop use most of their cache lines for one number only, and these are many lines."""
    count = trip_count(loop)
    if count is not None and count * 8 < _LINE:
        return False
    across: dict[tuple[SSAValue, tuple[int, ...]], int] = {}
    along: dict[tuple[SSAValue, tuple[int, ...]], int] = {}
    first = {version: carry.arg for carry in Loop(loop).carries for version in _versions(carry.yielded)}
    for op in ops_of(loop.body.block):
        subset = subset_of(op)
        if subset is not None and types.is_tensor(subset.part.type) and types.is_static(subset.part.type):
            shape = types.shape(subset.part.type)
            places = across if _is_across(subset, loop) else along
            places[first.get(subset.array, subset.array), shape] = prod(shape) * _LINE
    return sum(across.values()) >= least and len(across) >= 2 * len(along)


def _is_across(subset: Subset, loop: scf.ForOp) -> bool:
    """Whether a part has one number of each row of the array, and the next trips need the numbers beside it."""
    last = subset.ranges[-1]
    if last is None or last.length != 1 or not isinstance(last.start, SSAValue):
        return False
    step = linear(last.start).terms.get(Trip(loop), 0)
    return 0 < abs(step) * types.itemsize(subset.part.type) < _LINE


def _versions(value: SSAValue) -> list[SSAValue]:
    """A carried array before and after each write of a trip."""
    found = [value]
    while isinstance(op := found[-1].owner, Operation) and (subset := subset_of(op)) is not None:
        found.append(subset.array)
    return found


def _exchange(trips: PlanarTrips) -> scf.ForOp:
    """Replace the loop by one over rows with the loop in it, which is returned."""
    loop, made = trips.loop, []
    with in_place_of(loop):

        def row(number: Expr, *carried: Expr) -> Sequence[Expr]:
            number.value.name_hint = "row"
            results = _Row(trips, number).loop(carried)
            made.append(number.value.owner)
            return results

        results = for_loop(trips.count, [Expr(init) for init in Loop(loop).inits], row)
    for old, new in zip(loop.results, results, strict=True):
        new.value.name_hint = old.name_hint
    replace(loop, [result.value for result in results])
    (inner,) = (op for op in made[0].ops if isinstance(op, scf.ForOp))
    return inner


@dataclass
class _Row:
    """The loop for one row, number `row`."""

    trips: PlanarTrips
    row: Expr
    _values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    _blocks: dict[Operation, Expr] = field(default_factory=dict)

    def loop(self, carried: Sequence[Expr]) -> list[Expr]:
        """Emit it. Takes and returns the whole arrays."""
        loop, rows = self.trips.loop, self.trips.rows
        for value in self.trips.before:
            self._values[value] = self._row_of(Expr(value), rows[value]).value
        for op, at in self.trips.parts.items():
            subset = subset_of(op)
            if at.blocks != 1 and subset is not None:
                self._blocks[op] = self._split(Expr(subset.array), at)
        carries = Loop(loop).carries
        inits = [
            self._row_of(whole, rows[carry.arg]) if carry.arg in rows else whole
            for whole, carry in zip(carried, carries, strict=True)
        ]
        found = for_loop(Expr(loop.ub), inits, self._trip)
        for carry, new in zip(carries, found, strict=True):
            new.value.name_hint = carry.arg.name_hint
        return [
            insert_slice(new, whole, self._starts(whole, rows[carry.arg])) if carry.arg in rows else new
            for new, whole, carry in zip(found, carried, carries, strict=True)
        ]

    def _trip(self, counter: Expr, *carried: Expr) -> list[Expr]:
        body = self.trips.loop.body.block
        for arg, new in zip(body.args, (counter, *carried), strict=True):
            new.value.name_hint = arg.name_hint
            self._values[arg] = new.value
        for op in ops_of(body):
            if not is_terminator(op.__class__):
                with located(op.location):
                    self._op(op)
        return [Expr(self._of(value)) for value in yields(body)]

    def _op(self, op: Operation) -> None:
        assert isinstance(op, NdOp)
        subset = subset_of(op)
        if op in self.trips.parts and subset is not None:
            results = [self._access(op, subset, self.trips.parts[op])]
        elif _is_filled(op.results[0]):
            return
        elif op.is_reshape() and op.results[0] in self.trips.rows:
            results = [reshape(Expr(self._of(op.operands[0])), self._type(op.results[0]))]
        elif op.results[0] in self.trips.rows:
            operands = [self._of(operand, like=op.results[0]) for operand in op.operands]
            results = emit_all(type(op), *operands, result_type=self._type(op.results[0]), **op.properties)
        else:
            results = [Expr(result) for result in insert(op.clone(dict(self._values))).results]
        for old, new in zip(op.results, results, strict=True):
            new.value.name_hint = old.name_hint
            self._values[old] = new.value

    def _access(self, op: Operation, subset: Subset, rows: RowAxis) -> Expr:
        """A read or write of the row of a slice."""
        ranges = [each for each in subset.ranges if each is not None]
        starts = [self._start(each) for each in ranges]
        sizes, strides = list(types.shape(subset.part.type)), [each.stride for each in ranges]
        sizes[rows.axis] = rows.unit
        if op in self._blocks:
            block = apply(np.floor_divide, starts[rows.axis], self.trips.count * rows.unit)
            starts[rows.axis : rows.axis + 1] = [block, self._first(rows)]
            sizes[rows.axis : rows.axis + 1] = [rows.blocks, rows.unit]
            return extract_slice(self._blocks[op], starts, sizes, [*strides, 1])
        first = self._first(rows)
        starts[rows.axis] = starts[rows.axis] + (first if strides[rows.axis] == 1 else first * strides[rows.axis])
        array = Expr(self._of(subset.array))
        if subset.change is Change.NONE:
            return extract_slice(array, starts, sizes, strides)
        update = insert_slice if subset.change is Change.REPLACED else add_slice
        part = self._filled(subset.part, sizes) if _is_filled(subset.part) else Expr(self._of(subset.part))
        return update(part, array, starts, strides)

    def _start(self, place: Range) -> Expr:
        start = place.start
        return Expr(self._of(start)) if isinstance(start, SSAValue) else constant(start, types.I64)

    # --- values -------------------------------------------------------------------------------------------------

    def _of(self, value: SSAValue, like: SSAValue | None = None) -> SSAValue:
        """A value for the row. like: a value of the same shape that has rows, if `value` may be filled."""
        if value not in self._values and _is_filled(value):
            like = value if value in self.trips.rows else like
            if like is not None:
                return self._filled(value, types.shape(self._type(like))).value
        return self._values.get(value, value)

    def _filled(self, value: SSAValue, shape: Sequence[int]) -> Expr:
        owner: Any = value.owner
        contents = owner.contents()
        if isinstance(contents, SSAValue):
            return full(Expr(self._of(contents)), shape)
        return full(constant(known_number(value), types.element_type(value.type)), shape)

    def _row_of(self, whole: Expr, rows: RowAxis) -> Expr:
        sizes = list(whole.shape)
        sizes[rows.axis] = rows.unit
        return extract_slice(whole, self._starts(whole, rows), sizes)

    def _starts(self, whole: Expr, rows: RowAxis) -> list[Expr]:
        zero = constant(0, types.I64)
        return [self._first(rows) if axis == rows.axis else zero for axis in range(len(whole.shape))]

    def _first(self, rows: RowAxis) -> Expr:
        """The first index of the row, from that of all rows."""
        return self.row if rows.unit == 1 else self.row * rows.unit

    def _type(self, value: SSAValue) -> Attribute:
        rows, sizes = self.trips.rows[value], list(types.shape(value.type))
        sizes[rows.axis] = rows.unit
        return types.tensor(sizes, types.element_type(value.type))

    def _split(self, array: Expr, rows: RowAxis) -> Expr:
        """The axis of an array that consists of blocks of all rows becomes two: the blocks, and the rows."""
        sizes, size = list(array.shape), self.trips.count * rows.unit
        sizes[rows.axis : rows.axis + 1] = [array.shape[rows.axis] // size, size]
        return reshape(array, types.tensor(sizes, array.element))


def _is_filled(value: SSAValue) -> bool:
    return types.is_tensor(value.type) and holds_one_number(value)
