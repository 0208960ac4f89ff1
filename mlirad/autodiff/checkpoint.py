"""Checkpointed loops: the reverse sweep stores a few states of the loop, and reruns trips from them.

Reads: a loop with the attribute `ad.checkpoint`. Writes: its reverse, which calls a private function for some trips of
the loop (its `ad.vjp`, for the trips to undo next). Leaves: the forward sweep unchanged. Only the loop's initial values
are stored.

The trips are undone in legs, from the last to the first. Each leg starts from the nearest stored state, with its own
tape. The states are placed as in Griewank and Walther, "Algorithm 799: Revolve" (2000), which reruns the fewest legs
with s slots: s slots and r runs of each leg are enough for C(s + r, s) legs.
"sqrt": legs of ceil(sqrt(n)) trips, with one slot each. A number of slots, or "binomial" (about log2(n) slots): legs of
one trip. For a budget, `Legs` has the numbers.
The trip count of a while is known when the reverse sweep begins, so the schedule is computed at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

import numpy as np
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import Loop, LoopOp, block_of, terminator, yields
from mlirad.autodiff.cotangents import Reverse
from mlirad.autodiff.naming import Mirror
from mlirad.autodiff.private_functions import add_function
from mlirad.autodiff.replays import drop_unrepeatable
from mlirad.dialect.ad.derivative_ops import VjpOp
from mlirad.dialect.ad.notes import BUDGET, CHECKPOINT, RECOVERED, UNBOUNDED
from mlirad.dialect.ad.tape import new_tape
from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop, while_loop
from mlirad.dialect.core.effect_table import Verb, may
from mlirad.dialect.core.expr import Expr, apply, building, constant, emit, insert, located, where
from mlirad.dialect.core.op import NdOp, PureOp
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DifferentiationError

State = list[Expr]


def is_checkpointed(op: LoopOp) -> bool:
    return CHECKPOINT in op.attributes


def reverse_checkpointed(
    adjoint: Reverse, op: LoopOp, wrt: Sequence[int], captured: Sequence[SSAValue], count: Expr, gs: State, at: Mirror
) -> State:
    """The cotangents of the initial values of the carries `wrt`, and of the captured values. gs: the cotangents of
    their results, and the cotangents so far of the captured values."""
    for arg in Loop(op).args:
        if not types.is_static(arg.type):
            raise DifferentiationError(
                f"a checkpointed loop carries an array of unknown size, {arg.type}",
                types.from_location(op.location),
                "checkpoint a loop around it, or carry an array whose shape is known",
            )
    require_repeatable(Loop(op).body, set(), "the derivative of a checkpointed loop runs the trips of the loop again")
    trips = Trips.of(op, wrt, captured).named(lambda value: adjoint.name(value, at))
    how = op.attributes[CHECKPOINT]
    start = [adjoint.name(carry.init, at) for carry in Loop(op).carries]
    if isinstance(how, DictionaryAttr):
        legs = Legs.read(how)
        slots, leg, budget = constant(legs.slots, types.I64), legs.trips_of_a_leg(count), legs.budget
    elif isinstance(how, StringAttr) and how.data == "sqrt":
        slots, leg, budget = None, _root(count), None
    else:
        slots = constant(how.value.data, types.I64) if isinstance(how, IntegerAttr) else _bits(count)
        leg, budget = constant(1, types.I64), None
    ends = _by_legs(trips, count, slots, leg, start, gs, budget)
    reverse = ends[0].value.owner
    assert isinstance(reverse, scf.ForOp), "a schedule ends with the loop that undoes the trips"
    reverse.attributes[RECOVERED] = DictionaryAttr({"checkpointed": how})
    return ends


@dataclass(frozen=True)
class Legs:
    """The parameters of a checkpointed loop. leg: how many trips share a tape. all: up to this many trips make one leg.
    budget: for the bytes that the reverse of a single trip stores, if a leg is one trip."""

    slots: int
    leg: int = 1
    all: int = 1
    budget: int | None = None

    @property
    def attribute(self) -> DictionaryAttr:
        numbers = {name: getattr(self, name) for name in ("slots", "leg", "all", "budget")}
        return DictionaryAttr({name: IntegerAttr(n, 64) for name, n in numbers.items() if n is not None})

    @classmethod
    def read(cls, attribute: DictionaryAttr) -> Legs:
        return cls(**{name: n.value.data for name, n in attribute.data.items() if isinstance(n, IntegerAttr)})

    def trips_of_a_leg(self, count: Expr) -> Expr:
        leg = constant(self.leg, types.I64)
        return leg if self.all == 1 else where(count <= self.all, apply(np.maximum, count, constant(1, types.I64)), leg)


def require_repeatable(op: Operation | Block, seen: set[Operation], why: str, is_own: bool = True) -> None:
    """Refuse an op in `op`, or in a function called there, that must not run again.

    Ops without results in the loop or function itself are allowed: the rerun omits them.
    """
    for inner in op.walk():
        if isinstance(inner, func.CallOp):
            callee = SymbolTable.lookup_symbol(inner, inner.callee)
            if callee is not None and callee not in seen:
                seen.add(callee)
                require_repeatable(callee, seen, why, False)
        elif isinstance(inner, NdOp) and not may(inner, Verb.CHECKPOINT) and (inner.results or not is_own):
            hint = "move it from the called function into the checkpointed code itself, or do not checkpoint it"
            if inner.results:
                hint = "do it before, and pass the results in as an array, or do not checkpoint this code"
            raise DifferentiationError(f"this op would run again: {why}", types.from_location(inner.location), hint)


# --- the trips as functions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trips:
    """Several trips of a loop, as private functions of (first trip, [number of trips,] carries, captured, others) that
    return the carries and the captured values. outside: the captured and the other values. wrt: the differentiated ones
    among the carries and captured values. given: the outside values, as the reverse sweep has them."""

    run: func.FuncOp
    step: func.FuncOp
    wrt: tuple[int, ...]
    outside: tuple[SSAValue, ...]
    carries: int
    given: tuple[Expr, ...] = ()

    @classmethod
    def of(cls, op: LoopOp, wrt: Sequence[int], captured: Sequence[SSAValue]) -> Trips:
        carries = len(Loop(op).carries)
        outside = [*captured, *(value for value in _from_outside(op) if value not in captured)]
        live = (*wrt, *(carries + number for number in range(len(captured))))
        run, step = (_function(op, outside, len(captured), is_one) for is_one in (False, True))
        return cls(run, step, live, tuple(outside), carries)

    def named(self, name: Callable[[SSAValue], Expr]) -> Trips:
        return replace(self, given=tuple(map(name, self.outside)))

    def forward(self, first: Expr, count: Expr, state: State) -> State:
        """The state after `count` trips from trip `first` on."""
        operands = [x.value for x in (first, count, *state, *self.given)]
        call = insert(func.CallOp(self.run.sym_name.data, operands, self.run.function_type.outputs.data))
        return [Expr(result) for result in call.results[: self.carries]]

    def reverse(self, where: State, state: State, gs: State, budget: int | None) -> State:
        """The cotangents before some trips, given those after. where: the first trip, and the number of trips if not
        one."""
        function = self.step if len(where) == 1 else self.run
        operands = [x.value for x in (*where, *state, *self.given)]
        wrt = self.arguments(function)
        request = insert(VjpOp.of(function, operands, [g.value for g in gs], wrt, self.wrt))
        request.attributes[BUDGET] = IntegerAttr(UNBOUNDED if budget is None else budget, 64)
        return [Expr(result) for result in request.results[len(request.results) - len(wrt) :]]

    def arguments(self, function: func.FuncOp) -> list[int]:
        """The differentiated arguments of a function of trips."""
        shift = 1 if function is self.step else 2
        return [shift + number for number in self.wrt]


def _from_outside(op: LoopOp) -> list[SSAValue]:
    """The values, except constants, that a loop's body uses from outside."""
    body = Loop(op).body
    found: dict[SSAValue, None] = {}
    for inner in body.walk():
        for operand in inner.operands:
            owner = block_of(operand).parent_op()
            is_inside = block_of(operand) is body or (owner is not None and op.is_ancestor(owner) and owner is not op)
            if not is_inside and not _is_literal(operand.owner):
                found[operand] = None
    return list(found)


def _is_literal(op: Operation | Block) -> TypeGuard[PureOp]:
    """Whether an op has no inputs: a function that uses its result gets a copy of the op."""
    return isinstance(op, PureOp) and not op.operands


def _function(op: LoopOp, outside: Sequence[SSAValue], captured: int, is_one: bool) -> func.FuncOp:
    """One trip, or several trips, of the loop."""
    carries = [arg.type for arg in Loop(op).args]
    where_types = [types.I64] if is_one else [types.I64, types.I64]
    block = Block(arg_types=[*where_types, *carries, *(value.type for value in outside)])
    shift = len(where_types)
    values = [Expr(arg) for arg in block.args]
    state, given = values[shift : shift + len(carries)], values[shift + len(carries) :]
    mapped = dict(zip(outside, (x.value for x in given), strict=True))
    with building(block), located(op.location):
        if is_one:
            state = _body(op, values[0], state, mapped)
        elif isinstance(op, scf.ForOp):
            state = list(for_loop(values[1], state, lambda j, *now: _body(op, values[0] + j, now, mapped)))
        else:
            state = list(for_loop(values[1], state, lambda j, *now: _body(op, j, now, mapped)))
        results = [*state, *given[:captured]]
        insert(func.ReturnOp(*(result.value for result in results)))
    drop_unrepeatable(block)
    module = op.parent_op()
    while not isinstance(module, ModuleOp):
        assert module is not None
        module = module.parent_op()
    return add_function(module, "trip" if is_one else "trips", block, [r.type for r in results], op.location)


def _body(op: LoopOp, trip: Expr, state: Sequence[Expr], outside: dict[SSAValue, SSAValue]) -> State:
    """A copy of the loop's body, emitted at the insertion point."""
    loop, mapped = Loop(op), dict(outside)
    if isinstance(op, scf.ForOp):
        mapped[loop.body.args[0]] = trip.value
    mapped.update(zip(loop.args, (x.value for x in state), strict=True))
    for inner in loop.body.walk():
        for operand in inner.operands:
            owner = operand.owner
            if _is_literal(owner) and not op.is_ancestor(owner):
                mapped.setdefault(operand, insert(owner.clone()).results[0])
    end = terminator(loop.body)
    for inner in loop.body.ops:
        if inner is not end:
            with located(inner.location):
                insert(inner.clone(mapped))
    return [Expr(mapped.get(value, value)) for value in yields(loop.body)]


# --- where states are kept --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kept:
    """Storage for some states, one flat array for each carry."""

    types: tuple[Attribute, ...]

    def room(self, slots: Expr) -> State:
        return [
            new_tape(types.tensor([-1], types.element_type(type)), _width(type), slots * _width(type))
            for type in self.types
        ]

    def save(self, room: Sequence[Expr], slot: Expr, state: Sequence[Expr]) -> State:
        saved: State = []
        for tape, value in zip(room, state, strict=True):
            if not value.is_tensor:
                saved.append(emit(InsertOp, value, tape, slot))
                continue
            flat = reshape(value, types.tensor([_width(value.type)], value.element))
            saved.append(insert_slice(flat, tape, [slot * _width(value.type)]))
        return saved

    def load(self, room: Sequence[Expr], slot: Expr) -> State:
        state: State = []
        for tape, type in zip(room, self.types, strict=True):
            if not types.is_tensor(type):
                state.append(emit(ExtractOp, tape, slot))
                continue
            state.append(reshape(extract_slice(tape, [slot * _width(type)], [_width(type)]), type))
        return state


def _width(type: Attribute) -> int:
    return prod(types.shape(type))


# --- schedules --------------------------------------------------------------------------------------------------


def _root(n: Expr) -> Expr:
    """The square root of a number, rounded up."""
    (k,) = while_loop([constant(1, types.I64)], lambda k: k * k < n, lambda k: k + 1)
    return k


def _bits(n: Expr) -> Expr:
    """One more than the number of bits of n - 1."""
    one = constant(1, types.I64)
    return while_loop([one, one], lambda s, power: power < n, lambda s, power: (s + 1, power * 2))[0]


def _by_legs(
    trips: Trips, n: Expr, slots: Expr | None, leg: Expr, start: State, gs: State, budget: int | None
) -> State:
    """slots: how many states are stored at most; None: one for each leg, and the legs' numbers are the slots."""
    kept, zero = _Kept(tuple(x.type for x in start)), constant(0, types.I64)
    is_trip = constant_int(leg.value) == 1
    legs = n if is_trip else apply(np.floor_divide, n + (leg - 1), leg)
    at: State = []
    some = apply(np.maximum, legs, constant(1, types.I64))  # the first state is always stored
    if slots is None:
        slots = some
    else:
        slots = slots if is_trip else apply(np.minimum, slots, some)
        at = [emit(InsertOp, zero, new_tape(types.tensor([-1], types.I64), 1, slots), zero)]
    numbers = len(at)
    first_room = [*at, *kept.save(kept.room(slots), zero, start)]
    tapes = len(first_room)

    def leg_of(top: Expr, room: Sequence[Expr]) -> Expr:
        return emit(ExtractOp, room[0], top) if numbers else top

    def undo(number: Expr, top: Expr, *rest: Expr) -> State:
        last, room, gs = (legs - 1) - number, rest[:tapes], list(rest[tapes:])

        def has_room(top: Expr, *room: Expr) -> Expr:
            return (top + 1 < slots) & (leg_of(top, room) < last)

        def keep(top: Expr, *room: Expr) -> State:
            here = leg_of(top, room)
            ahead = _next_state(last - here + 1, slots - top) if numbers else constant(1, types.I64)
            state = trips.forward(here * leg, ahead * leg, kept.load(room[numbers:], top))
            at = [emit(InsertOp, here + ahead, each, top + 1) for each in room[:numbers]]
            return [top + 1, *at, *kept.save(room[numbers:], top + 1, state)]

        top, *room = while_loop([top, *room], has_room, keep)
        here, first = leg_of(top, room), last * leg
        state = trips.forward(here * leg, (last - here) * leg, kept.load(room[numbers:], top))
        place = [first] if is_trip else [first, apply(np.minimum, leg, n - first)]
        gs = trips.reverse(place, state, gs, budget)
        is_done = (here == last) & (top > 0)
        return [where(is_done, top - 1, top), *room, *gs]

    return list(for_loop(legs, [zero, *first_room, *gs], undo)[1 + tapes :])


def _next_state(n: Expr, slots: Expr) -> Expr:
    """How many trips ahead to store the next state, for n > 1 trips to be undone and `slots` > 1 states in all.

    Let r be the fewest runs that are enough. The next state is C(s + r - 1, s) trips ahead, or so far that C(s + r - 2,
    s - 1) trips are left after it, whichever is less.
    """
    one = constant(1, types.I64)

    def more(runs: Expr, _: Expr, now: Expr) -> State:
        return [runs + 1, now, apply(np.floor_divide, now * (slots + runs + 1), runs + 1)]

    runs, before, _ = while_loop([one, one, slots + 1], lambda *counts: counts[2] < n, more)
    left = apply(np.floor_divide, before * slots, slots + runs - 1)
    return apply(np.minimum, before, n - left)
