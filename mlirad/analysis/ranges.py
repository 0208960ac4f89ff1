"""Range analysis of i64 scalars: each is a sum of earlier ones, and is bounded by such sums.

Reads: the values that are registered. Writes: nothing. Gives: proofs that a sum is never negative.

A sum represents a value only if none of its additions can wrap, so integers may be treated as numbers. To prove
`sum >= 0`, the latest value in it is replaced by its lower or upper bound, until only numbers are left. A loop's
variable, for example, is replaced by 0 or by the loop's bound minus 1, which is a sum of earlier values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.integers import constant_interval, has_64_bits, interval_of_type
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, insertion_point
from mlirad.dialect.core.intervals import HIGHEST, LOWEST, Integer, Interval, LinearForm, Sum, Values
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.overflow import FitsOp
from mlirad.xdsl_support.traversal import blocks_around, defining_block

# How many substitutions a proof may try, and how many known inequalities: proofs take bounded time.
_EFFORT = 48
_FACTS = 6
# A sum of so many terms is cheaper to compute than to divide another one.
_TERMS = 2


@dataclass(frozen=True)
class Bounds:
    """A value that is not a sum of others: its numeric bounds, and the sums that are upper or lower bounds of it."""

    number: int
    interval: Interval
    above: tuple[Values, ...] = ()
    below: tuple[Values, ...] = ()


@dataclass
class Ranges:
    """Sums and bounds of the values seen so far. `facts` are sums known to be non-negative here."""

    atoms: dict[SSAValue, Bounds] = field(default_factory=dict)
    sums: dict[SSAValue, Values] = field(default_factory=dict)
    facts: list[Values] = field(default_factory=list)
    # The constants with which a sum of these terms is known to fit, and what was known before each was added.
    _exact: dict[frozenset[tuple[SSAValue, int]], Interval] = field(default_factory=dict)
    _learnt: list[tuple[frozenset[tuple[SSAValue, int]], Interval | None]] = field(default_factory=list)

    def add_atom(
        self,
        value: SSAValue,
        interval: Interval | None = None,
        above: Sequence[Values] = (),
        below: Sequence[Values] = (),
    ) -> None:
        """value lies in the interval, is at most each sum of `above`, and at least each sum of `below`."""
        self.atoms[value] = Bounds(len(self.atoms), interval or Interval(), tuple(above), tuple(below))
        self.sums[value] = LinearForm.of(value)

    def add_sum(self, value: SSAValue, total: Values) -> None:
        """value is computed as that sum: a new atom if the computation may wrap."""
        if self.fits(total):
            self.sums[value] = total
        else:
            self.add_atom(value)

    def learn(self, value: SSAValue, answer: Integer, operands: Sequence[SSAValue]) -> None:
        """Add an op's fact about its result. The result becomes an atom if it has bounds."""

        def of(sum_: Sum) -> Values:
            return sum_.put(lambda place: self.sum_of(operands[place]))

        if answer.sum is not None and not (answer.above or answer.below):
            self.add_sum(value, of(answer.sum))
        else:
            self.add_atom(value, answer.interval.wrapped, [*map(of, answer.above)], [*map(of, answer.below)])

    def fits(self, total: Values) -> bool:
        """Whether it is proved, or has been checked, that total fits in an i64."""
        if self.interval_of(total).fits:
            return True
        known = self._exact.get(frozenset(total.terms.items()))
        if known is not None and known.low <= total.constant <= known.high:
            return True
        top = total.scaled(-1).shifted(HIGHEST)
        return self.is_never_negative(top) and self.is_never_negative(total.shifted(-LOWEST))

    def learn_fit(self, total: Values) -> None:
        """It has been checked that total fits in an i64."""
        terms, here = frozenset(total.terms.items()), Interval(total.constant, total.constant)
        before = self._exact.get(terms)
        self._learnt.append((terms, before))
        self._exact[terms] = here if before is None else here.hull(before)

    @contextmanager
    def scope(self, facts: Sequence[Values]) -> Iterator[None]:
        """A block in which these facts hold. Facts added in it are dropped at its end."""
        known, learnt = len(self.facts), len(self._learnt)
        self.facts += facts
        yield
        del self.facts[known:]
        while len(self._learnt) > learnt:
            terms, before = self._learnt.pop()
            if before is None:
                del self._exact[terms]
            else:
                self._exact[terms] = before

    def sum_of(self, value: SSAValue) -> Values:
        if value not in self.sums:
            number = constant_int(value) if has_64_bits(value.type) else None
            if number is None:
                self.add_atom(value, interval_of_type(value.type))
            else:
                self.sums[value] = LinearForm(number)
        return self.sums[value]

    def value_of(self, total: Values) -> SSAValue | None:
        """A value that equals a sum where ops are emitted now: one that is known there, or else a new one of at most
        two terms."""
        scopes = set(blocks_around(insertion_point().block))
        for value, sum_ in self.sums.items():
            if sum_ == total and defining_block(value) in scopes:
                return value
        if len(total.terms) > _TERMS or any(defining_block(atom) not in scopes for atom in total.terms):
            return None
        result: Expr = constant(total.constant, types.I64)
        for atom, coefficient in total.terms.items():
            result = result + (Expr(atom) if coefficient == 1 else Expr(atom) * coefficient)
        self.sums[result.value] = total
        return result.value

    def interval(self, value: SSAValue) -> Interval:
        return self.interval_of(self.sum_of(value)) if has_64_bits(value.type) else constant_interval(value)

    def interval_of(self, total: Values) -> Interval:
        return total.interval(lambda value: self.atoms[value].interval)

    def implied(self, condition: SSAValue, truth: bool) -> Sequence[Values]:
        """The sums that are non-negative if the condition is `truth`."""
        return condition.owner.implied(self, truth) if isinstance(condition.owner, NdOp) else ()

    def checked(self, condition: SSAValue) -> Sequence[Values]:
        """The sums that are non-negative after a check of the condition. Sums that fit by then are recorded."""
        exact = condition.owner.exact(self) if isinstance(condition.owner, FitsOp) else None
        if exact is not None:
            self.learn_fit(exact)
        return self.implied(condition, True)

    def is_never_negative(self, total: Values) -> bool:
        """Whether it is proved that total >= 0."""
        effort = _Effort(_EFFORT)
        if self._proved(total, effort):
            return True
        near = [fact for fact in reversed(self.facts) if not fact.terms.keys().isdisjoint(total.terms)][:_FACTS]
        return any(self._proved(total.plus(fact, -1), effort) for fact in near)

    def is_below(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether it is proved that value < other."""
        return self.is_never_negative((self.sum_of(other) - self.sum_of(value)).shifted(-1))

    def _proved(self, total: Values, effort: _Effort) -> bool:
        if self.interval_of(total).low >= 0:
            return True
        if not total.terms or not effort.spend():
            return False
        latest = max(total.terms, key=lambda value: self.atoms[value].number)
        return any(self._proved(smaller, effort) for smaller in self._replaced(total, latest))

    def _replaced(self, total: Values, value: SSAValue) -> Iterator[Values]:
        """Sums without value that are not larger than total."""
        coefficient, atom, rest = total.terms[value], self.atoms[value], total.without(value)
        for bound in atom.above if coefficient < 0 else atom.below:
            yield rest.plus(bound, coefficient)
        yield rest.shifted(coefficient * (atom.interval.high if coefficient < 0 else atom.interval.low))


@dataclass
class _Effort:
    left: int

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0
