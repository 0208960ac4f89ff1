"""What an op knows about an integer result: a linear form of its operands, an interval, bounds by operands.

Reads: the intervals of operands. Writes: nothing. Leaves: `Integer`s.

All facts are about exact integers; 64 bits hold only those from LOWEST to HIGHEST. A linear form equals the value if
its interval `fits`. Otherwise the value equals it modulo 2**64, and nothing else is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

from xdsl.ir import SSAValue

Atom = TypeVar("Atom", bound=Hashable)
Other = TypeVar("Other", bound=Hashable)

LOWEST, HIGHEST = -(2**63), 2**63 - 1
LARGEST_SIZE = 2**56
"""No array has more elements than this along an axis."""


@dataclass(frozen=True)
class Interval:
    """All integers from low to high."""

    low: int = LOWEST
    high: int = HIGHEST

    @property
    def fits(self) -> bool:
        """Whether an i64 can hold every number of the interval."""
        return self.low >= LOWEST and self.high <= HIGHEST

    @property
    def wrapped(self) -> Interval:
        """The interval of an i64 that was computed as a number of this interval."""
        return self if self.fits else _ANYTHING

    @property
    def number(self) -> int | None:
        """The number, if there is only one."""
        return self.low if self.low == self.high else None

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Interval) -> Interval:
        return _around(self, other, lambda a, b: a * b)

    def shifted(self, by: int) -> Interval:
        return Interval(self.low + by, self.high + by)


_ANYTHING = Interval()


def _around(x: Interval, y: Interval, function: Callable[[int, int], int]) -> Interval:
    """The values of a function that is monotonic in both arguments."""
    ends = [function(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return Interval(min(ends), max(ends))


@dataclass(frozen=True)
class LinearForm(Generic[Atom]):
    """constant + the sum of coefficient * atom. An atom represents a number: a value, or an operand's index."""

    constant: int = 0
    terms: Mapping[Atom, int] = field(default_factory=dict)

    def __class_getitem__(cls, _atoms: object) -> type[LinearForm[Any]]:
        """The class itself, so that `Sum(3)` is as fast as `LinearForm(3)`: an alias of `typing` tries to note itself
        on each instance, and here it only gets an exception."""
        return cls

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms.items())))

    @classmethod
    def of(cls, atom: Atom) -> LinearForm[Atom]:
        return cls(0, {atom: 1})

    @property
    def number(self) -> int | None:
        """The number that the form equals, if it has no terms."""
        return None if self.terms else self.constant

    @property
    def value(self) -> int | None:
        """The i64 computed as this form, if it has no terms."""
        return None if self.terms else (self.constant - LOWEST) % 2**64 + LOWEST

    @property
    def atom(self) -> Atom | None:
        """The atom that the form equals, if it is a single atom."""
        if self.constant or len(self.terms) != 1:
            return None
        ((atom, coefficient),) = self.terms.items()
        return atom if coefficient == 1 else None

    def plus(self, other: LinearForm[Atom], times: int = 1) -> LinearForm[Atom]:
        """self + times * other"""
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            terms[atom] = terms.get(atom, 0) + times * coefficient
        kept = {atom: coefficient for atom, coefficient in terms.items() if coefficient}
        return LinearForm(self.constant + times * other.constant, kept)

    def __add__(self, other: LinearForm[Atom]) -> LinearForm[Atom]:
        return self.plus(other)

    def __sub__(self, other: LinearForm[Atom]) -> LinearForm[Atom]:
        return self.plus(other, -1)

    def scaled(self, factor: int) -> LinearForm[Atom]:
        if not factor:
            return LinearForm()
        return LinearForm(self.constant * factor, {atom: own * factor for atom, own in self.terms.items()})

    def shifted(self, by: int) -> LinearForm[Atom]:
        return LinearForm(self.constant + by, self.terms)

    def floor_divided(self, divisor: int) -> LinearForm[Atom] | None:
        """The form divided by a positive number and rounded down, if that divides all its coefficients."""
        if any(coefficient % divisor for coefficient in self.terms.values()):
            return None
        terms = {atom: coefficient // divisor for atom, coefficient in self.terms.items()}
        return LinearForm(self.constant // divisor, terms)

    def without(self, atom: Atom) -> LinearForm[Atom]:
        return LinearForm(self.constant, {other: own for other, own in self.terms.items() if other is not atom})

    def put(self, form_of: Callable[[Atom], LinearForm[Other]]) -> LinearForm[Other]:
        """The form, with every atom replaced by a form."""
        result: LinearForm[Other] = LinearForm(self.constant)
        for atom, coefficient in self.terms.items():
            result = result.plus(form_of(atom), coefficient)
        return result

    def interval(self: LinearForm[Atom], interval_of: Callable[[Atom], Interval]) -> Interval:
        """The interval that contains the exact number."""
        low = high = self.constant
        for atom, coefficient in self.terms.items():
            ends = interval_of(atom)
            first, last = coefficient * ends.low, coefficient * ends.high
            low, high = low + min(first, last), high + max(first, last)
        return Interval(low, high)


Sum = LinearForm[int]
"""Sums of operands, by their indices."""


@dataclass(frozen=True)
class Integer:
    """What an op knows about its integer result; by default nothing.

    sum: the result is this sum of operands, modulo 2**64. interval: it contains the exact result. above, below: sums
    that are upper and lower bounds of the result. choices: the result is one of these operands. size: the result is the
    size of an operand along an axis. counted: the result is a count of elements of this array. quotient: the result is
    this sum of operands, divided by the number and rounded down.
    """

    sum: Sum | None = None
    interval: Interval = _ANYTHING
    above: tuple[Sum, ...] = ()
    below: tuple[Sum, ...] = ()
    choices: tuple[int, ...] = ()
    size: tuple[int, int] | None = None
    counted: SSAValue | None = None
    quotient: tuple[Sum, int] | None = None


Values = LinearForm[SSAValue]


class Proofs(Protocol):
    """What is known about integers at one point of a program."""

    def sum_of(self, value: SSAValue) -> Values:
        """The exact number of a value, as a form of earlier values."""
        ...

    def value_of(self, total: Values) -> SSAValue | None:
        """A value that equals a form where ops are emitted now: a known one, or else a new one of few ops."""
        ...

    def interval(self, value: SSAValue) -> Interval: ...

    def is_never_negative(self, total: Values) -> bool:
        """Whether total >= 0 is proved."""
        ...

    def fits(self, total: Values) -> bool:
        """Whether it is proved, or has been checked, that total fits in an i64."""
        ...

    def implied(self, condition: SSAValue, truth: bool) -> Sequence[Values]:
        """The forms that are not negative if a condition has this outcome."""
        ...

    def checked(self, condition: SSAValue) -> Sequence[Values]:
        """The forms that are not negative after a check of the condition has passed."""
        ...


UNKNOWN = Integer()
_X, _Y = Sum.of(0), Sum.of(1)
_FIRST, _SECOND = Integer(_X), Integer(_Y)
_SUM, _DIFFERENCE, _NEGATED = Integer(_X + _Y), Integer(_X - _Y), Integer(_X.scaled(-1))


@lru_cache(1024)
def constant(number: int) -> Integer:
    return Integer(Sum(number), Interval(number, number))


def same(_x: Interval) -> Integer:
    return _FIRST


def negated(_x: Interval) -> Integer:
    return _NEGATED


def total(_x: Interval, _y: Interval) -> Integer:
    return _SUM


def difference(_x: Interval, _y: Interval) -> Integer:
    return _DIFFERENCE


def product(x: Interval, y: Interval) -> Integer:
    if y.number is not None:
        return Integer(_X.scaled(y.number))
    return Integer(interval=x * y) if x.number is None else Integer(_Y.scaled(x.number))


def floor_quotient(x: Interval, y: Interval) -> Integer:
    if y.low < 1:
        return UNKNOWN
    interval = _around(x, y, lambda a, b: a // b)
    quotient = None if y.number is None else (_X, y.number)
    return Integer(None, interval, (_X,) if x.low >= 0 else (), (_X,) if x.high <= 0 else (), quotient=quotient)


def remainder(_x: Interval, y: Interval) -> Integer:
    """The remainder of floor division."""
    return UNKNOWN if y.low < 1 else Integer(interval=Interval(0, y.high - 1), above=(_Y.shifted(-1),))


def smallest(x: Interval, y: Interval) -> Integer:
    if x.high <= y.low or y.high <= x.low:
        return _FIRST if x.high <= y.low else _SECOND
    return Integer(interval=Interval(min(x.low, y.low), min(x.high, y.high)), above=(_X, _Y), choices=(0, 1))


def largest(x: Interval, y: Interval) -> Integer:
    if x.low >= y.high or y.low >= x.high:
        return _FIRST if x.low >= y.high else _SECOND
    return Integer(interval=Interval(max(x.low, y.low), max(x.high, y.high)), below=(_X, _Y), choices=(0, 1))


def masked(x: Interval, y: Interval) -> Integer:
    """`x & y` has some of the bits of each operand: it is at most any operand that is not negative. If one of them is
    negative, it is at most the other, less some of the bits that the first lacks."""
    bounds = [(sum_, own.high) for sum_, own, other in ((_X, x, y), (_Y, y, x)) if own.low >= 0 or other.high < 0]
    if not bounds:
        return UNKNOWN
    above, high = tuple(sum_ for sum_, _ in bounds), min(high for _, high in bounds)
    below = ((_X + _Y).shifted(1),) if min(x.high, y.high) < 0 else ()
    low = 0 if max(x.low, y.low) >= 0 else max(x.low + y.low + 1, LOWEST)
    return Integer(None, Interval(low, high), above, below)


def selected(condition: Interval, x: Interval, y: Interval) -> Integer:
    if condition.number is not None:
        return Integer(Sum.of(1 if condition.number else 2))
    return Integer(interval=x.hull(y), choices=(1, 2))


def wrapped_index(index: Interval, size: Interval) -> Integer:
    """The index, or the index plus the size if it is negative. It need not be in range."""
    if index.low >= 0 or index.high < 0:
        return _FIRST if index.low >= 0 else _SUM
    return Integer(interval=Interval(0, index.high).hull(Interval(index.low + size.low, size.high - 1)))


def checked_index(index: Interval, size: Interval) -> Integer:
    """The wrapped index, which is in range."""
    in_range = Interval(0, max(min(size.high, HIGHEST) - 1, 0))
    return Integer(wrapped_index(index, size).sum, in_range, above=(_Y.shifted(-1),))


def size_along(axis: int) -> Integer:
    return Integer(interval=Interval(0, LARGEST_SIZE), size=(0, axis))
