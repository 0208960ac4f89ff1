"""Emits the number of the tape row that a trip of a loop nest writes and reads.

Reads: nests. Writes: trip counts, and row numbers counted in loops. Leaves: one row for each trip:

    (q1*T2 + q2)*T3 + ...       where all trip counts T are known above the nest; q are the counters
    (base + qp)*T(p+1) + ...    where the trip count of loop p is not known

The base is the number of trips of loop p in its earlier executions. It is a carry of the loops around loop p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import Loop, add_results, add_yields, block_of, branches
from mlirad.autodiff.tape.decision.forward_values import Base
from mlirad.autodiff.tape.decision.nests import Nest, Step
from mlirad.autodiff.trip_counters import counter_of, not_negative, trips_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, located

Update = Callable[[SSAValue], SSAValue]


def thread(
    path: Sequence[Step],
    init: SSAValue,
    update: Update,
    before: Mapping[Operation, Update] = MappingProxyType({}),
    inside: Mapping[Operation, Update] = MappingProxyType({}),
) -> SSAValue:
    """Carry a value through the ops of a path and `update` it in the innermost block. Returns its final value.

    `before` updates it before an op of the path, `inside` at the head of a loop's body.
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
class Rows:
    """The rows of one nest. inner: the trip counts of the loops after loop number `nest.grows`.

    capacity: the number of rows, if it is known above the nest. base: of loop number `nest.grows`.
    """

    nest: Nest
    inner: tuple[Expr, ...]
    capacity: Expr | None
    base: SSAValue | None

    def number(self, counters: Sequence[SSAValue], base: SSAValue | None) -> Expr:
        """The row of a trip, given the counters of the loops and the base."""
        first = max(self.nest.grows, 1)
        row = Expr(counters[first - 1])
        if base is not None:
            row = Expr(base) + row
        return self._scaled(row, counters)

    def _scaled(self, row: Expr, counters: Sequence[SSAValue]) -> Expr:
        for count, counter in zip(self.inner, counters[max(self.nest.grows, 1) :], strict=True):
            row = row * count + Expr(counter)
        return row

    def end(self, trips: Expr, base: SSAValue | None) -> Expr:
        """The number of rows before trip number `trips` of the loop whose count is not known."""
        total = trips if base is None else Expr(base) + trips
        for count in self.inner:
            total = total * count
        return total


def forward_counter(loop: Loop) -> SSAValue:
    """The number of the current trip of a loop."""
    if isinstance(loop.op, scf.ForOp):
        return loop.body.args[0]
    return counter_of(loop).arg


@dataclass
class AllRows:
    """The rows of every nest of one function that are emitted so far."""

    _rows: dict[Block, Rows] = field(default_factory=dict)
    _bases: dict[Operation, SSAValue] = field(default_factory=dict)
    _hoisted: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def of(self, nest: Nest, path: Sequence[Step]) -> Rows:
        """The rows of a nest, whose loops are on the path."""
        innermost = nest.loops[-1].body
        if innermost not in self._rows:
            self._rows[innermost] = self._emit(nest, path)
        return self._rows[innermost]

    def base(self, base: Base) -> SSAValue:
        """The base of a nest whose rows are emitted."""
        return self._bases[base.loop.op]

    def _emit(self, nest: Nest, path: Sequence[Step]) -> Rows:
        outermost = path[0][0]
        counts: list[Expr] = []
        for loop in reversed(nest.loops[nest.grows :]):
            counts.insert(0, self._emit_count(loop, outermost))
        capacity = None
        if nest.grows == 0:
            with building(InsertPoint.before(outermost)), located(outermost.location):
                capacity = _product(counts)
            counts = counts[1:]
        base = None if nest.base is None else self._emit_base(nest.base.loop, path)
        return Rows(nest, tuple(counts), capacity, base)

    def _emit_count(self, loop: Loop, outermost: Operation) -> Expr:
        """The trip count of a for, above the nest."""
        assert isinstance(loop.op, scf.ForOp), "the trip count of a while is not known above it"
        bound = self.hoist(loop.op.ub, outermost)
        with building(InsertPoint.before(outermost)), located(loop.op.location):
            return not_negative(bound)

    def hoist(self, value: SSAValue, outermost: Operation) -> SSAValue:
        """The value, computed above the nest: it is index arithmetic on values that are known there."""
        if block_of(value) is outermost.parent:
            return value
        if value not in self._hoisted:
            assert isinstance(value, OpResult)
            op = value.op
            assert outermost.parent is not None
            copy = op.clone({operand: self.hoist(operand, outermost) for operand in op.operands})
            copy.location = op.location
            outermost.parent.insert_op_before(copy, outermost)
            self._hoisted[value] = copy.results[value.index]
        return self._hoisted[value]

    def _emit_base(self, loop: Loop, path: Sequence[Step]) -> SSAValue:
        """Count the trips of the loop before its current execution."""
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


def _product(counts: Sequence[Expr]) -> Expr:
    known = [constant_int(count.value) for count in counts]
    if None not in known:
        return constant(prod(count for count in known if count is not None), types.I64)
    total = counts[0]
    for count in counts[1:]:
        total = total * count
    return total
