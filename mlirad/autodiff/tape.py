"""The pass `mlirad-tape`: gives the reverse sweep the forward values that it names.

Reads: functions with residual markers. Writes: recomputations in the reverse sweep, tapes where that is dearer. Leaves:
no marker but `ad.turn`; ordinary loops over ordinary arrays, which differentiate again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.autodiff.carries import block_of
from mlirad.autodiff.recover import Recovery, Way
from mlirad.autodiff.shelves import Shelves, location_of
from mlirad.autodiff.sizes import size_value, unknown_axes
from mlirad.dialect.expr import Expr, building, located
from mlirad.dialect.request import RecordOp, ReplayOp, ResidualOp


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
    shelves = Shelves(entry)
    shelves.keep(value for value in stored if not recovery.is_visible(value))
    sweep = Sweep(recovery, shelves, stored, _pairs(entry, records, replays))
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


@dataclass
class Sweep:
    """The forward values as the reverse sweep has them, made at the head of the reverse block of their own block."""

    recovery: Recovery
    shelves: Shelves
    stored: set[SSAValue]
    replays: dict[Block, ReplayOp]
    _made: dict[SSAValue, SSAValue] = field(default_factory=dict)

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
        with building(InsertPoint.before(replay)), located(location_of(value)):
            return way.build(operands, replay.counter)

    def _load(self, value: SSAValue) -> SSAValue:
        shelf = self.shelves[value]
        if shelf.slots is None:
            return shelf.tape
        counters = [self.replays[loop.body].counter for loop in shelf.slots.loops]
        base = None if shelf.slots.base is None else self._base(shelf.slots.base)
        sizes = [Expr(self._size(value, axis)) for axis in unknown_axes(value)]
        with building(InsertPoint.before(self.replays[block_of(value)])), located(location_of(value)):
            slot = shelf.slots.number([counter for counter in counters if counter is not None], base)
            return shelf.read(slot, value.type, sizes)

    def _base(self, base: SSAValue) -> SSAValue:
        """What the slots of a nest begin with is a forward value like any other, and there is no way but storing it."""
        self.stored.add(base)
        return self.value(base)

    def _size(self, array: SSAValue, axis: int) -> SSAValue:
        """A size of a stored array: a forward value like any other too, mostly arithmetic on counters."""
        size = size_value(array, axis)
        self.stored |= {value for value in self.recovery.stored([size]) if not self.recovery.is_visible(value)}
        return self.value(size)
