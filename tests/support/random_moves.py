"""Loops that hand arrays on, from seeds: names and items that refer to one array or another, moved and swapped.

`moves(seed)` is a Moves. Its function takes (x, y, n): two arrays of three floats, which it may write, and the number
of trips. What it gives depends on which names are one array, as it writes them afterwards.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HOLDERS = ("names", "list", "dict")


@dataclass(frozen=True)
class Moves:
    seed: int
    holder: str
    text: str
    function: Callable[..., Any]
    loops: int


def moves(seed: int, size: int | None = None) -> Moves:
    """A loop from a seed; size: how many arrays it hands on, if that is not drawn."""
    rng = random.Random(f"moves {seed}")
    drawn = rng.randint(2, 5)
    writer = _Writer(rng, size or drawn, rng.choice(HOLDERS))
    text = writer.text()
    name = f"<moves {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {}
    exec(compile(text, name, "exec"), scope)
    return Moves(seed, writer.holder, text, scope["f"], text.count("for ") + text.count("while "))


@dataclass
class _Writer:
    rng: random.Random
    count: int
    holder: str

    def name(self, number: int) -> str:
        return {"names": f"s{number}", "list": f"s[{number}]", "dict": f"s['k{number}']"}[self.holder]

    def any(self) -> str:
        return self.name(self.rng.randrange(self.count))

    def text(self) -> str:
        firsts = [self.first() for _ in range(self.count)]
        lines = ["zero = np.zeros(3)", "table = np.outer(x, y)", "flag = 0.0"]
        match self.holder:
            case "names":
                lines += [f"s{k} = {first}" for k, first in enumerate(firsts)]
            case "list":
                lines.append(f"s = [{', '.join(firsts)}]")
            case _:
                items = ", ".join(f"'k{k}': {first}" for k, first in enumerate(firsts))
                lines.append(f"s = {{{items}}}")
        body = self.statements(1)
        if self.rng.random() < 0.3:
            body = ["for j in range(2):", *_indented(body), *self.statements(0)]
        if self.rng.random() < 0.3:
            lines += ["i = 0", "while i < n:", *_indented([*body, "i += 1"])]
        else:
            lines += ["for i in range(n):", *_indented(body)]
        if self.rng.random() < 0.7:
            lines += [f"{self.any()}[{self.rng.randrange(3)}] += 0.5", f"{self.any()}[1] *= 0.75"]
        total = " + ".join(f"{k + 1} * np.sum({self.name(k)} * {self.name(k)})" for k in range(self.count))
        lines.append(f"return {total} + np.sum(table) + flag")
        return "import numpy as np\nSTART = np.array([0.5, -0.25, 1.0])\n\ndef f(x, y, n):\n" + "\n".join(
            [*_indented(lines), ""]
        )

    def first(self) -> str:
        return self.rng.choice(("zero", "zero", "x", "y", "START", "table[0]", "table[1]", "x[::-1]", "2.0 * y"))

    def value(self) -> str:
        return self.rng.choice(
            (
                f"0.5 * {self.any()} + 0.25 * {self.any()}",
                f"{self.any()} - 0.125",
                f"np.sin({self.any()})",
                "START",
                "x",
                f"{self.any()}.copy()",
            )
        )

    def statements(self, depth: int) -> list[str]:
        found: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            found += self.statement(depth)
        return found

    def statement(self, depth: int) -> list[str]:
        kind = self.rng.randrange(8 if depth else 6)
        if kind == 0:
            order = list(range(self.count))
            return [f"{self.name(k)} = {self.name(k - 1)}" for k in reversed(order[1:])] + [
                f"{self.name(0)} = {self.value()}"
            ]
        if kind == 1:
            names = [self.name(k) for k in range(self.count)]
            return [f"{', '.join(names)} = {', '.join([self.value(), *names[:-1]])}"]
        if kind == 2:
            a, b = self.any(), self.any()
            return [f"{a}, {b} = {b}, {a}"]
        if kind == 3:
            return [f"{self.any()} = {self.any()}"]
        if kind == 4:
            return [f"{self.any()} = {self.value()}"]
        if kind == 5:
            return [f"flag = flag + 0.5 * {self.any()}[0]"]
        test = self.rng.choice(("i % 2 == 0", f"{self.any()}[0] < 0.4", "i == 1"))
        found = [f"if {test}:", *_indented(self.statements(depth - 1))]
        if kind == 7:
            found += ["else:", *_indented(self.statements(depth - 1))]
        return found


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
