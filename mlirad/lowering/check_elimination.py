"""Removes bounds checks that cannot fail, and the wrapping of indices that are not negative.

Reads and writes: tensor, autodiff and optimized stages, in place. Leaves: the checks that may fail, in their order, and
those comparisons of i64 scalars whose outcome is not known.

One walk in program order. A loop's variable lies between 0 and its bound; an index that has passed a check, between 0
and the size; in a branch, and behind a check, the condition holds; a counter of a `while` only grows.
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

from mlirad.dialect import types
from mlirad.dialect.check import CheckIndexOp, CheckOp
from mlirad.dialect.choice import MaximumOp, MinimumOp, SelectOp
from mlirad.dialect.compare import (
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
from mlirad.dialect.constant import ConstantOp
from mlirad.dialect.division import FloorDivOp, ModOp
from mlirad.dialect.elementwise import AddOp, MulOp, NegOp, SubOp
from mlirad.dialect.expr import Expr, constant, emit
from mlirad.dialect.indexing import WrapIndexOp
from mlirad.dialect.movement import DimOp
from mlirad.lowering.carries import Carries, is_structured
from mlirad.lowering.ranges import HIGHEST, Interval, Ranges, Sum
from mlirad.lowering.rewriting import constant_int, in_place_of, replace, terminator

# No array of that many elements exists.
_LARGEST_SIZE = 2**56
_ONE = Sum(1)


@dataclass(frozen=True)
class EliminateChecks(ModulePass):
    """Prove what can be proved in bounded time a check."""

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
        known = len(self.ranges.facts)
        self.ranges.facts += facts
        for op in list(block.ops):
            visit = _VISITS.get(type(op))
            if visit is not None:
                visit(self, op)
            elif isinstance(op, ComparisonOp):
                self._comparison(op)
            else:
                self.visit_regions(op)
        del self.ranges.facts[known:]

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
        first, second = self.ranges.interval(op.x), self.ranges.interval(op.y)
        ends = [a * b for a in (first.low, first.high) for b in (second.low, second.high)]
        product = Interval(min(ends), max(ends))
        self.ranges.add_atom(op.result, product if product.fits else None)

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
        self.ranges.facts += self.facts(op.ok, True)

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
        highest = max(self.ranges.interval_of(last).high, 0)
        self.ranges.add_atom(variable, Interval(0, min(highest, HIGHEST)), above=(last,))
        self.visit(op.body.block, last)

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
        parts = zip(op.arguments, body.args, terminator(body).operands, strict=True)
        for init, arg, yielded in parts:
            step = _step(yielded, arg)
            if step is not None and self._stays_in_range(arg, step, facts):
                start = self.ranges.interval(init)
                bounds = Interval(start.low, HIGHEST) if step > 0 else Interval(high=start.high)
                self.ranges.add_atom(arg, bounds)
        self.visit(body, *facts)

    def _stays_in_range(self, arg: SSAValue, step: int, facts: list[Sum]) -> bool:
        """Whether arg + step does not wrap in a trip, where the facts hold."""
        for fact in facts:
            # fact = rest - arg >= 0 bounds arg by rest from above; fact = rest + arg >= 0, by -rest from below.
            if fact.terms.get(arg) == (-1 if step > 0 else 1):
                rest = self.ranges.interval_of(fact.without(arg))
                if (rest.high + step <= HIGHEST) if step > 0 else (rest.high - step <= HIGHEST):
                    return True
        return False


def _step(yielded: SSAValue, arg: SSAValue) -> int | None:
    """By how much a counter grows each trip."""
    op = yielded.owner
    if not isinstance(op, AddOp) or arg.type != types.I64 or arg not in op.operands:
        return None
    return constant_int(op.y if op.x is arg else op.x) or None


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
