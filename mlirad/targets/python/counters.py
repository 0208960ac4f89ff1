"""Loop counters as a person would write them, and integers that cannot overflow.

Reads: i64 values of a function. Writes: nothing. Leaves: for each loop the value that becomes its counter, and linear
forms of the values that are counted from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.integers import constant_interval, integer_of, linear_form
from mlirad.analysis.loops import Loop, LoopOp, branches, carry_number, yields
from mlirad.dialect.core import types
from mlirad.dialect.core.intervals import Interval, LinearForm, Values
from mlirad.xdsl_support.traversal import defining_block, ops_inside

_FAR = 2**57
"""No loop makes more trips in a lifetime, and no array has more elements."""


@dataclass(frozen=True)
class Counter:
    """The counter of a printed loop: `value`, which is `sign` times the counter of the IR, plus `offset`."""

    value: SSAValue
    sign: int = 1
    offset: Values = LinearForm()  # noqa: RUF009 - it is frozen


class Counting:
    """Facts about the 64-bit integers of one function. forms: of values that are counted from a loop's counter."""

    def __init__(self) -> None:
        self._intervals: dict[SSAValue, Interval] = {}
        self.forms: dict[SSAValue, Values] = {}

    # --- intervals ----------------------------------------------------------------------------------------------

    def may_overflow(self, value: SSAValue) -> bool:
        """Whether the exact number that an op computes may not fit in 64 bits."""
        return value.type != types.I64 or not self._exact(value).fits

    def interval(self, value: SSAValue) -> Interval:
        """The interval of an i64, in any run that terminates."""
        if value.type != types.I64:
            return constant_interval(value)
        if value not in self._intervals:
            self._intervals[value] = Interval()
            self._intervals[value] = self._exact(value).wrapped
        return self._intervals[value]

    def is_bounded(self, value: SSAValue) -> bool:
        """Whether bounds of a number are known."""
        return self.interval(value) != Interval()

    def _exact(self, value: SSAValue) -> Interval:
        if isinstance(value, BlockArgument):
            return self._of_argument(value)
        assert isinstance(value, OpResult)
        if isinstance(value.op, LoopOp):
            return self._carried(Loop(value.op), value.index)
        if isinstance(value.op, scf.IfOp):
            one, other = (self.interval(yields(side)[value.index]) for side in branches(value.op))
            return one.hull(other)
        operands, answer = value.op.operands, integer_of(value.op, self.interval)
        if answer.sum is not None:
            return answer.sum.interval(lambda place: self.interval(operands[place]))
        if answer.choices:
            return reduce(Interval.hull, (self.interval(operands[place]) for place in answer.choices))
        if answer.size is not None or answer.counted is not None:
            return Interval(0, _FAR)
        return answer.interval

    def _of_argument(self, value: BlockArgument) -> Interval:
        loop = value.block.parent_op()
        if not isinstance(loop, LoopOp):
            return Interval()
        number = carry_number(value)
        if number >= 0:
            return self._carried(Loop(loop), number)
        assert isinstance(loop, scf.ForOp)
        first, last = self.interval(loop.lb), self.interval(loop.ub).high - 1
        return Interval(first.low, max(first.low, min(last, first.high + _FAR)))

    def _carried(self, loop: Loop, number: int) -> Interval:
        """A carried number that each trip leaves unchanged, or adds a constant to."""
        carry = loop.carry(number)
        start, step = self.interval(carry.init), linear_form(carry.yielded).plus(linear_form(carry.arg), -1)
        first = loop.region_args[0][number]
        if first is not carry.arg and step.number is None:
            step = linear_form(carry.yielded).plus(linear_form(first), -1)
        if step.number is None:
            return start.hull(self.interval(carry.yielded))  # whatever it is at the beginning of a trip
        if abs(step.number) > 2**4 or max(-start.low, start.high) > _FAR:
            return Interval()
        return Interval(start.low - 2**4 * _FAR, start.high + 2**4 * _FAR)

    # --- counters -----------------------------------------------------------------------------------------------

    def counter(self, loop: scf.ForOp) -> Counter:
        """The best counter for the loop, which needs the fewest additions in it; records the forms of the counted
        values."""
        index = loop.body.block.args[0]
        found: dict[SSAValue, Values] = {index: LinearForm.of(index)}
        if constant_int(loop.step) == 1 and index.type == types.I64:
            self._collect(loop, index, found)

        def uses(value: SSAValue) -> float:
            count = sum(not any(result in found for result in use.operation.results) for use in value.uses)
            return count + (value.name_hint is not None and value is not index) / 2

        best = max(found, key=uses)
        sign, offset = found[best].terms[index], found[best].without(index)
        for value, form in found.items():
            factor = form.terms[index] * sign
            rest = form.without(index).plus(offset, -factor)
            self.forms[value] = LinearForm.of(best).scaled(factor).plus(rest)
        return Counter(best, sign, offset)

    def _collect(self, loop: scf.ForOp, index: SSAValue, found: dict[SSAValue, Values]) -> None:
        """The values in a loop that are plus or minus its counter, plus a value known before the loop."""
        inside = set[Block]()
        for op in [loop, *ops_inside(loop)]:
            inside.update(block for region in op.regions for block in region.blocks)
        for op in ops_inside(loop):
            form = self._counted(loop, op, found)
            if form is None or abs(form.terms.get(index, 0)) != 1:
                continue
            rest = form.without(index)
            are_outside = all(defining_block(atom) not in inside for atom in rest.terms)
            is_known = are_outside and all(abs(factor) == 1 for factor in rest.terms.values())
            if is_known and len(rest.terms) < 3 and abs(rest.constant) < 2**31:
                found[op.results[0]] = form

    def _counted(self, loop: scf.ForOp, op: Operation, found: dict[SSAValue, Values]) -> Values | None:
        if len(op.results) != 1 or op.regions or op.results[0].type != types.I64:
            return None
        if self.may_overflow(op.results[0]):
            return self._from_the_end(op.results[0], loop)
        answer = integer_of(op, self.interval)
        if answer.sum is None or not any(operand in found for operand in op.operands):
            return None
        operands = op.operands

        def form_of(place: int) -> Values:
            operand = operands[place]
            number = constant_int(operand)
            known = found.get(operand) or self.forms.get(operand)
            return LinearForm(number) if number is not None else known or LinearForm.of(operand)

        return answer.sum.put(form_of)

    def _from_the_end(self, value: SSAValue, loop: scf.ForOp) -> Values | None:
        """The form of a number that is counted down from a loop's end; it is never far from the loop's counter."""
        index, end = loop.body.block.args[0], loop.ub
        rest = linear_form(value).plus(linear_form(end), -1) + LinearForm.of(index)
        if rest.number is None or not -(2**31) < rest.number <= 0 or self.interval(loop.lb).low < 0:
            return None
        return LinearForm(rest.number, {end: 1, index: -1})
