"""Recovers forward values in the reverse sweep: loads, counts, recomputes, reads and re-reads them as decided.

Reads: a decision. Writes: loads and recomputations at the heads of reverse blocks, before the block undoes writes. A
value that needs a later version of an array is recovered as soon as that version is live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import Carry, Loop, add_yields, block_of
from mlirad.autodiff.tape.decision.forward_values import ForwardValue, defining_block
from mlirad.autodiff.tape.decision.plans import (
    Count,
    FromLaterTrip,
    Load,
    Plan,
    ReadFinal,
    Recompute,
    Reread,
    TapeEntry,
    Unstored,
)
from mlirad.autodiff.tape.store import Tapes, location_of, read_entry
from mlirad.autodiff.updates import subset_of
from mlirad.dialect.ad.notes import RECOVERED
from mlirad.dialect.ad.sweep_markers import ReplayOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, insert, located
from mlirad.dialect.core.op import NdOp


@dataclass(frozen=True)
class Point:
    """A position for ops in a reverse block: before `before`. Level 0 is the head; the points of an `Undo` follow."""

    level: int
    before: Operation


@dataclass
class Sweep:
    """The forward values recovered so far, each in the reverse block of its own block.

    heads: for each value that is re-read at the head of a block, or before it, the array that holds it there.
    """

    entry: Block
    plans: Mapping[ForwardValue, Plan]
    tapes: Tapes
    replays: Mapping[Block, ReplayOp]
    recovered: dict[ForwardValue, SSAValue] = field(default_factory=dict)
    heads: dict[SSAValue, SSAValue] = field(default_factory=dict)
    counts: dict[Block, Counter[str]] = field(default_factory=dict)
    _points: dict[ForwardValue, Point] = field(default_factory=dict)
    _begun: dict[Block, Operation] = field(default_factory=dict)

    def put(self, value: SSAValue, recovered: SSAValue, point: Point) -> None:
        """From this point on, use `recovered` for the value."""
        self.recovered[value] = recovered
        self._points[value] = point

    def begin(self, first: SSAValue) -> None:
        """End the head of first's block before first, if the head has not ended yet."""
        block = block_of(first)
        assert isinstance(first.owner, Operation)
        self._begun.setdefault(block, first.owner)

    def carry(self) -> None:
        """Let reverse loops carry, from trip to trip, the stored arguments that forward loops yielded."""
        of_loop: dict[Operation, dict[ForwardValue, Carry]] = {}
        for value, plan in self.plans.items():
            if isinstance(plan, FromLaterTrip):
                reverse = self.replays[defining_block(value)].parent_op()
                assert reverse is not None
                of_loop.setdefault(reverse, {})[value] = plan.carry
        for reverse, carried in of_loop.items():
            assert isinstance(reverse, scf.ForOp)
            args, _ = Loop(reverse).add([carry.result for carry in carried.values()])
            self.recovered.update(zip(carried, args, strict=True))
            add_yields(Loop(reverse).body, [self.value(carry.arg) for carry in carried.values()])
            for (value, carry), arg in zip(carried.items(), args, strict=True):
                arg.name_hint = carry.yielded.name_hint
                self.count(defining_block(value), "carried")

    def value(self, value: ForwardValue) -> SSAValue:
        """The replacement of a forward value in the reverse block of its block."""
        pending = [value]
        while pending:
            top = pending[-1]
            if self._is_recovered(top):
                pending.pop()
                continue
            plan = self.plans[top]
            missing = [operand for operand in plan.operands if not self._is_recovered(operand)]
            if missing:
                pending.extend(missing)
            else:
                self.recovered[top] = self._load(top, plan.entry) if isinstance(plan, Load) else self._make(top, plan)
        return self.recovered[value] if value in self.recovered else self.tapes.value(value)

    def _is_recovered(self, value: ForwardValue) -> bool:
        return defining_block(value) is self.entry or value in self.recovered

    def count(self, block: Block, how: str, number: int = 1) -> None:
        """Record how a value of a forward block is recovered."""
        self.counts.setdefault(block, Counter())[how] += number

    def describe(self) -> None:
        """Write the counts on the loops of the reverse sweep. The counts of a branch go on the loop around it."""
        of_loop: dict[Operation, Counter[str]] = {}
        for block, counts in self.counts.items():
            op = self.replays[block].parent_op()
            while op is not None and not isinstance(op, scf.ForOp):
                op = op.parent_op()
            if op is not None:
                of_loop.setdefault(op, Counter()).update(counts)
        for op, counts in of_loop.items():
            op.attributes[RECOVERED] = DictionaryAttr({how: IntegerAttr(n, 64) for how, n in sorted(counts.items())})

    def _make(self, value: ForwardValue, plan: Unstored) -> SSAValue:
        assert isinstance(value, SSAValue)
        if (how := _name_of(plan, value)) is not None:
            self.count(block_of(value), how)
        operands = [self.recovered.get(operand, operand) for operand in plan.operands]
        point = self._point(value, plan)
        with building(InsertPoint.before(point.before)), located(location_of(value)):
            match plan:
                case Count(by=by):
                    return _count(operands, by, self.replays[block_of(value)].counter)
                case Recompute(op=op):
                    return self._shared(value, plan, _recompute(op, operands))
                case ReadFinal(written=written):
                    final, *places = map(Expr, operands)
                    return written.read(final, places).value
                case Reread(op=op):
                    array = self.heads[value]
                    return array if op is None else subset_of(op).read(Expr(array), list(map(Expr, operands))).value
                case FromLaterTrip():
                    raise AssertionError("a value carried by a reverse loop is recovered by `carry`")

    def _shared(self, value: SSAValue, plan: Recompute, again: Sequence[SSAValue]) -> SSAValue:
        """The recomputed result for a value. The op's other results also use the recomputed ones, if that is their plan
        too."""
        for other, recovered in zip(plan.op.results, again, strict=True):
            if other is not value and self.plans.get(other) == plan and other not in self.recovered:
                self.recovered[other] = recovered
                if value in self._points:
                    self._points[other] = self._points[value]
        return again[plan.op.results.index(value)]

    def _point(self, value: SSAValue, plan: Unstored) -> Point:
        """Where a value is recovered: at the head of its reverse block, or at the point of its last operand."""
        block = block_of(value)
        late = [self._points[each] for each in plan.operands if each in self._points and block_of(each) is block]
        if not late:
            return self._head(block)
        self._points[value] = max(late, key=lambda point: point.level)
        return self._points[value]

    def _head(self, block: Block) -> Point:
        replay = self.replays[block]
        assert replay.parent is not None
        return Point(0, self._begun.get(replay.parent, replay))

    def _load(self, value: ForwardValue, entry: TapeEntry) -> SSAValue:
        stored, nest = self.tapes.stored(entry), entry.tape.nest
        if nest is None:
            return stored
        block = defining_block(value)
        self.count(block, "stored")
        width = entry.tape.width if types.is_tensor(value.type) else 1
        itemsize = entry.tape.bits_of(entry.offset) // 8 or types.itemsize(value.type)
        self.count(block, "stored_bytes", itemsize * width)
        base = None if nest.base is None else self.value(nest.base)
        sizes = [Expr(self.value(size)) for size in entry.sizes]
        counters = [self.replays[loop.body].counter for loop in nest.loops]
        location = location_of(self.tapes.value(value))
        with building(InsertPoint.before(self._head(block).before)), located(location):
            rows = self.tapes.rows.of(nest, entry.tape.path)
            row = rows.number([counter for counter in counters if counter is not None], base)
            return read_entry(entry, stored, row, value.type, sizes)


def _name_of(plan: Unstored, value: SSAValue) -> str | None:
    """How a value that is not loaded is recovered, in a word. None for arithmetic on counters, which is free."""
    match plan:
        case Reread():
            return "re_read"
        case ReadFinal():
            return "read_final"
        case Recompute(op=op, operands=(array, *_)) if plan.cost > 0:
            is_moved = types.is_tensor(array.type) and array not in op.operands
            return "read_final" if is_moved and not types.is_tensor(value.type) else "recomputed"
    return None if plan.cost == 0 else "recomputed"


def _count(operands: Sequence[SSAValue], by: int, counter: SSAValue | None) -> SSAValue:
    assert counter is not None, "a loop's body has a counter"
    moved = Expr(counter) if by == 1 else Expr(counter) * by
    return (Expr(operands[0]) + moved).value if operands else moved.value


def _recompute(op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The results of the op again, computed from the operands in the reverse sweep."""
    if isinstance(op, NdOp):
        return [result.value for result in op.recomputed(*operands)]
    return insert(op.clone(dict(zip(op.operands, operands, strict=True)))).results
