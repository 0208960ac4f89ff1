"""Indices as linear forms, modulo 2**64: sums of integers times loop counters (never negative) or unknown values.

Reads: nd and scf. Writes: nothing. Leaves: forms, which can be compared between two executions of the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.integers import constant_interval, has_64_bits, increment, integer_of
from mlirad.analysis.loops import LoopOp, carry_of
from mlirad.dialect.core import types
from mlirad.dialect.core.intervals import HIGHEST, LARGEST_SIZE, Interval, LinearForm

_MOST_TRIPS = 2**48
"""A loop that reads and writes elements would take days for this many trips."""
_DISTINCT = 2**64 - 1
"""Two numbers that differ by at most this differ modulo 2**64."""
_DEEPEST = 100
"""The longest chain of ops that is one form: Python's stack is short."""


@dataclass(frozen=True)
class Trip:
    """The counter of a loop in one of the two compared executions; `more`: how far it is ahead of the other."""

    loop: LoopOp
    execution: int = 0
    more: bool = False


@dataclass(frozen=True)
class Opaque:
    """An opaque value in one of the two compared executions; or an array's size along `axis`."""

    value: SSAValue
    execution: int = 0
    axis: int | None = None


Term = Trip | Opaque
Form = LinearForm[Term]
Executions = Mapping[int, Callable[[Term], Form]]


def of_term(term: Term) -> Form:
    return Form.of(term)


def linear(value: SSAValue) -> Form:
    """The value as a linear form."""
    return _linear(value, {}, _DEEPEST)


def _linear(value: SSAValue, forms: dict[SSAValue, Form], depth: int) -> Form:
    """The same. forms: of values that were met before, as each may have several readers. depth: how many more ops to
    look through."""
    if isinstance(value, BlockArgument):
        return _argument(value)
    op = value.owner
    if not isinstance(op, Operation) or not depth:
        return of_term(Opaque(value))

    def form_of(operand: SSAValue) -> Form:
        if operand not in forms:
            forms[operand] = _linear(operand, forms, depth - 1)
        return forms[operand]

    def interval_of(operand: SSAValue) -> Interval:
        return _interval(form_of(operand)) if has_64_bits(operand.type) else constant_interval(operand)

    operands, answer = op.operands, integer_of(op, interval_of)
    if answer.sum is not None:
        return answer.sum.put(lambda place: form_of(operands[place]))
    # A result that is never below its choices is the largest of them: max(n - i, 0) is n - i if i < n.
    choices = [form_of(operands[place]) for place in answer.choices if answer.below]
    if all(map(_is_exact, choices)):
        for one in choices:
            if all(is_at_least(one - other, 0, {}, _DISTINCT) for other in choices):
                return one
    return of_term(Opaque(value))


def _is_exact(form: Form) -> bool:
    """Whether the form equals the value itself, not only modulo 2**64."""
    return form.atom is not None or _interval(form) != Interval()


def _interval(form: Form) -> Interval:
    """The interval of a form's value."""
    if form.value is not None:
        return Interval(form.value, form.value)
    return Interval(0, HIGHEST) if is_at_least(form, 0, {}) else Interval()


def _argument(value: BlockArgument) -> Form:
    op, carried = value.block.parent_op(), carry_of(value)
    if isinstance(op, scf.ForOp) and value.index == 0:
        return of_term(Trip(op))
    step = induction(value)
    if carried is not None and step is not None:
        init, by = step
        return linear(init).plus(of_term(Trip(carried[0].op)), by)
    return of_term(Opaque(value))


def induction(value: BlockArgument) -> tuple[SSAValue, int] | None:
    """The initial value of a carry, and the constant that each trip adds to it; None for any other carry."""
    carried = carry_of(value)
    if carried is None or value.type != types.I64:
        return None
    by = increment(carried[1].yielded, value)
    return None if by is None else (carried[1].init, by)


def ends_of(start: Form, length: Form, stride: int) -> tuple[Form, Form]:
    """The lowest and the highest of the indices from `start` on, in steps of `stride`. If there are none, the
    highest is below the lowest."""
    last = start.plus(length.shifted(-1), stride)
    return (start, last) if stride > 0 else (last, start)


def are_disjoint(one: tuple[Form, Form], other: tuple[Form, Form]) -> bool:
    """Whether one of two ranges of indices in arrays, of the same execution, ends before the other begins, by a number
    that is known."""
    gaps = (other[0] - one[1]).value, (one[0] - other[1]).value
    return any(gap is not None and gap > 0 for gap in gaps)


def is_above(one: Form, other: Form, executions: Executions) -> bool:
    """Whether one form is larger than another, by so little that their values also differ."""
    return is_at_least(one - other, 1, executions, _DISTINCT)


def is_at_least(form: Form, least: int, executions: Executions, most: int = HIGHEST) -> bool:
    """Whether the form lies between two numbers, given that counters are between 0 and their loop's trip count.

    executions: how the terms of a trip count are renamed in the compared executions.
    """
    if form.interval(_interval_of_term).high > most:
        return False
    for _ in range(8):
        negative = [term for term, factor in form.terms.items() if factor < 0]
        if not negative:
            is_known = not any(isinstance(term, Opaque) for term in form.terms)
            return is_known and form.constant >= least
        # The innermost counter first: its bound may refer to the outer ones.
        term = max(negative, key=_depth)
        if not isinstance(term, Trip) or not isinstance(term.loop, scf.ForOp):
            return False
        rename = executions.get(term.execution, of_term)
        slack = linear(term.loop.ub).put(rename) - of_term(term)  # at least 1
        if term.more:
            # The later trip is number `other + 1 + more`.
            slack = (slack - of_term(Trip(term.loop))).shifted(-1)
        form = form.plus(slack.shifted(-1), form.terms[term])
    return False


def _interval_of_term(term: Term) -> Interval:
    if isinstance(term, Opaque):
        return Interval() if term.axis is None else Interval(0, LARGEST_SIZE)
    known = constant_int(term.loop.ub) if isinstance(term.loop, scf.ForOp) else None
    return Interval(0, _MOST_TRIPS if known is None else max(known, 0))


def _depth(term: Term) -> float:
    if isinstance(term, Opaque):
        return -1
    depth, block = 0.5 * term.more, term.loop.parent
    while block is not None:
        depth, block = depth + 1, Block.parent_block(block)
    return depth
