"""Makes forward values available to the reverse sweep: recomputed, re-read, undone or stored.

Reads: functions with residual markers. Writes: recomputations in the reverse sweep, and tapes where recomputing would
cost more. Leaves: no marker except `ad.turn`; ordinary loops over ordinary arrays, which can be differentiated again.

First `decide` gives each value a recovery plan, and changes nothing. Then `Tapes`, `Sweep` and `Undo` emit the plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from mlirad.autodiff.naming import erase_dead
from mlirad.autodiff.tape.decision.decide import decide
from mlirad.autodiff.tape.decision.forward_values import Overwritten
from mlirad.autodiff.tape.decision.plans import Decision
from mlirad.autodiff.tape.reuse import reuse
from mlirad.autodiff.tape.store import Tapes
from mlirad.autodiff.tape.sweep import Sweep
from mlirad.autodiff.tape.undo import Undo
from mlirad.dialect.ad.sweep_markers import RecordOp, ReplayOp, ResidualOp
from mlirad.xdsl_support.traversal import find


@dataclass(frozen=True)
class Tape(ModulePass):
    """Replace the residual markers of every function. Here each trip stores one element on the tape.

    Before:

        func.func @f(%x: f64, %g: f64, %zero: i64, %one: i64, %last: i64) -> f64 {
          %n = nd.constant {value = 5 : i64} : i64
          %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
            %v = nd.sin %s : f64
            ad.record 0 %s : f64
            scf.yield %v : f64
          }
          %d_x = scf.for %j = %zero to %n step %one iter_args(%d_v = %g) -> (f64) : i64 {
            %i = nd.sub %last, %j : i64
            %trip = ad.replay 0 trip %i
            %s = ad.residual %trip 0 : f64
            %slope = nd.cos %s : f64
            %d_s = nd.mul %d_v, %slope : f64
            scf.yield %d_s : f64
          }
          func.return %d_x : f64
        }

    After `mlirad-tape`:

        func.func @f(%x: f64, %g: f64, %zero: i64, %one: i64, %last: i64) -> f64 {
          %n = nd.constant {value = 5 : i64} : i64
          %c5 = nd.constant {value = 5 : i64} : i64
          %0 = ad.tape {mlirad.slot = 1 : i64} : tensor<5xf64>
          %y, %tape = scf.for %i = %zero to %n step %one iter_args(%s = %x, %1 = %0) -> (f64, tensor<5xf64>) : i64 {
            %2 = nd.insert %s, %1[%i] : f64 into tensor<5xf64>
            %v = nd.sin %s : f64
            scf.yield %v, %2 : f64, tensor<5xf64>
          }
          %d_x = scf.for %j = %zero to %n step %one iter_args(%d_v = %g) -> (f64) : i64 {
            %i_1 = nd.sub %last, %j : i64
            %s_1 = nd.extract %tape[%i_1] : tensor<5xf64> -> f64
            %slope = nd.cos %s_1 : f64
            %d_s = nd.mul %d_v, %slope : f64
            scf.yield %d_s : f64
          } {ad.recovered = {stored = 1 : i64, stored_bytes = 8 : i64}}
          func.return %d_x : f64
        }
    """

    name = "mlirad-tape"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in find(op, func.FuncOp):
            if not function.is_declaration and has_markers(function):
                close(function.body.block)


def has_markers(function: func.FuncOp) -> bool:
    """Whether reverse blocks name forward values; straight code has no such markers."""
    return bool(find(function, RecordOp) or find(function, ReplayOp))


def close(entry: Block) -> None:
    """Eliminate the residual markers of the function whose block is `entry`."""
    erase_dead(entry, None)
    reuse(entry)
    markers = find_markers(entry)
    emit(markers, decide(entry, markers.reverse_blocks, markers.needed))


@dataclass(frozen=True)
class Markers:
    """The markers of one function, whose own block is `entry`.

    needed: the forward value of each residual. reverse_blocks: the replay of each recorded forward block, and of the
    blocks around it.
    """

    entry: Block
    records: Mapping[int, RecordOp]
    replays: Sequence[ReplayOp]
    needed: Mapping[ResidualOp, SSAValue]
    reverse_blocks: Mapping[Block, ReplayOp]


def find_markers(entry: Block) -> Markers:
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
    return Markers(entry, records, replays, needed, _reverse_blocks(entry, records, replays))


def emit(markers: Markers, decision: Decision) -> None:
    """Replace each residual by the value recovered as decided, and erase the markers."""
    tapes = Tapes()
    for value in decision.plans:
        if isinstance(value, Overwritten):
            tapes.value(value)
    for plan in decision.tapes:
        tapes.emit(plan)
    sweep = Sweep(markers.entry, decision.plans, tapes, markers.reverse_blocks)
    sweep.carry()
    Undo(sweep, decision.undoing)()
    for residual, value in markers.needed.items():
        residual.result.replace_all_uses_with(sweep.value(value))
        residual.detach()
        residual.erase()
    sweep.describe()
    for marker in (*reversed(markers.replays), *markers.records.values()):
        marker.detach()
        marker.erase()


def _meaning(residual: ResidualOp, records: Mapping[int, RecordOp]) -> SSAValue:
    """The forward value of a residual."""
    replay = residual.trip.owner
    assert isinstance(replay, ReplayOp)
    return records[replay.block.value.data].values[residual.number.value.data]


def _reverse_blocks(
    entry: Block, records: Mapping[int, RecordOp], replays: Sequence[ReplayOp]
) -> dict[Block, ReplayOp]:
    reverse_blocks: dict[Block, ReplayOp] = {}
    for replay in replays:
        record = records.get(replay.block.value.data)
        block = record.parent if record is not None else None
        around: ReplayOp | None = replay
        while block is not None and block is not entry:
            assert around is not None, "a replay is in the replay of the block around its own"
            reverse_blocks[block] = around
            outer = around.outer.owner if around.outer is not None else None
            around = outer if isinstance(outer, ReplayOp) else None
            block = block.parent_block()
    return reverse_blocks
