"""The pass `mlirad-tape`: gives the reverse sweep the forward values that it names.

Reads: functions with residual markers. Writes: recomputations in the reverse sweep, tapes where that is dearer. Leaves:
no marker but `ad.turn`; ordinary loops over ordinary arrays, which differentiate again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.autodiff.carries import add_results, add_yields, block_of, branches, constant_value
from mlirad.autodiff.recover import Recovery, Way
from mlirad.autodiff.sizes import zeros
from mlirad.autodiff.slots import Nests, Slots, Update, forward_counter, loops_on, path_to, thread, trips_of
from mlirad.dialect import types
from mlirad.dialect.expr import Expr, building, constant, emit, located
from mlirad.dialect.indexing import ExtractOp, ExtractSliceOp, InsertOp, InsertSliceOp
from mlirad.dialect.movement import reshape
from mlirad.dialect.request import FIRST_CAPACITY, GrowOp, RecordOp, ReplayOp, ResidualOp, TapeOp


@dataclass(frozen=True)
class Tape(ModulePass):
    """Eliminate the residual markers of every function."""

    name = "mlirad-tape"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                close(function.body.block)


def close(entry: Block) -> None:
    """Eliminate the residual markers of the function whose block is `entry`."""
    records: dict[int, RecordOp] = {}
    replays: list[ReplayOp] = []
    residuals: list[ResidualOp] = []
    for op in entry.walk():
        match op:
            case RecordOp():
                records[op.block.value.data] = op
            case ReplayOp():
                replays.append(op)
            case ResidualOp():
                residuals.append(op)
    needed = {residual: _meaning(residual, records) for residual in residuals}
    recovery = Recovery(entry)
    stored = recovery.stored(needed.values())
    sweep = Sweep(recovery, Nests(entry), stored, _pairs(entry, records, replays))
    for residual, value in needed.items():
        residual.result.replace_all_uses_with(sweep.value(value))
        residual.detach()
        residual.erase()
    for marker in (*reversed(replays), *records.values()):
        marker.detach()
        marker.erase()


def _meaning(residual: ResidualOp, records: dict[int, RecordOp]) -> SSAValue:
    """The forward value that a residual stands for."""
    replay = residual.trip.owner
    assert isinstance(replay, ReplayOp)
    return records[replay.block.value.data].values[residual.number.value.data]


def _pairs(entry: Block, records: dict[int, RecordOp], replays: Sequence[ReplayOp]) -> dict[Block, ReplayOp]:
    """The replay of each forward block that is recorded, and of the blocks around it."""
    pairs: dict[Block, ReplayOp] = {}
    for replay in replays:
        record = records.get(replay.block.value.data)
        block = record.parent if record is not None else None
        found: ReplayOp | None = replay
        while block is not None and block is not entry:
            assert found is not None, "a replay stands in the replay of the block around its own"
            pairs[block] = found
            outer = found.outer.owner if found.outer is not None else None
            found = outer if isinstance(outer, ReplayOp) else None
            block = block.parent_block()
    return pairs


@dataclass(frozen=True)
class Shelf:
    """Where a stored value lies: in `tape`, as `elements` numbers a slot; a tape without slots is the value itself."""

    tape: SSAValue
    slots: Slots | None
    elements: int


@dataclass
class Sweep:
    """The forward values as the reverse sweep has them, made at the head of the reverse block of their own block."""

    recovery: Recovery
    nests: Nests
    stored: set[SSAValue]
    replays: dict[Block, ReplayOp]
    _made: dict[SSAValue, SSAValue] = field(default_factory=dict)
    _shelves: dict[SSAValue, Shelf] = field(default_factory=dict)

    def value(self, value: SSAValue) -> SSAValue:
        """What stands for a forward value in the reverse block of its block."""
        pending = [value]
        while pending:
            top = pending[-1]
            if self.recovery.is_visible(top) or top in self._made:
                pending.pop()
            elif top in self.stored:
                self._made[top] = self._load(top)
            else:
                way = self.recovery.way(top)
                assert way is not None, "what cannot be recomputed is stored"
                missing = [v for v in way.operands if not self.recovery.is_visible(v) and v not in self._made]
                if missing:
                    pending.extend(missing)
                else:
                    self._made[top] = self._recompute(top, way)
        return self._made.get(value, value)

    def _recompute(self, value: SSAValue, way: Way) -> SSAValue:
        operands = [self._made.get(operand, operand) for operand in way.operands]
        replay = self.replays[block_of(value)]
        with building(InsertPoint.before(replay)), located(_location(value)):
            return way.build(operands, replay.counter)

    def _load(self, value: SSAValue) -> SSAValue:
        if value not in self._shelves:
            with located(_location(value)):
                self._shelves[value] = self._store(value)
        shelf = self._shelves[value]
        if shelf.slots is None:
            return shelf.tape
        base = self._base(shelf.slots)
        counters = [self._counter(loop.body) for loop in shelf.slots.loops]
        with building(InsertPoint.before(self.replays[block_of(value)])), located(_location(value)):
            return _read(shelf.tape, shelf.slots.number(counters, base), value.type).value

    def _base(self, slots: Slots) -> SSAValue | None:
        if slots.base is None:
            return None
        self.stored.add(slots.base)  # whether or not it could be had otherwise, which it cannot
        return self.value(slots.base)

    def _counter(self, body: Block) -> SSAValue:
        counter = self.replays[body].counter
        assert counter is not None, "a loop's body has a counter"
        return counter

    # --- the forward sweep --------------------------------------------------------------------------------------

    def _store(self, value: SSAValue) -> Shelf:
        """Let the forward sweep keep a value."""
        block = block_of(value)
        path = path_to(block, self.recovery.entry)
        if not loops_on(path):
            return Shelf(_hoist_from_ifs(value, path), None, 0)
        slots = self.nests.slots(block)
        elements = prod(types.shape(value.type))
        tape = self._tape(slots, types.element_type(value.type), elements)
        tape.name_hint = "tape"
        counters = [forward_counter(loop) for loop in slots.loops]
        point = _after(value)

        def write(current: SSAValue) -> SSAValue:
            with building(point):
                return _write(value, current, slots.number(counters, slots.base)).value

        if slots.grows == 0:
            return Shelf(thread(path, tape, write), slots, elements)
        grow = _growth(slots, elements)

        def grow_and_write(current: SSAValue) -> SSAValue:
            with building(point):
                grown = grow(current)
            return write(grown)

        loop = slots.loops[slots.grows - 1]
        if isinstance(loop.op, scf.ForOp):
            # Its count is known ahead of it, and its body need not ask.
            return Shelf(thread(path, tape, write, before={loop.op: grow}), slots, elements)
        if slots.grows < len(slots.loops):
            return Shelf(thread(path, tape, write, inside={loop.op: grow}), slots, elements)
        return Shelf(thread(path, tape, grow_and_write), slots, elements)

    def _tape(self, slots: Slots, element: Attribute, elements: int) -> SSAValue:
        """An empty tape, above the nest."""
        with building(InsertPoint.before(slots.path[0][0])):
            if slots.capacity is None:
                first = max(FIRST_CAPACITY, elements)
                size = constant(first, types.I64)
            else:
                known = constant_value(slots.capacity.value)
                if known is not None:
                    return emit(TapeOp, result_type=types.tensor([known * elements], element)).value
                size = slots.capacity if elements == 1 else slots.capacity * elements
            return emit(TapeOp, size, result_type=types.tensor([-1], element)).value


def _growth(slots: Slots, elements: int) -> Update:
    """How a tape is made long enough for what the loop that grows it will write."""
    loop = slots.loops[slots.grows - 1]

    def grow(tape: SSAValue) -> SSAValue:
        with located(loop.op.location):
            trips = trips_of(loop) if isinstance(loop.op, scf.ForOp) else Expr(forward_counter(loop)) + 1
            end = slots.end(trips, slots.base)
            last = (end if elements == 1 else end * elements) - 1
            return emit(GrowOp, Expr(tape), last).value

    return grow


def _location(value: SSAValue) -> LocationAttr:
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        assert parent is not None
        owner = parent
    return owner.location


def _after(value: SSAValue) -> InsertPoint:
    owner = value.owner
    return InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)


def _hoist_from_ifs(value: SSAValue, path: Sequence[tuple[Operation, Block]]) -> SSAValue:
    """The value as a result of the ifs around it; zeros where the other branch is taken."""
    for op, block in reversed(path):
        assert isinstance(op, scf.IfOp)
        for branch in branches(op):
            end = branch.last_op
            assert end is not None
            if branch is block:
                add_yields(branch, [value])
            else:
                with building(InsertPoint.before(end)):
                    add_yields(branch, [zeros(value).value])
        (value,) = add_results(op, [value])
    return value


def _write(value: SSAValue, tape: SSAValue, slot: Expr) -> Expr:
    shape = types.shape(value.type)
    if not types.is_tensor(value.type):
        return emit(InsertOp, Expr(value), Expr(tape), slot)
    flat = reshape(Expr(value), types.tensor([prod(shape)], types.element_type(value.type)))
    return emit(InsertSliceOp, flat, Expr(tape), slot * prod(shape), sizes=flat.shape, strides=[1])


def _read(tape: SSAValue, slot: Expr, type: Attribute) -> Expr:
    shape = types.shape(type)
    if not types.is_tensor(type):
        return emit(ExtractOp, Expr(tape), slot)
    flat = emit(ExtractSliceOp, Expr(tape), slot * prod(shape), sizes=[prod(shape)], strides=[1])
    return reshape(flat, type)
