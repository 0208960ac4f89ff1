"""Where a value that is stored once per trip goes: a flat tape, and a slot in it, for a block in a nest of loops.

Slot `(q1*T2 + q2)*T3 + ...` where the trip counts are known outside of the nest. Else, p being the innermost loop whose
count is not, slot `(base + qp)*T(p+1) + ...` in a tape that grows: base, the number of trips of loop p before this
execution of it, is a carry of the loops around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.autodiff.carries import Loop, add_results, add_yields, branches, constant_value, counter_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, building, constant, located
from mlirad.xdsl_support.effects import has_no_effect

Update = Callable[[SSAValue], SSAValue]
Step = tuple[Operation, Block]


def path_to(block: Block, entry: Block) -> list[Step]:
    """The region ops around a block, outermost first, each with its block that is on the way."""
    steps: list[Step] = []
    while block is not entry:
        op = block.parent_op()
        assert op is not None and op.parent is not None
        steps.append((op, block))
        block = op.parent
    return steps[::-1]


def loops_on(path: Sequence[Step]) -> list[Loop]:
    return [Loop(op) for op, _ in path if isinstance(op, scf.ForOp | scf.WhileOp)]


def thread(
    path: Sequence[Step],
    init: SSAValue,
    update: Update,
    before: Mapping[Operation, Update] = MappingProxyType({}),
    inside: Mapping[Operation, Update] = MappingProxyType({}),
) -> SSAValue:
    """Carry a value through the ops of the path and `update` it in the innermost block; gives its final value.

    `before` and `inside` update it on the way: ahead of an op of the path, and at the head of a loop's body.
    """
    opened: list[tuple[Operation, Block, SSAValue, SSAValue | None]] = []
    current = init
    for op, block in path:
        if op in before:
            with building(InsertPoint.before(op)):
                current = before[op](current)
        result, outside = None, current
        if isinstance(op, scf.ForOp | scf.WhileOp):
            (current,), (result,) = Loop(op).add([current])
        if op in inside:
            with building(InsertPoint.at_start(block)):
                current = inside[op](current)
        opened.append((op, block, outside, result))
    current = update(current)
    for op, block, outside, result in reversed(opened):
        if isinstance(op, scf.IfOp):
            for branch in branches(op):
                add_yields(branch, [current if branch is block else outside])
            (current,) = add_results(op, [current])
        else:
            add_yields(block, [current])
            assert result is not None
            current = result
    return current


@dataclass(frozen=True)
class Slots:
    """The slots of one nest. `inner` are the trip counts, known above the nest, of the loops after loop number `grows`
    (counted from 1; 0: all counts are known). `base` belongs to loop number `grows`, if there are loops around it."""

    path: tuple[Step, ...]
    loops: tuple[Loop, ...]
    grows: int
    inner: tuple[Expr, ...]
    capacity: Expr | None
    base: SSAValue | None

    def number(self, counters: Sequence[SSAValue], base: SSAValue | None) -> Expr:
        """The slot of a trip, given the counters of the loops and the base."""
        first = max(self.grows, 1)
        slot = Expr(counters[first - 1])
        if base is not None:
            slot = Expr(base) + slot
        return self._scaled(slot, counters)

    def _scaled(self, slot: Expr, counters: Sequence[SSAValue]) -> Expr:
        for count, counter in zip(self.inner, counters[max(self.grows, 1) :], strict=True):
            slot = slot * count + Expr(counter)
        return slot

    def end(self, trips: Expr, base: SSAValue | None) -> Expr:
        """How many slots there are before trip number `trips` of the loop that grows."""
        total = trips if base is None else Expr(base) + trips
        for count in self.inner:
            total = total * count
        return total


def forward_counter(loop: Loop) -> SSAValue:
    """The number of the trip that a loop's body is in."""
    if isinstance(loop.op, scf.ForOp):
        return loop.body.args[0]
    return counter_of(loop).arg


@dataclass
class Nests:
    """The slots of every nest of one function, and the bases they need."""

    entry: Block
    _slots: dict[Block, Slots] = field(default_factory=dict)
    _bases: dict[Operation, SSAValue] = field(default_factory=dict)
    _hoisted: dict[SSAValue, SSAValue | None] = field(default_factory=dict)

    def slots(self, block: Block) -> Slots:
        """The slots of a block that at least one loop surrounds."""
        path = path_to(block, self.entry)
        loops = loops_on(path)
        innermost = loops[-1].body
        if innermost not in self._slots:
            self._slots[innermost] = self._make(path, loops)
        made = self._slots[innermost]
        return Slots(tuple(path), made.loops, made.grows, made.inner, made.capacity, made.base)

    def _make(self, path: list[Step], loops: list[Loop]) -> Slots:
        counts: list[Expr] = []
        for loop in reversed(loops):
            count = self._known_count(loop, path[0][0])
            if count is None:
                break
            counts.insert(0, count)
        grows = len(loops) - len(counts)
        capacity = None
        if grows == 0:
            with building(InsertPoint.before(path[0][0])), located(path[0][0].location):
                capacity = _product(counts)
            counts = counts[1:]
        base = self._base(loops[grows - 1], path) if grows >= 2 else None
        return Slots(tuple(path), tuple(loops), grows, tuple(counts), capacity, base)

    def _known_count(self, loop: Loop, nest: Operation) -> Expr | None:
        """A for's trip count as a value above the nest, or None."""
        if isinstance(loop.op, scf.WhileOp):
            return None
        bound = self._hoist(loop.op.ub, nest)
        if bound is None:
            return None
        with building(InsertPoint.before(nest)), located(loop.op.location):
            return _not_negative(bound)

    def _hoist(self, value: SSAValue, nest: Operation) -> SSAValue | None:
        """The value computed above the nest, if it is index arithmetic on what is known there."""
        if value not in self._hoisted:
            self._hoisted[value] = self._hoist_anew(value, nest)
        return self._hoisted[value]

    def _hoist_anew(self, value: SSAValue, nest: Operation) -> SSAValue | None:
        op = value.owner
        if isinstance(op, Block):
            return value if op is self.entry else None
        if op.parent is self.entry:
            return value
        if op.regions or not has_no_effect(op) or types.is_tensor(value.type):
            return None
        operands = [self._hoist(operand, nest) for operand in op.operands]
        if any(operand is None or types.is_tensor(operand.type) for operand in operands):
            return None
        copy = op.clone({old: new for old, new in zip(op.operands, operands, strict=True) if new is not None})
        copy.location = op.location
        assert nest.parent is not None
        nest.parent.insert_op_before(copy, nest)
        return copy.results[0]

    def _base(self, loop: Loop, path: list[Step]) -> SSAValue:
        """How often the loop's body has run before the current execution of the loop."""
        if loop.op not in self._bases:
            around = path[: [op for op, _ in path].index(loop.op)]
            with building(InsertPoint.before(path[0][0])), located(loop.op.location):
                zero = constant(0, types.I64).value

            def update(base: SSAValue) -> SSAValue:
                self._bases[loop.op] = base
                with building(InsertPoint.after(loop.op)), located(loop.op.location):
                    return (Expr(base) + trips_of(loop)).value

            thread(around, zero, update)
        return self._bases[loop.op]


def trips_of(loop: Loop) -> Expr:
    """How many trips a loop makes, where its bounds (of a while: its results) are visible."""
    if isinstance(loop.op, scf.ForOp):
        return _not_negative(loop.op.ub)
    return Expr(counter_of(loop).result)


def _product(counts: Sequence[Expr]) -> Expr:
    known = [constant_value(count.value) for count in counts]
    if None not in known:
        return constant(prod(count for count in known if count is not None), types.I64)
    total = counts[0]
    for count in counts[1:]:
        total = total * count
    return total


def _not_negative(value: SSAValue) -> Expr:
    known = constant_value(value)
    return apply(np.maximum, Expr(value), 0) if known is None or known < 0 else Expr(value)
