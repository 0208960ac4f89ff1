"""Time loops over coupled states, from seeds: compartment models, delay lines and networks of small arrays.

`model(seed)` is a Model. Its function takes (q, dt, n): two floats and the number of trips. Every state depends on
others, by a chain, ring, tree or at random, so that a static start becomes traced only after as many trips.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NUMBERS = ("names", "list", "dict", "dataclass", "tuple", "namedtuple")
ARRAYS = ("rows", "columns", "swap", "shared", "list of arrays", "dict of arrays", "dataclass of arrays")
HOLDERS = (*NUMBERS, *ARRAYS)
COUPLINGS = ("chain", "ring", "tree", "random", "dense", "delay", "delay", "against")
BODIES = ("plain", "if", "move if", "inner for", "inner while", "expression")
HEAD = """\
import collections, dataclasses, math
import numpy as np
"""


@dataclass(frozen=True)
class Model:
    """holder: where its states are, numbers or ARRAYS. coupling: "against" is a chain against the order of the body,
    along which Python's numbers become NumPy's. body: of "move if" the states change in some trips. loops: how many it
    has."""

    seed: int
    size: int
    holder: str
    coupling: str
    body: str
    loop: str
    text: str
    function: Callable[[float, float, int], Any]
    loops: int


def model(
    seed: int,
    size: int | None = None,
    holder: str | None = None,
    coupling: str | None = None,
    body: str | None = None,
    starts: str | None = None,
) -> Model:
    """A model from a seed; what is given is not drawn."""
    rng = random.Random(seed)
    count = size or rng.choice((2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 12, 16, 16, 24, 32, 48, 64))
    drawn = rng.choice(HOLDERS), rng.choice(COUPLINGS), rng.choice(BODIES)
    writer = _Writer(rng, count, holder or drawn[0], coupling or drawn[1], body or drawn[2])
    writer.kind = starts or rng.choice(("zeros", "ints", "mixed", "mixed"))
    writer.loop = rng.choice(("for traced", "for known", "while"))
    text = writer.text()
    name = f"<model {seed} {count}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    loops = 1 + writer.body.startswith("inner")
    return Model(seed, count, writer.holder, writer.coupling, writer.body, writer.loop, text, scope["f"], loops)


@dataclass
class _Writer:
    rng: random.Random
    count: int
    holder: str
    coupling: str
    body: str
    loop: str = ""
    kind: str = ""

    @property
    def is_array(self) -> bool:
        return self.holder in ARRAYS

    def text(self) -> str:
        names = [f"s{k}" for k in range(self.count)]
        head, start, self.read = self.held(names)
        lines = [*head, "def f(q, dt, n):", *(f"    {line}" for line in start)]
        length = "n" if self.loop != "for known" else "307"
        if self.loop == "while":
            lines += ["    i = 0", "    while i < n:"]
        else:
            lines.append(f"    for i in range({length}):")
        lines += [f"        {line}" for line in self.step(names)]
        if self.loop == "while":
            lines.append("        i += 1")
        total = " + ".join(f"{0.5 + 0.25 * (k % 3)} * {read}" for k, read in enumerate(self.read))
        lines.append(f"    return np.sum({total})" if self.is_array else f"    return {total}")
        return HEAD + "\n".join(lines) + "\n"

    def first(self, number: int) -> str:
        """The initial value of a state: static, from the arguments, or captured."""
        if self.is_array and self.body == "move if":
            # All of one kind: a mixture of arrays from around the function and others is not followed through an if.
            return ("np.zeros(3)", "START", "q * np.ones(3)")[self.count % 3]
        if self.is_array:
            return self.rng.choice(("np.zeros(3)", "START", "q * np.ones(3)", "np.array([0.0, 0.1, 0.2])"))
        if self.kind == "zeros":
            return "0.0"
        if self.kind == "ints":
            return "0"
        return self.rng.choice(("0.0", "0", "1", "0.125", "q", "FIRST", "-0.5"))

    def held(self, names: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Definitions around the function, what it begins with, and how each state is read."""
        firsts = [self.first(k) for k in range(self.count)]
        head = ["START = np.array([0.0, 0.25, 0.5])", "FIRST = 0.0"]
        joined = ", ".join(firsts)
        match self.holder.removesuffix(" of arrays"):
            case "names":
                if self.kind != "mixed":
                    return head, [f"{' = '.join(names)} = {firsts[0]}"], names
                return head, [f"{name} = {first}" for name, first in zip(names, firsts, strict=True)], names
            case "list" | "tuple":
                opening, closing = "[]" if self.holder.startswith("list") else ("(", ",)")
                return head, [f"s = {opening}{joined}{closing}"], [f"s[{k}]" for k in range(self.count)]
            case "dict":
                pairs = ", ".join(f"{name!r}: {first}" for name, first in zip(names, firsts, strict=True))
                return head, [f"s = {{{pairs}}}"], [f"s[{name!r}]" for name in names]
            case "dataclass":
                head += ["@dataclasses.dataclass", "class State:", *(f"    {name}: float" for name in names)]
                return head, [f"s = State({joined})"], [f"s.{name}" for name in names]
            case "namedtuple":
                head.append(f"State = collections.namedtuple('State', {names!r})")
                return head, [f"s = State({joined})"], [f"s.{name}" for name in names]
            case "rows":
                start = [f"table = 0.1 * np.arange({3.0 * self.count}).reshape({self.count}, 3) * q"]
                return head, [*start, *(f"{name} = table[{k}]" for k, name in enumerate(names))], names
            case "columns":
                start = [f"table = 0.1 * np.arange({3.0 * self.count}).reshape(3, {self.count}) * q"]
                return head, [*start, *(f"{name} = table[:, {k}]" for k, name in enumerate(names))], names
            case "shared":
                return head, [f"{' = '.join(names)} = {firsts[0]}"], names
        return head, [f"{name} = {first}" for name, first in zip(names, firsts, strict=True)], names

    def sources(self, number: int) -> list[int]:
        """The states that the next value of a state is made of."""
        match self.coupling:
            case "chain" | "delay" | "against":
                return [max(number - 1, 0)]
            case "ring":
                return [(number - 1) % self.count]
            case "tree":
                return [(number - 1) // 2 if number else 0]
            case "dense" if self.count <= 12:
                return list(range(self.count))
        return self.rng.sample(range(self.count), min(2, self.count))

    def update(self, number: int) -> str:
        own = self.read[number]
        others = [self.read[k] for k in self.sources(number)]
        if self.coupling == "delay":
            return f"q + 0.25 * {self.read[-1]}" if not number else others[0]
        flow = " + ".join(others)
        if self.coupling == "against":
            drive = "q * np.cos(dt)"
            return f"{own} * 0.5 + {others[0] if number else drive} * 0.25"
        forms = [
            f"{own} + dt * ({flow} - {own})",
            f"{own} + dt * ({flow}) * (1.0 - {own})",
            f"0.5 * {own} + 0.25 * np.sin({flow})",
        ]
        drive = "dt * q + " if not number else ""
        return drive + self.rng.choice(forms)

    def step(self, names: list[str]) -> list[str]:
        news = [self.update(k) for k in range(self.count)]
        lines: list[str] = []
        if self.body == "inner for":
            lines.append("for _ in range(2):")
        elif self.body == "inner while":
            lines += ["left = 2", "while left > 0:"]
        inner = self.assigned(names, news)
        if self.body == "inner while":
            inner.append("left -= 1")
        if self.body == "move if":
            first = f"{self.read[0]}[0]" if self.is_array else self.read[0]
            return [f"if {self.rng.choice(('i % 3 != 1', f'{first} < 0.75'))}:", *_indented(inner)]
        if self.body == "if":
            first = f"{self.read[0]}[0]" if self.is_array else self.read[0]
            other = self.assigned(names, [f"0.875 * ({new})" for new in news])
            return [f"if {first} < 0.75:", *_indented(inner), "else:", *_indented(other)]
        return [*lines, *_indented(inner)] if lines else inner

    def assigned(self, names: list[str], news: list[str]) -> list[str]:
        """The statements that give every state its next value, all at once or one after the other."""
        joined = ", ".join(news)
        at_once = self.coupling == "delay" or (self.coupling != "against" and self.rng.random() < 0.5)
        match self.holder.removesuffix(" of arrays"):
            case "list" if at_once:
                return [f"s = [{joined}]"]
            case "tuple":
                return [f"s = ({joined},)"]
            case "namedtuple":
                return [f"s = State({joined})"]
            case "dataclass" if at_once:
                return [f"s = State({joined})"]
        if at_once:
            return [f"{', '.join(self.read)} = {joined}"]
        order = list(range(self.count))[:: -1 if self.coupling == "against" else self.rng.choice((1, -1))]
        return [f"{self.read[k]} = {news[k]}" for k in order]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
