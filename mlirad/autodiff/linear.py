"""Indices as linear forms: integers times loop counters (never negative) and times opaque values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import Loop, LoopOp
from mlirad.dialect.core import types
from mlirad.dialect.ops.check import CheckIndexOp
from mlirad.dialect.ops.choice import MaximumOp
from mlirad.dialect.ops.elementwise import AddOp, MulOp, NegOp, SubOp
from mlirad.dialect.ops.indexing import WrapIndexOp


@dataclass(frozen=True)
class Trip:
    """The counter of a loop, in one of two executions that are compared; `more`: how far it is ahead of the other's."""

    loop: LoopOp
    execution: int = 0
    more: bool = False


@dataclass(frozen=True)
class Opaque:
    """An opaque value, in one of two executions that are compared; or an array's size along `axis`."""

    value: SSAValue
    execution: int = 0
    axis: int | None = None


Term = Trip | Opaque


@dataclass(frozen=True)
class Form:
    """`constant + sum of factor * term`."""

    constant: int = 0
    factors: dict[Term, int] = field(default_factory=dict)

    def plus(self, other: Form, times: int = 1) -> Form:
        factors = dict(self.factors)
        for term, factor in other.factors.items():
            factors[term] = factors.get(term, 0) + factor * times
        kept = {term: factor for term, factor in factors.items() if factor}
        return Form(self.constant + other.constant * times, kept)

    def scaled(self, times: int) -> Form:
        return Form().plus(self, times)

    def renamed(self, rename: Callable[[Term], Form]) -> Form:
        """The form, with every term replaced by a form."""
        result = Form(self.constant)
        for term, factor in self.factors.items():
            result = result.plus(rename(term), factor)
        return result


def of_term(term: Term) -> Form:
    return Form(0, {term: 1})


def linear(value: SSAValue) -> Form:
    """The value as a linear form."""
    known = constant_int(value)
    if known is not None:
        return Form(known)
    if isinstance(value, BlockArgument):
        return _argument(value)
    match value.owner:
        case AddOp(x=x, y=y):
            return linear(x).plus(linear(y))
        case SubOp(x=x, y=y):
            return linear(x).plus(linear(y), -1)
        case NegOp(x=x):
            return linear(x).scaled(-1)
        case MulOp(x=x, y=y):
            a, b = linear(x), linear(y)
            if not a.factors or not b.factors:
                return b.scaled(a.constant) if not a.factors else a.scaled(b.constant)
        case MaximumOp(x=x, y=y):
            a, b = linear(x), linear(y)
            for larger, smaller in ((a, b), (b, a)):  # max(i, 0) is how long range(i) is
                if is_at_least(larger.plus(smaller, -1), 0, {}):
                    return larger
        case CheckIndexOp(index=index) | WrapIndexOp(index=index):
            form = linear(index)
            if is_at_least(form, 0, {}):
                return form
    return of_term(Opaque(value))


def _argument(value: BlockArgument) -> Form:
    op = value.block.parent_op()
    if isinstance(op, scf.ForOp) and value.index == 0:
        return of_term(Trip(op))
    if isinstance(op, scf.ForOp | scf.WhileOp) and value.block is Loop(op).body:
        step = induction(value)
        if step is not None:
            init, by = step
            return linear(init).plus(of_term(Trip(op)), by)
    return of_term(Opaque(value))


def induction(value: BlockArgument) -> tuple[SSAValue, int] | None:
    """The initial value of a carry, and the constant that each trip adds to it; None if trips add anything else."""
    op = value.block.parent_op()
    if not isinstance(op, scf.ForOp | scf.WhileOp) or value.type != types.I64:
        return None
    loop = Loop(op)
    for carry in loop.carries:
        step = carry.yielded.owner
        if carry.arg is not value:
            continue
        if isinstance(step, AddOp) and value in (step.x, step.y):
            by = constant_int(step.y if step.x is value else step.x)
            return None if by is None else (carry.init, by)
        if isinstance(step, SubOp) and step.x is value:
            by = constant_int(step.y)
            return None if by is None else (carry.init, -by)
    return None


def is_at_least(form: Form, least: int, executions: dict[int, Callable[[Term], Form]]) -> bool:
    """Whether the form is at least `least`, given that counters are between 0 and their loop's trip count.

    executions: how the terms of a trip count are renamed in the executions that are compared.
    """
    for _ in range(8):
        negative = [term for term, factor in form.factors.items() if factor < 0]
        if not negative:
            is_known = not any(isinstance(term, Opaque) for term in form.factors)
            return is_known and form.constant >= least
        # The innermost counter first: its bound may speak of the outer ones.
        term = max(negative, key=_depth)
        if not isinstance(term, Trip) or not isinstance(term.loop, scf.ForOp):
            return False
        rename = executions.get(term.execution, of_term)
        slack = linear(term.loop.ub).renamed(rename).plus(of_term(term), -1)  # at least 1
        if term.more:
            # The later trip is number `other + 1 + more`.
            slack = slack.plus(of_term(Trip(term.loop)), -1).plus(Form(1), -1)
        form = form.plus(slack.plus(Form(1), -1), form.factors[term])
    return False


def _depth(term: Term) -> float:
    if isinstance(term, Opaque):
        return -1
    depth, block = 0.5 * term.more, term.loop.parent
    while block is not None:
        depth, block = depth + 1, Block.parent_block(block)
    return depth
