"""Range analysis of i64 scalars: each is a sum of earlier ones, between bounds that are such sums, too.

Reads: the values that are noted. Writes: nothing. Gives: proofs that a sum is never negative.

A sum represents a value only if none of its additions can wrap, so integers may be treated as numbers. To prove
`sum >= 0`, the latest value in it is replaced by its lower or upper bound, until only numbers are left. A loop's
variable, for example, is replaced by 0 or by the loop's bound minus 1, which is a sum of earlier values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from mlirad.dialect.ops.overflow import HIGHEST, LOWEST

# How many substitutions a proof may try, and how many known inequalities: proofs take bounded time.
_EFFORT = 48
_FACTS = 6


@dataclass(frozen=True)
class Sum:
    """constant + the sum of coefficient * value."""

    constant: int
    terms: Mapping[SSAValue, int] = field(default_factory=dict)

    @classmethod
    def of(cls, value: SSAValue) -> Sum:
        return cls(0, {value: 1})

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """self + times * other"""
        terms = dict(self.terms)
        for value, coefficient in other.terms.items():
            terms[value] = terms.get(value, 0) + times * coefficient
        kept = {value: coefficient for value, coefficient in terms.items() if coefficient}
        return Sum(self.constant + times * other.constant, kept)

    def without(self, value: SSAValue) -> Sum:
        return Sum(self.constant, {other: c for other, c in self.terms.items() if other is not value})


@dataclass(frozen=True)
class Interval:
    """All integers from low to high."""

    low: int = LOWEST
    high: int = HIGHEST

    @property
    def fits(self) -> bool:
        """Whether an i64 can hold every one."""
        return self.low >= LOWEST and self.high <= HIGHEST

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class Atom:
    """A value that is no sum of others: its numeric bounds, and sums that it is never above, or never below."""

    number: int
    interval: Interval
    above: tuple[Sum, ...] = ()
    below: tuple[Sum, ...] = ()


@dataclass
class Ranges:
    """Sums and bounds of the values seen so far. `facts` are sums that are known not to be negative here."""

    atoms: dict[SSAValue, Atom] = field(default_factory=dict)
    sums: dict[SSAValue, Sum] = field(default_factory=dict)
    facts: list[Sum] = field(default_factory=list)
    # The constants with which a sum of these terms is known to fit, and what was known before each was learnt.
    _exact: dict[frozenset[tuple[SSAValue, int]], Interval] = field(default_factory=dict)
    _learnt: list[tuple[frozenset[tuple[SSAValue, int]], Interval | None]] = field(default_factory=list)

    def add_atom(
        self, value: SSAValue, interval: Interval | None = None, above: Sequence[Sum] = (), below: Sequence[Sum] = ()
    ) -> None:
        """value lies in the interval, under every sum of `above`, and over every one of `below`."""
        self.atoms[value] = Atom(len(self.atoms), interval or Interval(), tuple(above), tuple(below))
        self.sums[value] = Sum.of(value)

    def add_sum(self, value: SSAValue, total: Sum) -> None:
        """value is computed as that sum: a new atom where the computation may wrap."""
        if self.fits(total):
            self.sums[value] = total
        else:
            self.add_atom(value)

    def fits(self, total: Sum) -> bool:
        """Whether it is proved, or has been checked, that an i64 can hold total."""
        if self.interval_of(total).fits:
            return True
        known = self._exact.get(frozenset(total.terms.items()))
        if known is not None and known.low <= total.constant <= known.high:
            return True
        top = Sum(HIGHEST).plus(total, -1)
        return self.is_never_negative(top) and self.is_never_negative(total.plus(Sum(-LOWEST)))

    def learn_fit(self, total: Sum) -> None:
        """It has been checked that an i64 can hold total."""
        terms, here = frozenset(total.terms.items()), Interval(total.constant, total.constant)
        before = self._exact.get(terms)
        self._learnt.append((terms, before))
        self._exact[terms] = here if before is None else here.hull(before)

    @contextmanager
    def scope(self, facts: Sequence[Sum]) -> Iterator[None]:
        """A block in which these facts hold; what is learnt in it is forgotten after it."""
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

    def sum_of(self, value: SSAValue) -> Sum:
        if value not in self.sums:
            self.add_atom(value)
        return self.sums[value]

    def interval(self, value: SSAValue) -> Interval:
        return self.interval_of(self.sum_of(value))

    def interval_of(self, total: Sum) -> Interval:
        low = high = total.constant
        for value, coefficient in total.terms.items():
            ends = self.atoms[value].interval
            first, last = coefficient * ends.low, coefficient * ends.high
            low, high = low + min(first, last), high + max(first, last)
        return Interval(low, high)

    def is_never_negative(self, total: Sum) -> bool:
        """Whether it is proved that total >= 0."""
        effort = _Effort(_EFFORT)
        if self._proved(total, effort):
            return True
        near = [fact for fact in reversed(self.facts) if not fact.terms.keys().isdisjoint(total.terms)][:_FACTS]
        return any(self._proved(total.plus(fact, -1), effort) for fact in near)

    def is_below(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether it is proved that value < other."""
        return self.is_never_negative(self.sum_of(other).plus(self.sum_of(value), -1).plus(Sum(-1)))

    def _proved(self, total: Sum, effort: _Effort) -> bool:
        if self.interval_of(total).low >= 0:
            return True
        if not total.terms or not effort.spend():
            return False
        latest = max(total.terms, key=lambda value: self.atoms[value].number)
        return any(self._proved(smaller, effort) for smaller in self._replaced(total, latest))

    def _replaced(self, total: Sum, value: SSAValue) -> Iterator[Sum]:
        """Sums that are not larger than total, without value."""
        coefficient, atom, rest = total.terms[value], self.atoms[value], total.without(value)
        for bound in atom.above if coefficient < 0 else atom.below:
            yield rest.plus(bound, coefficient)
        yield rest.plus(Sum(atom.interval.high if coefficient < 0 else atom.interval.low), coefficient)


@dataclass
class _Effort:
    left: int

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0
