"""Writes one function: its lines, what is in scope where, and which statement comes next.

Reads: weights of statements, and statements that must occur. Writes: lines. Leaves: the statements themselves to
the files of the folder statements and random_functions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from mlirad.testing.programs.kinds import Array, Float, Int, Kind, Several
from mlirad.testing.programs.random_expressions import Expressions

NESTED = frozenset({
    "branch", "callback", "closure", "count", "early", "enumerated", "flag", "leave", "maybe", "over", "rows", "skip",
    "until", "zipped", "tossed", "repeated", "kept", "stepped", "undone", "march", "row by row", "point by point",
    "sweep", "convolved", "heaped", "placed", "tried",
})  # fmt: skip
IN_LOOPS = frozenset({"leave", "skip"})
DEPTH = 4


@dataclass(frozen=True)
class Helper:
    """A function beside the main one: `recursive` ones take a depth as the last argument."""

    name: str
    parameters: tuple[Kind, ...]
    result: Kind | None
    recursive: bool = False


_WRITERS: dict[str, Callable[[Writer], None]] = {}


def writes(kind: str) -> Callable[[Callable[[Writer], None]], Callable[[Writer], None]]:
    """The function writes statements of a kind."""

    def enter(write: Callable[[Writer], None]) -> Callable[[Writer], None]:
        _WRITERS[kind] = write
        return write

    return enter


class Writer:
    """`frozen`: names that only their loop may change. `planned`: statements that must still occur."""

    def __init__(self, rng: Random, weights: dict[str, int], helpers: list[Helper], planned: list[str]):
        self.rng = rng
        self.weights = weights
        self.helpers = helpers
        self.planned = planned
        self.expressions = Expressions(rng, {}, smooth=rng.choice([0.0, 0.1, 0.25]))
        self.lines: list[str] = []
        self.depth = 0
        self.loops = 0
        self.budget = 0
        self.frozen: set[str] = set()
        self.count = 0
        self.is_main = False

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self) -> Iterator[None]:
        """A block: names that are bound inside are not visible after it."""
        before, frozen = dict(self.expressions.scope), set(self.frozen)
        self.depth += 1
        yield
        self.depth -= 1
        self.expressions.scope, self.frozen = before, frozen

    @contextmanager
    def function(self) -> Iterator[None]:
        """The body of a nested function: the loops around it do not belong to it."""
        loops, is_main, self.loops, self.is_main = self.loops, self.is_main, 0, False
        with self.block():
            yield
        self.loops, self.is_main = loops, is_main

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # Names and places to write to.

    def held(self, kind: Kind) -> list[str]:
        """The names that may be bound to a value of this kind."""
        return [n for n, k in self.expressions.scope.items() if k == kind and n not in self.frozen]

    def targets(self) -> list[tuple[str, Kind]]:
        """Places that may be bound again: names, and items of lists, dicts and dataclasses."""
        found: list[tuple[str, Kind]] = []
        for name, kind in self.expressions.scope.items():
            if isinstance(kind, Several):
                parts = [] if kind.holder == "tuple" else enumerate(kind.items)
                found += [(kind.path(name, number), item) for number, item in parts]
            elif name not in self.frozen and not isinstance(kind, Int):
                found.append((name, kind))
        return found

    def target(self, kind: Kind, prefix: str) -> str:
        """A place for a value of this kind: a new name, or one that holds such a value."""
        held = [place for place, k in self.targets() if k == kind] or self.held(kind)
        if held and (self.depth > 1 or self.rng.random() < 0.3) and self.rng.random() < 0.6:
            return self.rng.choice(held)
        return self.fresh(prefix)

    def define(self, name: str, kind: Kind, value: str) -> None:
        """Bind a name, which the next statements may read."""
        self.line(f"{name} = {value}")
        self.expressions.scope[name] = kind

    def bind(self, kind: Kind, prefix: str, value: str) -> str:
        name = self.target(kind, prefix)
        self.line(f"{name} = {value}")
        if name.isidentifier():
            self.expressions.scope[name] = kind
        return name

    def numbers(self) -> list[str]:
        return [place for place, kind in self.targets() if isinstance(kind, Float)]

    def vectors(self) -> list[tuple[str, int]]:
        return [(name, shape[0]) for name, shape in self.expressions.arrays() if len(shape) == 1]

    def matrices(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(name, shape) for name, shape in self.expressions.arrays() if len(shape) == 2]

    def updatable(self) -> list[tuple[str, tuple[int, ...]]]:
        """Arrays for which `x += 1` is allowed: not items of tuples, and not arrays that belong to a loop."""
        places = [(place, kind) for place, kind in self.targets() if isinstance(kind, Array)]
        return [(place, kind.shape) for place, kind in places if kind.dtype == "float64"]

    # Which statement.

    def statement(self) -> None:
        self.budget -= 1
        fits = [kind for kind in self.planned if self.is_possible(kind)]
        if fits and self.rng.random() < 0.6:
            self.planned.remove(fits[0])
            return self.write(fits[0])
        weights = {kind: weight for kind, weight in self.weights.items() if self.is_possible(kind)}
        if self.budget < 0:
            weights = {kind: weight for kind, weight in weights.items() if kind not in NESTED}
        if not weights:
            return self.write("element")
        return self.write(self.rng.choices(list(weights), list(weights.values()))[0])

    def is_possible(self, kind: str) -> bool:
        if kind in IN_LOOPS and not self.loops:
            return False
        if kind == "early" and not self.is_main:
            return False
        return self.depth < DEPTH or kind not in NESTED

    def write(self, kind: str) -> None:
        _WRITERS[kind](self)

    def body(self) -> None:
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3])):
            self.statement()

    def write_something(self) -> None:
        """A write to an array."""
        self.write(self.rng.choice(["element", "element", "update", "slice"]))
