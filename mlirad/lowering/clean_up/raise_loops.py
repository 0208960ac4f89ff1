"""Raises loops with independent trips to ops on whole arrays, which have vector functions and need no tape.

Reads: func, scf and nd, before or after differentiation. Writes: nd ops on slices, gathers, sums in the loop's order,
and running extremes. Leaves: loops with a trip that needs an earlier one, or that may fail, and loops that gain
nothing.

Each op becomes the same op on all trips, stacked along one axis. A read whose index moves with the loop's counter
becomes a slice, other reads become gathers; a write becomes a slice. A branch computes both sides, and selects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.bounds import element_bound
from mlirad.analysis.loops import loops_around, trip_count, yields
from mlirad.analysis.trip_forms import Form, Trip, linear, of_term
from mlirad.dialect.arrays.elements import ExtractOp
from mlirad.dialect.arrays.gather import GatherOp
from mlirad.dialect.arrays.running_extreme import RunningExtremeOp, running_extreme
from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.arrays.sum_in_order import SumInOrderOp
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.expr import Expr, apply, building, constant, emit, emit_all, insert, located, sum_of, where
from mlirad.dialect.core.op import NdOp, read_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import of_lanes, repeated, reshape
from mlirad.errors import CompileError
from mlirad.location import SourceLocation
from mlirad.lowering.clean_up.check_elimination import eliminate_checks
from mlirad.lowering.clean_up.hoist_checks import HoistedChecks, value_of
from mlirad.lowering.clean_up.independent_trips import (
    IndependentTrips,
    MovingPlace,
    Sum,
    Writes,
    independent_trips,
    is_counted,
    unlike,
)
from mlirad.lowering.clean_up.running_extremes import Companion, RunningExtreme, select_numbers
from mlirad.lowering.rewriting import replace
from mlirad.xdsl_support.traversal import find, ops_of


@dataclass(frozen=True)
class RaiseLoops(ModulePass):
    """Compute all trips of a loop at once, if they are independent.

    is_derived: derivatives of the functions will be needed, which also pay for loops of arithmetic.

    Before:

        func.func @f(%x: tensor<99xf64>) -> f64 {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %n = nd.constant {value = 99 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_1 = %zero) -> (f64) : i64 {
            %a = nd.extract %x[%i] : tensor<99xf64> -> f64
            %b = nd.sin %a : f64
            %s_2 = nd.add %s_1, %b : f64
            scf.yield %s_2 : f64
          }
          func.return %s : f64
        }

    After `mlirad-raise-loops{is_derived=true}`:

        func.func @f(%x: tensor<99xf64>) -> f64 {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %n = nd.constant {value = 99 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %i = nd.arange : tensor<99xi64>
          %first = nd.constant {value = 0 : i64} : i64
          %a = nd.extract_slice %x[%first] {sizes = array<i64: 99>, strides = array<i64: 1>}
              : tensor<99xf64> -> tensor<99xf64>
          %b = nd.sin %a : tensor<99xf64>
          %s = nd.sum_in_order %b, %zero : tensor<99xf64>, f64
          func.return %s : f64
        }
    """

    name = "mlirad-raise-loops"
    is_derived: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise_loops(op, {}, is_derived=self.is_derived)


Verdicts = dict[SourceLocation, str | None]
"""Why the loop of a line stays a loop; None if it has been raised."""


def raise_loops(module: ModuleOp, verdicts: Verdicts, *, is_derived: bool) -> None:
    """Raise the loops of a module. The first verdict about a line counts: later ones are about derivatives."""
    for function in module.ops:
        loops = find(function, scf.ForOp)
        for loop in loops:
            select_numbers(loop)
        if any(unlike(loop, is_derived=is_derived) is None for loop in loops):
            eliminate_checks(function)
        for loop in reversed(find(function, scf.ForOp)):
            place = types.from_location(loop.location)
            reason = raise_loop(loop, is_derived=is_derived)
            if place is not None and (reason is None or place not in verdicts):
                verdicts[place] = reason


def raise_loop(loop: scf.ForOp, *, is_derived: bool) -> str | None:
    """Raise the loop, or the trips of it that pass its checks, if their trips are independent; else say why not."""
    trips = independent_trips(loop, is_derived=is_derived)
    if isinstance(trips, IndependentTrips):
        return _raise(trips, is_derived=is_derived)
    hoisted = HoistedChecks.of(loop) if unlike(loop, is_derived=is_derived) is None else None
    if hoisted is None:
        return trips
    checked = independent_trips(hoisted.unchecked, is_derived=is_derived)
    if isinstance(checked, str):
        hoisted.reject()
        return checked
    hoisted.accept()
    return _raise(checked, is_derived=is_derived)


def _raise(trips: IndependentTrips, *, is_derived: bool) -> str | None:
    """Replace the loop by ops on all trips; it stays, for the reason given, if one of its ops has no such form."""
    loop, made = trips.loop, Block()
    with building(made), located(loop.location):
        try:
            results = _Raising(trips).results()
        except CompileError:
            results = None  # an op's type rule accepts numbers only
    assert loop.parent is not None
    if results is None:
        made.drop_all_references()
        return "one of its ops has no form for whole arrays"
    if is_derived and loops_around(loop.parent) and not all(map(_is_bounded, made.ops)):
        made.drop_all_references()
        return "it runs repeatedly, and the tape may need an array for all its trips, whose number has no bound"
    for op in ops_of(made):
        op.detach()
        loop.parent.insert_op_before(op, loop)
    for old, new in zip(loop.results, results, strict=True):
        new.value.name_hint = old.name_hint
    replace(loop, [result.value for result in results])
    return None


def _is_bounded(op: Operation) -> bool:
    return all(not types.is_tensor(each.type) or element_bound(each) is not None for each in op.results)


@dataclass
class _Raising:
    """The ops of one trip, and their forms for all trips. written: the last value that a trip wrote to a place it
    rereads."""

    trips: IndependentTrips
    lanes: int | Expr = 0
    _values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    _extremes: dict[SSAValue, tuple[Expr, RunningExtremeOp]] = field(default_factory=dict)
    _written: dict[tuple[SSAValue, MovingPlace], SSAValue] = field(default_factory=dict)

    def results(self) -> list[Expr] | None:
        """The loop's results; None if an op has no form for all trips."""
        loop, body = self.trips.loop, self.trips.loop.body.block
        count = trip_count(loop)
        self.lanes = apply(np.maximum, Expr(loop.ub), 0) if count is None else count
        numbers = counted(self.lanes)
        self._values[body.args[0]] = (self._last - numbers if self.trips.is_reversed else numbers).value
        for carry in self.trips.carries:
            self._values[carry.carry.arg] = carry.carry.init
        if not self._block(body):
            return None
        return [Expr(self._values[carry.carry.yielded]) for carry in self.trips.carries]

    def _of(self, value: SSAValue) -> Expr:
        """A value for all trips, or the single value if it is the same in all trips."""
        return Expr(self._values.get(value, value))

    def _stacked(self, value: SSAValue) -> Expr:
        """The same, but repeated for each trip if all trips share one value."""
        return self._of(value) if value in self.trips.varying else repeated(self._of(value), self.lanes)

    def _block(self, block: Block) -> bool:
        roles: dict[Operation, Sum | RunningExtreme | Companion] = {
            each.op: each for each in self.trips.carries if not isinstance(each, Writes)
        }
        tests = {each.test.owner for each in roles.values() if isinstance(each, RunningExtreme)}
        for op in ops_of(block):
            if op is block.last_op or op in tests:
                continue
            with located(op.location):
                found = self._op(op) if op not in roles else self._carry(roles[op])
            if found is None:
                return False
            for old, new in zip(op.results, found, strict=True):
                new.value.name_hint = old.name_hint
                self._values[old] = new.value
        return True

    def _op(self, op: Operation) -> Sequence[Expr] | None:
        if isinstance(op, scf.IfOp):
            return self._both_sides(op)
        assert isinstance(op, NdOp)
        if (write := written_subset(op)) is not None:
            return [self._write(op, write)]
        if self.trips.varying.isdisjoint(op.operands):
            return [Expr(result) for result in insert(op.clone(dict(self._values))).results]
        if (read := read_subset(op)) is not None:
            return [self._read(op, read)]
        stacked = [operand in self.trips.varying for operand in op.operands]
        found = op.batched([self._of(operand) for operand in op.operands], stacked, self.lanes)
        answer = op.loops()
        if found is not None or not (isinstance(answer, Generic) and answer.is_pointwise):
            return found
        asked = of_lanes(op.results[0].type, self.lanes)
        return emit_all(type(op), *map(self._stacked, op.operands), result_type=asked, **op.properties)

    def _both_sides(self, op: scf.IfOp) -> Sequence[Expr] | None:
        """The results of a branch: each trip selects its own side."""
        sides: list[list[Expr]] = []
        for region in op.regions:
            if not self._block(region.block):
                return None
            sides.append([self._stacked(value) for value in yields(region.block)])
        chosen = self._stacked(op.cond)
        return [where(chosen, *pair) for pair in zip(*sides, strict=True)]

    def _carry(self, each: Sum | RunningExtreme | Companion) -> Sequence[Expr] | None:
        """A carried number after all trips."""
        match each:
            case Sum():
                return self._sum(each)
            case RunningExtreme():
                return [self._extreme(each)[0]]
            case Companion():
                return [self._companion(each)]

    def _extreme(self, each: RunningExtreme) -> tuple[Expr, RunningExtremeOp]:
        """The largest or smallest number of all trips, and its op."""
        if each.test not in self._extremes:
            self._extremes[each.test] = running_extreme(self._stacked(each.term), Expr(each.carry.init), each.taken)
        return self._extremes[each.test]

    def _companion(self, each: Companion) -> Expr:
        """The value that the loop carries along with the extreme."""
        loop = self.trips.loop
        out, op = self._extreme(each.extreme)
        place, stays = op.chosen(out, Expr(op.x), Expr(op.start))
        start = Expr(each.carry.init)
        if each.value not in self.trips.varying:
            return where(stays, start, self._of(each.value))
        if is_counted(each.value, loop):
            form = linear(each.value)
            factor = form.terms.get(Trip(loop), 0)
            return where(stays, start, value_of(form.plus(of_term(Trip(loop)), -factor)) + place * factor)
        return where(stays, start, emit(ExtractOp, self._of(each.value), where(stays, 0, place)))

    def _sum(self, each: Sum) -> Sequence[Expr] | None:
        """A sum after all trips. The order of integer additions does not matter."""
        start = each.carry.init
        terms = each.op.addend(each.index, [self._stacked(operand) for operand in each.op.operands])
        if terms is None:
            return None
        return [emit(SumInOrderOp, terms, start) if types.is_float(start.type) else Expr(start) + sum_of(terms)]

    # --- arrays -------------------------------------------------------------------------------------------------

    def _read(self, op: Operation, read: Subset) -> Expr:
        """The elements that the trips read."""
        place = self.trips.places[op]
        if place is None or place.axis is None:
            axes = range(len(read.places))
            return emit(GatherOp, self._of(read.array), *map(self._stacked, read.places), axes=axes, at=0)
        if (known := self._written.get((read.array, place))) is not None:
            return Expr(known)
        sizes = [self.lanes if axis == place.axis else 1 for axis in range(len(place.indices))]
        part = extract_slice(self._of(read.array), self._starts(place), sizes, self._strides(place))
        return reshape(part, of_lanes(read.part.type, self.lanes))

    def _write(self, op: NdOp, write: Subset) -> Expr:
        """The array after all trips have written."""
        place, part = self.trips.places[op], self._stacked(write.part)
        assert place is not None
        if write.change is Change.REPLACED:
            self._written[op.results[0], place] = part.value
        count = part.shape[0]
        thin = [count if axis == place.axis else 1 for axis in range(len(place.indices))]
        update = insert_slice if write.change is Change.REPLACED else add_slice
        column = reshape(part, types.tensor(thin, part.element))
        return update(column, self._of(write.array), self._starts(place), self._strides(place))

    @property
    def _last(self) -> Expr:
        """The number of the last trip."""
        return (constant(self.lanes, types.I64) if isinstance(self.lanes, int) else self.lanes) - 1

    def _starts(self, place: MovingPlace) -> list[Expr]:
        """The indices of the trip that accesses the lowest address."""
        return [self._start(form, place.step * (axis == place.axis)) for axis, form in enumerate(place.indices)]

    def _start(self, form: Form, step: int) -> Expr:
        total = value_of(form.plus(of_term(Trip(self.trips.loop)), -form.terms.get(Trip(self.trips.loop), 0)))
        return total + self._last * step if step and self.trips.is_reversed else total

    def _strides(self, place: MovingPlace) -> list[int]:
        sign = -1 if self.trips.is_reversed else 1
        return [sign * place.step if axis == place.axis else 1 for axis in range(len(place.indices))]
