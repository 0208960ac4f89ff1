"""Removes checks of bounds and overflow that cannot fail, and the wrapping of non-negative indices.

Reads and writes: tensor, autodiff and optimized stages, in place. Leaves: the checks that may fail, in their order, and
the comparisons, maxima and minima of i64 scalars with unknown outcome. No read stays in a loop whose writes cannot
touch it (hoist_reads.py).

One walk in program order collects facts. A loop's variable lies between 0 and its bound; an index that has passed a
check lies between 0 and the size. In a branch, and after a check, the condition holds. A counter grows by the amount
that its loop adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.integers import integer_of
from mlirad.analysis.loops import Carries, counts_from_zero, is_structured, yields
from mlirad.analysis.ranges import Ranges
from mlirad.analysis.trip_change import TripChange, trip_change
from mlirad.dialect.core import types
from mlirad.dialect.core.intervals import HIGHEST, LOWEST, Interval, LinearForm, Values
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.check import EffectOp
from mlirad.lowering.clean_up.hoist_reads import hoist_reads
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_of


@dataclass(frozen=True)
class EliminateChecks(ModulePass):
    """Remove the checks that are proved to hold. The time for proofs is bounded.

    Before:

        func.func @f(%x: tensor<9xf64>, %k: i64, %n: i64) -> f64 {
          %i = nd.check_index %k, %n {axis = 0 : i64}
          %a = nd.extract %x[%i] : tensor<9xf64> -> f64
          %j = nd.check_index %i, %n {axis = 0 : i64}
          %b = nd.extract %x[%j] : tensor<9xf64> -> f64
          %y = nd.mul %a, %b : f64
          func.return %y : f64
        }

    After `mlirad-eliminate-checks`:

        func.func @f(%x: tensor<9xf64>, %k: i64, %n: i64) -> f64 {
          %i = nd.check_index %k, %n {axis = 0 : i64}
          %a = nd.extract %x[%i] : tensor<9xf64> -> f64
          %b = nd.extract %x[%i] : tensor<9xf64> -> f64
          %y = nd.mul %a, %b : f64
          func.return %y : f64
        }
    """

    name = "mlirad-eliminate-checks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            eliminate_checks(function)


AtLoop = Callable[[scf.ForOp, Ranges], None]


def eliminate_checks(function: Operation, at_loop: AtLoop = hoist_reads) -> None:
    """Remove the checks of one function. at_loop: called for each loop once the facts about it are known."""
    _Walk(at_loop).visit_regions(function)


@cache
def _is_about_integers(kind: type[Operation]) -> bool:
    """Whether ops of a class have facts about integers."""
    questions = ("integer", "simplified", "established")
    return issubclass(kind, NdOp) and any(getattr(kind, name) is not getattr(NdOp, name) for name in questions)


@dataclass
class _Walk:
    at_loop: AtLoop
    ranges: Ranges = field(default_factory=Ranges)

    def visit_regions(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.visit(block)

    def visit(self, block: Block, *facts: Values) -> None:
        """Walk a block in which these sums are known to be non-negative."""
        with self.ranges.scope(facts):
            for op in ops_of(block):
                match op:
                    case scf.IfOp():
                        self.if_(op)
                    case scf.ForOp():
                        self.for_(op)
                    case scf.WhileOp():
                        self.while_(op)
                    case _ if op.regions:
                        self.visit_regions(op)
                    case _:
                        self.visit_op(op)

    def visit_op(self, op: Operation) -> None:
        """Replace an op with a known outcome, or record its fact about the result."""
        if not _is_about_integers(op.__class__):
            if op.results and op.results[0].type == types.I64:
                self._learn(op, op.results[0])  # a constant of arith
            return
        assert isinstance(op, NdOp) and op.parent is not None
        before = op.prev_op
        with in_place_of(op):
            values = op.simplified(self.ranges)
        if values is None:
            self._learn(op, *op.results)
            self.ranges.facts += op.established(self.ranges)
            return
        # The new values are known no better than the result was.
        for value in values:
            if isinstance(value.owner, Operation) and value.owner.next_op is op and value.owner is not before:
                self._learn(op, value)
        replace(op, values)

    def _learn(self, op: Operation, *results: SSAValue) -> None:
        for result in results:
            if result.type == types.I64:
                self.ranges.learn(result, integer_of(op, self.ranges.interval), op.operands)

    # --- regions ------------------------------------------------------------------------------------------------

    def if_(self, op: scf.IfOp) -> None:
        for region, truth in zip(op.regions, (True, False), strict=True):
            for block in region.blocks:
                self.visit(block, *self.ranges.implied(op.cond, truth))
        for number, result in enumerate(op.results):
            if result.type == types.I64:
                first, second = (yielded[number] for yielded in Carries(op).yielded)
                self.ranges.add_atom(result, self.ranges.interval(first).hull(self.ranges.interval(second)))

    def for_(self, op: scf.ForOp) -> None:
        variable = op.body.block.args[0]
        if not counts_from_zero(op) or op.ub.type != types.I64:
            self.visit(op.body.block)
            return
        last = self._positive(op.ub).shifted(-1)
        highest = min(max(self.ranges.interval_of(last).high, 0), HIGHEST)
        self.ranges.add_atom(variable, Interval(0, highest), above=(last,))
        for number, (arg, init) in enumerate(zip(op.body.block.args[1:], op.iter_args, strict=True)):
            each = trip_change(yields(op.body.block)[number], arg)
            if each is not None:
                self._counter(arg, init, each, Interval(0, highest), self.ranges.sum_of(variable))
                trips = Interval(0, min(highest + 1, HIGHEST))
                self._counter(op.results[number], init, each, trips, None)
        self.visit(op.body.block, last)
        self.at_loop(op, self.ranges)

    def _counter(
        self, value: SSAValue, init: SSAValue, each: TripChange, trips: Interval, number: Values | None
    ) -> None:
        """The value of a carry after `number` trips (None: any number). Each trip adds something."""
        start = self.ranges.interval(init)
        low, high = start.low + min(0, trips.high * each.net.low), start.high + max(0, trips.high * each.net.high)
        if not (each.is_checked or Interval(low + each.reach.low, high + each.reach.high).fits):
            return
        above, below = (), ()
        if number is not None:
            first = self.ranges.sum_of(init)
            above, below = (first.plus(number, each.net.high),), (first.plus(number, each.net.low),)
        self.ranges.add_atom(value, Interval(max(low, LOWEST), min(high, HIGHEST)), above, below)

    def _positive(self, bound: SSAValue) -> Values:
        """The sum that a loop's bound equals inside the loop: for max(n, 0) it is n."""
        op = bound.owner
        if not isinstance(op, Operation):
            return self.ranges.sum_of(bound)
        choices = [op.operands[place] for place in integer_of(op, self.ranges.interval).choices]
        positive = [choice for choice in choices if self.ranges.interval(choice).high > 0]
        return self.ranges.sum_of(positive[0] if len(positive) == 1 else bound)

    def while_(self, op: scf.WhileOp) -> None:
        before, body = op.before_region.block, op.after_region.block
        if not is_structured(op):
            self.visit(before)
            self.visit(body)
            return
        for early, arg in zip(before.args, body.args, strict=True):
            self.ranges.add_atom(arg)
            self.ranges.sums[early] = LinearForm.of(arg)
        self.visit(before)
        facts = self.ranges.implied(yields(before)[0], True)
        for number, (init, arg) in enumerate(zip(op.arguments, body.args, strict=True)):
            each = trip_change(yields(body)[number], arg)
            interval = None if each is None else self._while_counter(arg, self.ranges.interval(init), each, facts)
            if interval is not None:
                self.ranges.add_atom(arg, interval)
                self.ranges.add_atom(op.results[number], interval)
        if any(isinstance(inner, EffectOp) for inner in before.ops):
            self.visit(before)  # with the facts about the counters so far
            facts = self.ranges.implied(yields(before)[0], True)
        self.visit(body, *facts)

    def _while_counter(
        self, arg: SSAValue, start: Interval, each: TripChange, facts: Sequence[Values]
    ) -> Interval | None:
        """The interval of a counter with this change per trip, given the facts that hold for it; None if it may
        wrap."""
        least, most = LOWEST, HIGHEST
        for fact in facts:
            # fact = rest - arg >= 0 means arg <= rest; fact = rest + arg >= 0 means arg >= -rest.
            rest = self.ranges.interval_of(fact.without(arg)).high
            if fact.terms.get(arg) == -1:
                most = min(most, rest)
            elif fact.terms.get(arg) == 1:
                least = max(least, -rest)
        if not (each.is_checked or Interval(least + each.reach.low, most + each.reach.high).fits):
            return None
        low = start.low if each.net.low >= 0 else min(start.low, least + each.net.low)
        high = start.high if each.net.high <= 0 else max(start.high, most + each.net.high)
        return Interval(max(low, LOWEST), min(high, HIGHEST))
