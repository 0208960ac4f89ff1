"""Checkpointed loops: the reverse sweep keeps a few states of the loop, and runs its trips again from these.

Reads: a loop with the attribute `ad.checkpoint`. Writes: its reverse, which calls a private function for some trips of
the loop (`ad.vjp` of it for those that are undone next). Leaves: the forward sweep as it is. Only the loop's initial
values are stored.

"sqrt": a state every k = ceil(sqrt(n)) trips, then k trips at a time with a tape of their own.
"binomial", or a number of slots: one trip at a time, each from the nearest stored state. The states are placed as in
Griewank and Walther, "Algorithm 799: Revolve" (2000), which runs the fewest trips that s slots allow: s slots
and r runs of each trip are enough for C(s + r, s) trips. "binomial" takes about log2(n) slots.
The trip count of a while is known when the reverse sweep begins. The schedule is computed at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeGuard

import numpy as np
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from mlirad.analysis.loops import Loop, LoopOp, block_of, terminator, yields
from mlirad.autodiff.cotangents import Reverse
from mlirad.autodiff.naming import Mirror
from mlirad.autodiff.private_functions import add_function
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop, while_loop
from mlirad.dialect.core.effect_table import Verb, may
from mlirad.dialect.core.expr import Expr, apply, building, constant, emit, insert, located, where
from mlirad.dialect.core.op import NdOp, PureOp
from mlirad.dialect.ops.indexing import ExtractOp, InsertOp, extract_slice, insert_slice
from mlirad.dialect.ops.movement import reshape
from mlirad.dialect.ops.request import CHECKPOINT, RECOVERED, VjpOp
from mlirad.dialect.ops.tape import new_tape
from mlirad.errors import DifferentiationError

State = list[Expr]


def is_checkpointed(op: LoopOp) -> bool:
    return CHECKPOINT in op.attributes


def reverse_checkpointed(
    adjoint: Reverse, op: LoopOp, wrt: Sequence[int], captured: Sequence[SSAValue], count: Expr, gs: State, at: Mirror
) -> State:
    """The cotangents of the initial values of the carries `wrt`, and of the captured values, given those `gs` of their
    results and of the captured values so far."""
    for arg in Loop(op).args:
        if not types.is_static(arg.type):
            raise DifferentiationError(
                f"a checkpointed loop carries an array of unknown size, {arg.type}",
                types.from_location(op.location),
                "checkpoint a loop around it, or carry an array whose shape is known",
            )
    require_repeatable(op, set(), "the derivative of a checkpointed loop runs the trips of the loop again")
    trips = _Trips.of(op, wrt, captured, lambda value: adjoint.name(value, at))
    how = op.attributes[CHECKPOINT]
    start = [adjoint.name(carry.init, at) for carry in Loop(op).carries]
    if isinstance(how, StringAttr) and how.data == "sqrt":
        ends = _by_sqrt(trips, count, start, gs)
    else:
        slots = constant(how.value.data, types.I64) if isinstance(how, IntegerAttr) else _bits(count)
        ends = _by_slots(trips, count, slots, start, gs)
    reverse = ends[0].value.owner
    assert isinstance(reverse, scf.ForOp), "a schedule ends with the loop that undoes the trips"
    reverse.attributes[RECOVERED] = DictionaryAttr({"checkpointed": how})
    return ends


def require_repeatable(op: Operation, seen: set[Operation], why: str, is_own: bool = True) -> None:
    """Refuse an op, inside of `op` or in a function called there, that must not run again.

    In the loop or function itself, those that give nothing are left out where it runs again.
    """
    for inner in op.walk():
        if isinstance(inner, func.CallOp):
            callee = SymbolTable.lookup_symbol(inner, inner.callee)
            if callee is not None and callee not in seen:
                seen.add(callee)
                require_repeatable(callee, seen, why, False)
        elif isinstance(inner, NdOp) and not may(inner, Verb.CHECKPOINT) and (inner.results or not is_own):
            raise DifferentiationError(
                f"this would be done again: {why}",
                types.from_location(inner.location),
                "do it in what is checkpointed itself and not in a function that it calls, or do not checkpoint it",
            )


def drop_unrepeatable(block: Block) -> None:
    """Remove what must not be done again, and gives nothing."""
    for inner in list(block.walk()):
        if isinstance(inner, NdOp) and not inner.results and not may(inner, Verb.CHECKPOINT):
            inner.detach()
            inner.erase()


# --- the trips as functions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Trips:
    """Some trips of a loop as private functions of (first trip, [how many,] carries, captured, others), that give the
    carries and the captured values. given: the captured and the other values, where the reverse sweep has them."""

    run: func.FuncOp
    step: func.FuncOp
    wrt: tuple[int, ...]
    given: tuple[Expr, ...]
    carries: int

    @classmethod
    def of(
        cls, op: LoopOp, wrt: Sequence[int], captured: Sequence[SSAValue], name: Callable[[SSAValue], Expr]
    ) -> _Trips:
        carries = len(Loop(op).carries)
        outside = [*captured, *(value for value in _from_outside(op) if value not in captured)]
        live = (*wrt, *(carries + number for number in range(len(captured))))
        run, step = (_function(op, outside, len(captured), is_one) for is_one in (False, True))
        return cls(run, step, live, tuple(name(value) for value in outside), carries)

    def forward(self, first: Expr, count: Expr, state: State) -> State:
        """The state after `count` trips from trip `first` on."""
        operands = [x.value for x in (first, count, *state, *self.given)]
        call = insert(func.CallOp(self.run.sym_name.data, operands, self.run.function_type.outputs.data))
        return [Expr(result) for result in call.results[: self.carries]]

    def reverse(self, function: func.FuncOp, where: State, state: State, gs: State) -> State:
        """The cotangents before some trips, given those after."""
        shift = len(where)
        operands = [x.value for x in (*where, *state, *self.given)]
        wrt = [shift + number for number in self.wrt]
        request = insert(VjpOp.of(function, operands, [g.value for g in gs], wrt, self.wrt))
        return [Expr(result) for result in request.results[len(request.results) - len(wrt) :]]


def _from_outside(op: LoopOp) -> list[SSAValue]:
    """The values from outside that a loop's body uses, except constants."""
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
    """Whether an op computes its result from nothing: a function that uses it has its own."""
    return isinstance(op, PureOp) and not op.operands


def _function(op: LoopOp, outside: Sequence[SSAValue], captured: int, is_one: bool) -> func.FuncOp:
    """One trip, or a number of trips, of the loop."""
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
    """A copy of the loop's body, at the insertion point."""
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
    """Room for some states, one flat array for each carry."""

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


def _by_sqrt(trips: _Trips, n: Expr, start: State, gs: State) -> State:
    one = constant(1, types.I64)
    (k,) = while_loop([one], lambda k: k * k < n, lambda k: k + 1)
    parts = apply(np.floor_divide, n + (k - 1), k)
    kept = _Kept(tuple(x.type for x in start))
    tapes = len(start)

    def advance(part: Expr, *now: Expr) -> State:
        room, state = now[:tapes], list(now[tapes:])
        room = kept.save(room, part, state)
        count = where(part + 1 < parts, k, 0)  # the last state is not needed
        return [*room, *trips.forward(part * k, count, state)]

    room = for_loop(parts, [*kept.room(parts), *start], advance)[:tapes]

    def undo(number: Expr, *gs: Expr) -> State:
        part = (parts - 1) - number
        first = part * k
        count = apply(np.minimum, k, n - first)
        return trips.reverse(trips.run, [first, count], kept.load(room, part), list(gs))

    return list(for_loop(parts, gs, undo))


def _bits(n: Expr) -> Expr:
    """One more than the number of bits of n - 1."""
    one = constant(1, types.I64)
    return while_loop([one, one], lambda s, power: power < n, lambda s, power: (s + 1, power * 2))[0]


def _by_slots(trips: _Trips, n: Expr, slots: Expr, start: State, gs: State) -> State:
    kept, zero = _Kept(tuple(x.type for x in start)), constant(0, types.I64)
    tapes = len(start)
    at = new_tape(types.tensor([-1], types.I64), 1, slots)
    at, room = emit(InsertOp, zero, at, zero), kept.save(kept.room(slots), zero, start)

    def undo(number: Expr, top: Expr, at: Expr, *rest: Expr) -> State:
        trip, room, gs = (n - 1) - number, rest[:tapes], list(rest[tapes:])

        def has_room(top: Expr, at: Expr, *_: Expr) -> Expr:
            return (top + 1 < slots) & (emit(ExtractOp, at, top) < trip)

        def keep(top: Expr, at: Expr, *room: Expr) -> State:
            here = emit(ExtractOp, at, top)
            ahead = _next_state(trip - here + 1, slots - top)
            state = trips.forward(here, ahead, kept.load(room, top))
            return [top + 1, emit(InsertOp, here + ahead, at, top + 1), *kept.save(room, top + 1, state)]

        top, at, *room = while_loop([top, at, *room], has_room, keep)
        here = emit(ExtractOp, at, top)
        state = trips.forward(here, trip - here, kept.load(room, top))
        gs = trips.reverse(trips.step, [trip], state, gs)
        is_done = (here == trip) & (top > 0)
        return [where(is_done, top - 1, top), at, *room, *gs]

    return list(for_loop(n, [zero, at, *room, *gs], undo)[2 + tapes :])


def _next_state(n: Expr, slots: Expr) -> Expr:
    """How many trips ahead, of n > 1 that are to be undone, the next state is kept, with `slots` > 1 states in all.

    With r the fewest runs that are enough, C(s + r - 1, s) trips before it, or so many that C(s + r - 2, s - 1) are
    left after it, whichever is less.
    """
    one = constant(1, types.I64)

    def more(runs: Expr, _: Expr, now: Expr) -> State:
        return [runs + 1, now, apply(np.floor_divide, now * (slots + runs + 1), runs + 1)]

    runs, before, _ = while_loop([one, one, slots + 1], lambda *counts: counts[2] < n, more)
    left = apply(np.floor_divide, before * slots, slots + runs - 1)
    return apply(np.minimum, before, n - left)
