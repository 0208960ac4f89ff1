"""Moves the loops over a plane outside of the loop whose trips compute the plane, so that memory is used in its order.

Reads: scf and nd. Writes: a loop over rows, in it the loop, for one row of each array. Leaves: loops that do not
compute rows apart (`planar_trips.py`), and loops that compute functions, which are faster in vectors.

A plane across the last axis of an array has one number in each cache line, and the next trip needs the number beside
it. If the lines of a trip do not fit into the first cache, each of them is fetched again for each number. Each number
is computed by the same operations, in the same order.

Loops that follow one another, with the ops between them, become one loop over rows (`planar_sequences.py`). What they
compute for one another is then an array of one row, or of a strip of rows (`strips.py`):

    for k in range(levels):                      for i in range(rows):
        a[:, k] = f(a[:, k - 1])        ->           for k in range(levels):
    for k in range(levels):                              row[k] = f(row[k - 1])
        b[:, k] = g(a[:, k])                         for k in range(levels):
                                                         b[i, k] = g(row[k])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.loops import Loop, trip_count
from mlirad.analysis.trip_forms import Trip, linear
from mlirad.dialect.arrays.slices import insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, apply, located
from mlirad.dialect.core.op import accessed_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.lowering.planes.planar_sequences import PlanarSequence, planar_sequence
from mlirad.lowering.planes.planar_trips import PlanarTrips, is_function, is_slice, planar_trips
from mlirad.lowering.planes.reduced_rows import reduce_within_rows
from mlirad.lowering.planes.row_ops import RowOps, undefined
from mlirad.lowering.planes.shifted_additions import store_additions
from mlirad.lowering.planes.strips import StripOps
from mlirad.lowering.planes.taped_planes import store_planes_by_points
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.traversal import find, ops_of

_LINE = 64
"""The bytes of a cache line."""


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
        for loop in _exchange_sequences(loops):
            while (trips := planar_trips(loop)) is not None:
                if trips.shared:
                    store_additions(loop, trips.shared)
                else:
                    loop = _exchange(trips)

    def _pays(self, loop: scf.ForOp) -> bool:
        return not any(map(is_function, ops_of(loop.body.block))) and _crosses_lines(loop, self.least)


def _crosses_lines(loop: scf.ForOp, least: int) -> bool:
    """Whether the trips of a loop use most of their cache lines for one number only, and these are many lines."""
    count = trip_count(loop)
    if count is not None and count * 8 < _LINE:
        return False
    across: dict[tuple[SSAValue, tuple[int, ...]], int] = {}
    along: dict[tuple[SSAValue, tuple[int, ...]], int] = {}
    first = {version: carry.arg for carry in Loop(loop).carries for version in _versions(carry.yielded)}
    for op in ops_of(loop.body.block):
        subset = accessed_subset(op)
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
    while isinstance(op := found[-1].owner, Operation) and (subset := accessed_subset(op)) is not None:
        found.append(subset.array)
    return found


def _exchange(trips: PlanarTrips) -> scf.ForOp:
    """Replace the loop by one over rows with the loop in it, which is returned."""
    loop, made = trips.loop, []
    with in_place_of(loop):

        def row(number: Expr, *carried: Expr) -> Sequence[Expr]:
            number.value.name_hint = "row"
            ops = RowOps(trips.rows, trips.parts, trips.count, number)
            ops.take(trips.before)
            ops.split(trips.parts)
            results = _trips(trips, ops, carried)
            made.append(number.value.owner)
            return results

        results = for_loop(trips.count, [Expr(init) for init in Loop(loop).inits], row)
    for old, new in zip(loop.results, results, strict=True):
        new.value.name_hint = old.name_hint
    replace(loop, [result.value for result in results])
    (inner,) = (op for op in made[0].ops if isinstance(op, scf.ForOp))
    return inner


def _trips(trips: PlanarTrips, ops: RowOps, carried: Sequence[Expr]) -> list[Expr]:
    """All trips for a row. Takes and returns the whole arrays."""
    carries, rows = Loop(trips.loop).carries, trips.rows
    inits = [
        ops.row_of(whole, rows[carry.arg]) if carry.arg in rows else whole
        for whole, carry in zip(carried, carries, strict=True)
    ]
    found = ops.loop(trips.loop, inits)
    return [
        insert_slice(new, whole, *ops.place(whole, rows[carry.arg])) if carry.arg in rows else new
        for new, whole, carry in zip(found, carried, carries, strict=True)
    ]


def _exchange_sequences(loops: Sequence[scf.ForOp]) -> list[scf.ForOp]:
    """Compute a row in several loops before the next row. Gives the loops whose trips still compute several rows."""
    for loop in loops:
        while (trips := planar_trips(loop)) is not None and trips.shared:
            store_additions(loop, trips.shared)
    found = list(loops)
    while (sequence := _sequence(found)) is not None:
        strip = _strip(sequence)
        sequence = reduce_within_rows(sequence)
        inner = _exchange_sequence(sequence, strip)
        found = [inner.get(loop, loop) for loop in found if strip == 1 or loop not in inner]
    return found


def _strip(sequence: PlanarSequence) -> int:
    """How many rows to compute at a time: the numbers of a vector, if a row of a plane is one number."""
    parts = [
        subset.part
        for op in (*sequence.parts, *sequence.local)
        if op.parent is not sequence.block and (subset := accessed_subset(op)) is not None
    ]
    if any(prod(types.shape(part.type)) != sequence.count for part in parts if types.is_tensor(part.type)):
        return 1
    size = max((types.itemsize(part.type) for part in parts), default=_LINE)
    return _LINE // size if sequence.count >= _LINE // size else 1


def _sequence(loops: Sequence[scf.ForOp]) -> PlanarSequence | None:
    blocks: dict[Block, list[scf.ForOp]] = {}
    for loop in loops:
        assert loop.parent is not None
        blocks.setdefault(loop.parent, []).append(loop)
    return next(filter(None, (planar_sequence(block, inside) for block, inside in blocks.items())), None)


def _exchange_sequence(sequence: PlanarSequence, strip: int) -> dict[Operation, scf.ForOp]:
    """Replace ops by a loop over strips of rows with these ops in it. Gives the loop for each loop."""
    results, rows, following = sequence.results, sequence.rows, sequence.following
    sinks = [_sink(sequence, result) for result in results]
    made: list[RowOps] = []
    with in_place_of(following), located(sequence.ops[-1].location):
        inits = [
            undefined(result.type) if sink is None else Expr(sink.array)
            for result, sink in zip(results, sinks, strict=True)
        ]

        def row(number: Expr, *carried: Expr) -> Sequence[Expr]:
            first = number * strip if strip > 1 else number
            if sequence.count % strip:
                first = apply(np.minimum, first, sequence.count - strip)  # the last strip has rows of the one before
            number.value.name_hint = "row" if strip == 1 else "strip"
            if strip == 1:
                ops = RowOps(rows, sequence.parts, sequence.count, first, sequence.local)
            else:
                ops = StripOps(rows, sequence.parts, sequence.count, first, sequence.local, strip=strip)
                ops.read_ahead(sequence)
            made.append(ops)
            ops.take(sequence.taken)
            ops.ops(sequence.ops)
            places = [
                ops.place(whole, rows[result], () if sink is None else sink.ranges)
                for result, whole, sink in zip(results, carried, sinks, strict=True)
            ]
            return [
                insert_slice(part, whole, *place)
                for part, whole, place in zip(map(ops.result, results), carried, places, strict=True)
            ]

        found = for_loop(-(-sequence.count // strip), inits, row)
    for op in sequence.later:
        op.detach()
        sequence.block.insert_op_before(op, following)
    for old, new, sink in zip(results, found, sinks, strict=True):
        new.value.name_hint = old.name_hint
        if sink is None:
            old.replace_all_uses_with(new.value)
        else:
            (user,) = sequence.users(old)
            replace(user, [new.value])
    for op in reversed(sequence.ops):
        erase(op)
    return made[0].loops


def _sink(sequence: PlanarSequence, result: SSAValue) -> Subset | None:
    """The write of a result to a part of an array from before, if that is its only other use."""
    users = sequence.users(result)
    op = next(iter(users))
    subset = written_subset(op)
    if len(users) > 1 or subset is None or subset.part is not result or subset.change is not Change.REPLACED:
        return None
    owners = [value.owner for value in op.operands if value is not result]
    is_before = not any(
        each in (*sequence.ops, *sequence.later)
        or (each.parent is sequence.block and not each.is_before_in_block(sequence.following))
        for each in owners
        if isinstance(each, Operation)
    )
    return subset if is_slice(subset) and subset.array is not result and is_before else None
