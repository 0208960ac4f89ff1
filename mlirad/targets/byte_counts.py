"""Byte counts that depend on numbers known only at run time: polynomials in them, with min and max.

Reads: nothing. Writes: nothing. Leaves: `ByteCount`, which targets build and `memory.MemoryReport` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt


@dataclass(frozen=True, order=True)
class Unknown:
    """A number known only at run time: a trip count ("trips(12)", with its line), a size, an argument."""

    name: str

    def __str__(self) -> str:
        return self.name


def _doubled(first: int, least: int) -> int:
    while first < least:
        first *= 2
    return first


def _ceil_sqrt(n: int) -> int:
    return 1 if n <= 1 else isqrt(n - 1) + 1


_FUNCTIONS: dict[str, Callable[..., int]] = {
    "max": max,
    "min": min,
    "ceil_div": lambda n, k: -(-n // k) if k else 0,
    "ceil_sqrt": _ceil_sqrt,
    "doubled": _doubled,
}


@dataclass(frozen=True)
class Applied:
    """A function of byte counts: max, min, ceil_div, ceil_sqrt (at least 1), doubled (a until it is at least b)."""

    function: str
    arguments: tuple[ByteCount, ...]

    @property
    def weight(self) -> int:
        return 1 + sum(each.weight for each in self.arguments)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


Atom = Unknown | Applied
_Terms = tuple[tuple[tuple[Atom, ...], int], ...]


@dataclass(frozen=True)
class ByteCount:
    """A sum of products, of bytes or of anything else that is counted; at run time no term is negative."""

    terms: _Terms = ()

    @staticmethod
    def of(value: int | Atom) -> ByteCount:
        if isinstance(value, int):
            return ByteCount((((), value),) if value else ())
        return ByteCount((((value,), 1),))

    @property
    def static(self) -> int | None:
        """The number, if it is known at compile time."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The names of the numbers that it depends on."""
        return tuple(sorted({unknown.name for unknown in self._unknowns()}))

    @property
    def weight(self) -> int:
        """The number of unknowns and functions in it."""
        return sum(1 if isinstance(atom, Unknown) else atom.weight for atoms, _ in self.terms for atom in atoms)

    def _unknowns(self) -> Iterator[Unknown]:
        for atoms, _ in self.terms:
            for atom in atoms:
                if isinstance(atom, Unknown):
                    yield atom
                else:
                    for argument in atom.arguments:
                        yield from argument._unknowns()

    def at(self, values: int | Mapping[str, int] | None = None) -> int:
        """The number for given `values` of the unknowns, by name; or for one value of all of them.

        Raises KeyError for an unknown that `values` lacks.
        """
        total = 0
        for atoms, factor in self.terms:
            for atom in atoms:
                factor *= _value(atom, {} if values is None else values)
            total += factor
        return total

    def __add__(self, other: ByteCount | int) -> ByteCount:
        return _sum((*self.terms, *_counted(other).terms))

    def __mul__(self, other: ByteCount | int) -> ByteCount:
        products = [
            (tuple(sorted((*ours, *theirs), key=str)), a * b)
            for ours, a in self.terms
            for theirs, b in _counted(other).terms
        ]
        return _sum(products)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: ByteCount | int) -> ByteCount:
        return self + _counted(other) * -1

    def covers(self, other: ByteCount) -> bool:
        """Whether this is certainly at least the other one."""
        return all(factor >= 0 for _, factor in (self - other).terms)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        return " + ".join(
            " * ".join([*([f"{factor:,}"] if factor != 1 or not atoms else []), *map(str, atoms)])
            for atoms, factor in sorted(self.terms, key=lambda term: (-len(term[0]), str(term[0])))
        ).replace("+ -", "- ")

    __repr__ = __str__


def _sum(terms: Sequence[tuple[tuple[Atom, ...], int]]) -> ByteCount:
    found: dict[tuple[Atom, ...], int] = {}
    for atoms, factor in terms:
        found[atoms] = found.get(atoms, 0) + factor
    return ByteCount(tuple((atoms, factor) for atoms, factor in found.items() if factor))


def _counted(value: ByteCount | int) -> ByteCount:
    return ByteCount.of(value) if isinstance(value, int) else value


def _value(atom: Atom, values: int | Mapping[str, int]) -> int:
    if isinstance(atom, Applied):
        return _FUNCTIONS[atom.function](*(each.at(values) for each in atom.arguments))
    return values if isinstance(values, int) else values[atom.name]


def applied(function: str, *arguments: ByteCount) -> ByteCount:
    """A function of byte counts, evaluated at once if they are static."""
    known = [each.static for each in arguments]
    if None not in known:
        return ByteCount.of(_FUNCTIONS[function](*known))
    return ByteCount.of(Applied(function, arguments))


def largest(*counts: ByteCount) -> ByteCount:
    """The largest of them. A count that is never larger than another one is dropped."""
    kept: list[ByteCount] = []
    for each in (part for count in counts for part in _maxima(count)):
        if not any(other.covers(each) for other in kept):
            kept = [*(other for other in kept if not each.covers(other)), each]
    return kept[0] if len(kept) == 1 else ByteCount.of(Applied("max", tuple(kept))) if kept else ByteCount()


def _maxima(count: ByteCount) -> tuple[ByteCount, ...]:
    if len(count.terms) == 1 and count.terms[0][1] == 1 and len(count.terms[0][0]) == 1:
        (atom,) = count.terms[0][0]
        if isinstance(atom, Applied) and atom.function == "max":
            return atom.arguments
    return (count,)


def bound_of(*counts: ByteCount) -> ByteCount:
    """A simple upper bound of all of them: the sum of their largest terms."""
    found: dict[tuple[Atom, ...], int] = {}
    for count in counts:
        for atoms, factor in count.terms:
            found[atoms] = max(found.get(atoms, 0), factor)
    return _sum(tuple(found.items()))
