"""The forward values as the reverse sweep has them: visible, loaded from a tape, recomputed, or read again of an array.

Reads: a decision. Writes: loads and recomputations at the heads of reverse blocks, before the block takes writes back;
what needs an array that is at hand only later comes as soon as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.autodiff.carries import Carry, Loop, add_yields, block_of
from mlirad.autodiff.sizes import size_value, unknown_axes
from mlirad.autodiff.tape.decide import Decision
from mlirad.autodiff.tape.recover import Recovery, Way
from mlirad.autodiff.tape.shelves import Shelves, location_of
from mlirad.autodiff.updates import read_again
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, located
from mlirad.dialect.ops.request import RECOVERED, ReplayOp


@dataclass(frozen=True)
class Point:
    """Where in a reverse block ops go: ahead of `before`. Level 0 is its head, then come the points of an `Undo`."""

    level: int
    before: Operation


@dataclass
class Sweep:
    """The forward values as the reverse sweep has them, made in the reverse block of their own block.

    heads: the arrays that values looked at are read of, where they stand in it from the head of the block on.
    """

    recovery: Recovery
    shelves: Shelves
    decision: Decision
    replays: Mapping[Block, ReplayOp]
    made: dict[SSAValue, SSAValue] = field(default_factory=dict)
    heads: dict[SSAValue, SSAValue] = field(default_factory=dict)
    counts: dict[Block, Counter[str]] = field(default_factory=dict)
    _points: dict[SSAValue, Point] = field(default_factory=dict)
    _begun: dict[Block, Operation] = field(default_factory=dict)

    def put(self, value: SSAValue, made: SSAValue, point: Point) -> None:
        """From this point on, `made` stands for the value."""
        self.made[value] = made
        self._points[value] = point

    def begin(self, first: SSAValue) -> None:
        """The head of first's block ends ahead of it, if it has not ended yet."""
        block = block_of(first)
        assert isinstance(first.owner, Operation)
        self._begun.setdefault(block, first.owner)

    def carry(self) -> None:
        """Let reverse loops carry from trip to trip what a forward loop has yielded for arguments that are stored."""
        of_loop: dict[Operation, dict[SSAValue, Carry]] = {}
        for value, carry in self.decision.carried.items():
            reverse = self.replays[block_of(value)].parent_op()
            assert reverse is not None
            of_loop.setdefault(reverse, {})[value] = carry
        for reverse, carried in of_loop.items():
            assert isinstance(reverse, scf.ForOp)
            args, _ = Loop(reverse).add([carry.result for carry in carried.values()])
            self.made.update(zip(carried, args, strict=True))
            add_yields(Loop(reverse).body, [self.value(carry.arg) for carry in carried.values()])
            for value, arg in zip(carried, args, strict=True):
                arg.name_hint = value.name_hint
                self.count(block_of(value), "carried")

    def value(self, value: SSAValue) -> SSAValue:
        """What stands for a forward value in the reverse block of its block."""
        pending = [value]
        while pending:
            top = pending[-1]
            if self.recovery.is_visible(top) or top in self.made:
                pending.pop()
            elif top in self.decision.stored:
                self.made[top] = self._load(top)
            else:
                way = self.recovery.way(top)
                assert way is not None, "what cannot be recomputed is stored"
                missing = [v for v in way.operands if not self.recovery.is_visible(v) and v not in self.made]
                if missing:
                    pending.extend(missing)
                else:
                    self.made[top] = self._recompute(top, way)
        return self.made.get(value, value)

    def count(self, block: Block, how: str, number: int = 1) -> None:
        """Note how a value of a forward block is had again."""
        self.counts.setdefault(block, Counter())[how] += number

    def describe(self) -> None:
        """Write the counts on the loops of the reverse sweep; those of a branch on the loop that it is in."""
        of_loop: dict[Operation, Counter[str]] = {}
        for block, counts in self.counts.items():
            op = self.replays[block].parent_op()
            while op is not None and not isinstance(op, scf.ForOp):
                op = op.parent_op()
            if op is not None:
                of_loop.setdefault(op, Counter()).update(counts)
        for op, counts in of_loop.items():
            op.attributes[RECOVERED] = DictionaryAttr({how: IntegerAttr(n, 64) for how, n in sorted(counts.items())})

    def _kind(self, value: SSAValue, way: Way) -> str | None:
        """How a value is had that is not loaded; None for arithmetic on counters, which costs nothing."""
        if way.look is not None:
            return "read_again"
        if way.cost == 0:
            return None
        array = way.operands[0] if way.operands else None
        is_kept = array is not None and types.is_tensor(array.type) and not types.is_tensor(value.type)
        is_other = isinstance(value.owner, Operation) and array not in value.owner.operands
        return "read_final" if is_kept and is_other else "recomputed"

    def _recompute(self, value: SSAValue, way: Way) -> SSAValue:
        if (kind := self._kind(value, way)) is not None:
            self.count(block_of(value), kind)
        operands = [self.made.get(operand, operand) for operand in way.operands]
        replay = self.replays[block_of(value)]
        point = self._point(value, way)
        with building(InsertPoint.before(point.before)), located(location_of(value)):
            if way.look is None:
                return way.build(operands, replay.counter)
            array = self.heads[value]
            return array if way.look.access is None else read_again(way.look.read, array, operands)

    def _point(self, value: SSAValue, way: Way) -> Point:
        """Where a value is made: at the head of its reverse block, or where the last of its operands is."""
        block = block_of(value)
        late = [self._points[v] for v in way.operands if v in self._points and block_of(v) is block]
        if not late:
            return self._head(block)
        self._points[value] = max(late, key=lambda point: point.level)
        return self._points[value]

    def _head(self, block: Block) -> Point:
        replay = self.replays[block]
        assert replay.parent is not None
        return Point(0, self._begun.get(replay.parent, replay))

    def _load(self, value: SSAValue) -> SSAValue:
        shelf = self.shelves[value]
        if shelf.slots is None:
            return shelf.tape
        block = block_of(value)
        self.count(block, "stored")
        self.count(
            block, "stored_bytes", types.itemsize(value.type) * (shelf.width if types.is_tensor(value.type) else 1)
        )
        counters = [self.replays[loop.body].counter for loop in shelf.slots.loops]
        base = None if shelf.slots.base is None else self._base(shelf.slots.base)
        sizes = [Expr(self._size(value, axis)) for axis in unknown_axes(value)]
        with building(InsertPoint.before(self._head(block_of(value)).before)), located(location_of(value)):
            slot = shelf.slots.number([counter for counter in counters if counter is not None], base)
            return shelf.read(slot, value.type, sizes)

    def _base(self, base: SSAValue) -> SSAValue:
        """What the slots of a nest begin with is a forward value like any other, and there is no way but storing it."""
        self.decision.stored[base] = None
        return self.value(base)

    def _size(self, array: SSAValue, axis: int) -> SSAValue:
        """A size of a stored array: a forward value like any other too, mostly arithmetic on counters."""
        size = size_value(array, axis)
        if not self.recovery.is_counted(size) and size not in self.made:
            self.decision.stored[size] = None
        return self.value(size)
