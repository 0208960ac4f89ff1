"""Removes checks of bounds and overflow that cannot fail, and the wrapping of indices that are not negative.

Reads and writes: tensor, autodiff and optimized stages, in place. Leaves: the checks that may fail, in their order, and
those comparisons, maxima and minima of i64 scalars whose outcome is unknown. No read that a loop's writes cannot
touch stays in the loop (hoist_reads.py).

One walk in program order collects facts. A loop's variable lies between 0 and its bound, and an index that has passed
a check between 0 and the size. In a branch, and after a check, the condition holds. A counter grows by what its loop
adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import Carries, is_structured, terminator
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.ops.check import CheckIndexOp, CheckOp
from mlirad.dialect.ops.choice import MaximumOp, MinimumOp, SelectOp
from mlirad.dialect.ops.compare import (
    CastOp,
    ComparisonOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    NotEqualOp,
)
from mlirad.dialect.ops.constant import ConstantOp
from mlirad.dialect.ops.division import FloorDivOp, ModOp
from mlirad.dialect.ops.elementwise import AddOp, MulOp, NegOp, SubOp
from mlirad.dialect.ops.indexing import WrapIndexOp
from mlirad.dialect.ops.movement import DimOp
from mlirad.dialect.ops.overflow import HIGHEST, LOWEST, AddFitsOp, FitsOp, MulFitsOp, SubFitsOp
from mlirad.lowering.clean_up.hoist_reads import hoist_reads
from mlirad.lowering.clean_up.ranges import Interval, Ranges, Sum
from mlirad.lowering.clean_up.trip_change import TripChange, trip_change
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_of

# No array of that many elements exists.
_LARGEST_SIZE = 2**56
_ONE = Sum(1)


@dataclass(frozen=True)
class EliminateChecks(ModulePass):
    """Remove the checks that are proven to hold. The proofs are bounded in time.

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
            _Walk().visit_regions(function)


@dataclass
class _Walk:
    ranges: Ranges = field(default_factory=Ranges)

    def visit_regions(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.visit(block)

    def visit(self, block: Block, *facts: Sum) -> None:
        """Walk a block in which some sums are known not to be negative."""
        with self.ranges.scope(facts):
            for op in ops_of(block):
                visit = _VISITS.get(op.__class__)
                if visit is not None:
                    visit(self, op)
                elif isinstance(op, ComparisonOp):
                    self._comparison(op)
                elif isinstance(op, FitsOp):
                    self._predicate(op)
                else:
                    self.visit_regions(op)

    def sum_of(self, value: SSAValue) -> Sum:
        return self.ranges.sum_of(value)

    # --- arithmetic ---------------------------------------------------------------------------------------------

    def constant(self, op: ConstantOp | arith.ConstantOp) -> None:
        number = constant_int(op.results[0])
        if number is not None:
            self.ranges.sums[op.results[0]] = Sum(number)

    def add(self, op: AddOp) -> None:
        self.ranges.add_sum(op.result, self.sum_of(op.x).plus(self.sum_of(op.y)))

    def subtract(self, op: SubOp) -> None:
        self.ranges.add_sum(op.result, self.sum_of(op.x).plus(self.sum_of(op.y), -1))

    def negate(self, op: NegOp) -> None:
        self.ranges.add_sum(op.result, Sum(0).plus(self.sum_of(op.x), -1))

    def multiply(self, op: MulOp) -> None:
        for x, y in ((op.x, op.y), (op.y, op.x)):
            factor = constant_int(y)
            if factor is not None:
                self.ranges.add_sum(op.result, Sum(0).plus(self.sum_of(x), factor))
                return
        product = self._product(op.x, op.y)
        self.ranges.add_atom(op.result, product if product.fits else None)

    def _product(self, x: SSAValue, y: SSAValue) -> Interval:
        first, second = self.ranges.interval(x), self.ranges.interval(y)
        ends = [a * b for a in (first.low, first.high) for b in (second.low, second.high)]
        return Interval(min(ends), max(ends))

    def floor_divide(self, op: FloorDivOp) -> None:
        divisor, source = constant_int(op.y), self.ranges.interval(op.x)
        if divisor is None or divisor < 1:
            self.ranges.add_atom(op.result)
            return
        above = (self.sum_of(op.x),) if source.low >= 0 else ()
        self.ranges.add_atom(op.result, Interval(source.low // divisor, source.high // divisor), above)

    def modulo(self, op: ModOp) -> None:
        divisor = self.ranges.interval(op.y)
        if divisor.low < 1:
            self.ranges.add_atom(op.result)
            return
        self.ranges.add_atom(op.result, Interval(0, divisor.high - 1), (self.sum_of(op.y).plus(_ONE, -1),))

    def extremum(self, op: MinimumOp | MaximumOp) -> None:
        x, y = self.ranges.interval(op.x), self.ranges.interval(op.y)
        sums = (self.sum_of(op.x), self.sum_of(op.y))
        for this, other in ((op.x, op.y), (op.y, op.x)):
            sign = 1 if isinstance(op, MaximumOp) else -1
            if self.ranges.is_never_negative(Sum(0).plus(self.sum_of(this), sign).plus(self.sum_of(other), -sign)):
                replace(op, [this])
                return
        if isinstance(op, MinimumOp):
            self.ranges.add_atom(op.result, Interval(min(x.low, y.low), min(x.high, y.high)), above=sums)
        else:
            self.ranges.add_atom(op.result, Interval(max(x.low, y.low), max(x.high, y.high)), below=sums)

    def select(self, op: SelectOp) -> None:
        self.ranges.add_atom(op.result, self.ranges.interval(op.x).hull(self.ranges.interval(op.y)))

    def cast(self, op: CastOp) -> None:
        source = op.x.type
        if not isinstance(source, IntegerType):
            self.ranges.add_atom(op.result)
            return
        bits = source.width.data
        interval = (
            Interval(0, 2**bits - 1) if types.is_unsigned(source) else Interval(-(2 ** (bits - 1)), 2 ** (bits - 1))
        )
        self.ranges.add_atom(op.result, interval if interval.fits else None)

    def dim(self, op: DimOp) -> None:
        self.ranges.add_atom(op.result, Interval(0, _LARGEST_SIZE))

    # --- checks -------------------------------------------------------------------------------------------------

    def check(self, op: CheckOp) -> None:
        """What was checked holds from here on, to the end of the block."""
        if constant_int(op.ok):
            replace(op, [])
            return
        predicate = op.ok.owner
        if isinstance(predicate, AddFitsOp | SubFitsOp):
            self.ranges.learn_fit(self._exact_sum(predicate))
        self.ranges.facts += self.facts(op.ok, True)

    def _predicate(self, op: FitsOp) -> None:
        """Whether a result fits, where that is proved."""
        match op:
            case AddFitsOp() | SubFitsOp():
                is_proved = self.ranges.fits(self._exact_sum(op))
            case MulFitsOp():
                is_proved = self._product_fits(op)
            case _:
                divisor, dividend = self.ranges.interval(op.y), self.ranges.interval(op.x)
                is_proved = dividend.low > LOWEST or divisor.low > -1 or divisor.high < -1
        if is_proved:
            with in_place_of(op):
                known = constant(True, types.I1).value
            replace(op, [known])

    def _exact_sum(self, op: AddFitsOp | SubFitsOp) -> Sum:
        return self.sum_of(op.x).plus(self.sum_of(op.y), 1 if isinstance(op, AddFitsOp) else -1)

    def _product_fits(self, op: MulFitsOp) -> bool:
        for x, y in ((op.x, op.y), (op.y, op.x)):
            factor = constant_int(y)
            if factor is not None and self.ranges.fits(Sum(0).plus(self.sum_of(x), factor)):
                return True
        return self._product(op.x, op.y).fits

    def check_index(self, op: CheckIndexOp | WrapIndexOp) -> None:
        position, length = self.sum_of(op.index), self.sum_of(op.size)
        last = length.plus(_ONE, -1)
        is_checked = isinstance(op, CheckIndexOp)
        is_positive = self.ranges.is_never_negative(position)
        is_proved = self.ranges.is_below(op.index, op.size) and (
            is_positive or self.ranges.is_never_negative(position.plus(length))
        )
        if is_positive and (is_proved or not is_checked):
            replace(op, [op.index])
            return
        result = op.result
        if is_proved:
            result = self._wrapped(op, position)
        if is_proved or is_checked:
            highest = max(self.ranges.interval_of(last).high, 0)
            self.ranges.add_atom(result, Interval(0, min(highest, HIGHEST)), above=(last,))
        if is_checked and not is_proved:
            self.ranges.facts.append(last.plus(position, -1))

    def _wrapped(self, op: CheckIndexOp | WrapIndexOp, position: Sum) -> SSAValue:
        """The index of an access that is in range, in place of its check."""
        if isinstance(op, WrapIndexOp) and not self.ranges.is_never_negative(Sum(-1).plus(position, -1)):
            return op.result
        with in_place_of(op):
            if self.ranges.is_never_negative(Sum(-1).plus(position, -1)):
                result = (Expr(op.index) + Expr(op.size)).value
            else:
                result = emit(WrapIndexOp, op.index, op.size).value
        replace(op, [result])
        return result

    def _comparison(self, op: ComparisonOp) -> None:
        """A comparison whose outcome is proved."""
        if op.x.type != types.I64:
            return
        for truth in (True, False):
            needed = list(_inequalities(op, truth, self.ranges))
            if needed and all(self.ranges.is_never_negative(total) for total in needed):
                with in_place_of(op):
                    known = constant(truth, types.I1).value
                replace(op, [known])
                return

    def facts(self, condition: SSAValue, truth: bool) -> list[Sum]:
        """The sums that are not negative where the condition is (not) true."""
        op = condition.owner
        match op:
            case LogicalNotOp():
                return self.facts(op.x, not truth)
            case LogicalAndOp() if truth:
                return [*self.facts(op.x, True), *self.facts(op.y, True)]
            case LogicalOrOp() if not truth:
                return [*self.facts(op.x, False), *self.facts(op.y, False)]
            case ComparisonOp() if op.x.type == types.I64:
                return list(_inequalities(op, truth, self.ranges))
        return []

    # --- regions ------------------------------------------------------------------------------------------------

    def if_(self, op: scf.IfOp) -> None:
        for region, truth in zip(op.regions, (True, False), strict=True):
            for block in region.blocks:
                self.visit(block, *self.facts(op.cond, truth))
        for number, result in enumerate(op.results):
            if result.type == types.I64:
                first, second = (yielded[number] for yielded in Carries(op).yielded)
                self.ranges.add_atom(result, self.ranges.interval(first).hull(self.ranges.interval(second)))

    def for_(self, op: scf.ForOp) -> None:
        variable = op.body.block.args[0]
        if constant_int(op.lb) != 0 or constant_int(op.step) != 1 or op.ub.type != types.I64:
            self.visit(op.body.block)
            return
        last = self._positive(op.ub).plus(_ONE, -1)
        highest = min(max(self.ranges.interval_of(last).high, 0), HIGHEST)
        self.ranges.add_atom(variable, Interval(0, highest), above=(last,))
        for number, (arg, init) in enumerate(zip(op.body.block.args[1:], op.iter_args, strict=True)):
            each = trip_change(terminator(op.body.block).operands[number], arg)
            if each is not None:
                self._counter(arg, init, each, Interval(0, highest), self.sum_of(variable))
                trips = Interval(0, min(highest + 1, HIGHEST))
                self._counter(op.results[number], init, each, trips, None)
        self.visit(op.body.block, last)
        hoist_reads(op, self.ranges)

    def _counter(self, value: SSAValue, init: SSAValue, each: TripChange, trips: Interval, number: Sum | None) -> None:
        """The value of a carry after so many trips (exactly `number`, if not None). Each trip adds something."""
        start = self.ranges.interval(init)
        low, high = start.low + min(0, trips.high * each.net.low), start.high + max(0, trips.high * each.net.high)
        if not (each.is_checked or Interval(low + each.reach.low, high + each.reach.high).fits):
            return
        above, below = (), ()
        if number is not None:
            first = self.sum_of(init)
            above, below = (first.plus(number, each.net.high),), (first.plus(number, each.net.low),)
        self.ranges.add_atom(value, Interval(max(low, LOWEST), min(high, HIGHEST)), above, below)

    def _positive(self, bound: SSAValue) -> Sum:
        """The sum that a loop's bound is where the loop runs: of max(n, 0) it is n."""
        op = bound.owner
        if isinstance(op, MaximumOp):
            for x, y in ((op.x, op.y), (op.y, op.x)):
                if self.ranges.interval(y).high <= 0:
                    return self.sum_of(x)
        return self.sum_of(bound)

    def while_(self, op: scf.WhileOp) -> None:
        before, body = op.before_region.block, op.after_region.block
        if not is_structured(op):
            self.visit(before)
            self.visit(body)
            return
        for early, arg in zip(before.args, body.args, strict=True):
            self.ranges.add_atom(arg)
            self.ranges.sums[early] = Sum.of(arg)
        self.visit(before)
        facts = self.facts(terminator(before).operands[0], True)
        for number, (init, arg) in enumerate(zip(op.arguments, body.args, strict=True)):
            each = trip_change(terminator(body).operands[number], arg)
            interval = None if each is None else self._while_counter(arg, self.ranges.interval(init), each, facts)
            if interval is not None:
                self.ranges.add_atom(arg, interval)
                self.ranges.add_atom(op.results[number], interval)
        if any(isinstance(inner, CheckOp | CheckIndexOp) for inner in before.ops):
            self.visit(before)  # with what is known of the counters by now
            facts = self.facts(terminator(before).operands[0], True)
        self.visit(body, *facts)

    def _while_counter(self, arg: SSAValue, start: Interval, each: TripChange, facts: list[Sum]) -> Interval | None:
        """The interval of a counter that changes so in a trip, in which the facts hold for it; None if it may wrap."""
        least, most = LOWEST, HIGHEST
        for fact in facts:
            # fact = rest - arg >= 0 bounds arg by rest from above; fact = rest + arg >= 0, by -rest from below.
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


def _inequalities(op: ComparisonOp, truth: bool, ranges: Ranges) -> Iterator[Sum]:
    """The sums that are not negative exactly if a comparison of i64 scalars has this outcome; if there are such."""
    difference = ranges.sum_of(op.y).plus(ranges.sum_of(op.x), -1)  # y - x
    opposite = Sum(0).plus(difference, -1)
    strict, strict_opposite = difference.plus(_ONE, -1), opposite.plus(_ONE, -1)
    match op:
        case LessOp():
            yield strict if truth else opposite
        case LessEqualOp():
            yield difference if truth else strict_opposite
        case GreaterOp():
            yield strict_opposite if truth else difference
        case GreaterEqualOp():
            yield opposite if truth else strict
        case EqualOp() | NotEqualOp():
            if truth == isinstance(op, EqualOp):
                yield from (difference, opposite)
            elif ranges.is_never_negative(difference):
                yield strict
            elif ranges.is_never_negative(opposite):
                yield strict_opposite


def _integers_only(visit: Callable[[_Walk, Any], None]) -> Callable[[_Walk, Any], None]:
    """Of ops on scalars and arrays of all kinds, only those on i64 scalars."""

    def visit_if(walk: _Walk, op: Operation) -> None:
        if op.results[0].type == types.I64:
            visit(walk, op)

    return visit_if


_VISITS: dict[type[Operation], Callable[[_Walk, Any], None]] = {
    ConstantOp: _integers_only(_Walk.constant),
    arith.ConstantOp: _integers_only(_Walk.constant),
    AddOp: _integers_only(_Walk.add),
    SubOp: _integers_only(_Walk.subtract),
    NegOp: _integers_only(_Walk.negate),
    MulOp: _integers_only(_Walk.multiply),
    FloorDivOp: _integers_only(_Walk.floor_divide),
    ModOp: _integers_only(_Walk.modulo),
    MinimumOp: _integers_only(_Walk.extremum),
    MaximumOp: _integers_only(_Walk.extremum),
    SelectOp: _integers_only(_Walk.select),
    CastOp: _integers_only(_Walk.cast),
    DimOp: _Walk.dim,
    CheckOp: _Walk.check,
    CheckIndexOp: _Walk.check_index,
    WrapIndexOp: _Walk.check_index,
    scf.IfOp: _Walk.if_,
    scf.ForOp: _Walk.for_,
    scf.WhileOp: _Walk.while_,
}
