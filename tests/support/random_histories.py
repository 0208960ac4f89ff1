"""Programs that append to lists in loops, from seeds: what Python does with them, or a refusal.

`history(seed)` is a function of an array of three floats, a float and a number of trips.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# The appended values, by the kind of the list.
NUMBERS = ("x", "x * i", "np.sin(x)", "y[0]", "float(i) * x", "y[i % 3] + x", "np.sum(y)")
ARRAYS = ("y", "y * x", "y.copy()", "np.cos(y) * 0.5", "y[::-1] * 1.0", "row", "np.array([x, y[1], 0.5])")
PAIRS = ("(x, y[0])", "(0.1 * i, x)", "[x, y[2]]")
PARTS = ("(x, y)", "(i, y * x)", "(np.sin(x), y.copy())")
KINDS = {"number": NUMBERS, "array": ARRAYS, "pair": PAIRS, "part": PARTS}


@dataclass
class Writer:
    rng: random.Random
    lists: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def element(self, name: str) -> str:
        kind = self.lists[name]
        choices = KINDS[kind]
        if kind == "pair":  # a list and a tuple are not of one type
            choices = PAIRS[:2] if name != "h0" else PAIRS[2:]
        if kind == "part":
            choices = PARTS[::2] if name != "h0" else PARTS[1:2]
        return self.rng.choice(choices)

    def append(self, depth: int) -> None:
        name = self.rng.choice(sorted(self.lists))
        element = self.element(name)
        way = self.rng.randrange(6)
        if way == 0:
            self.add(depth, f"{name} += [{element}]")
        elif way == 1:
            self.add(depth, f"record({name}, {element})")
        else:
            self.add(depth, f"{name}.append({element})")

    def step(self, depth: int) -> None:
        """A statement that changes the state or reads a list."""
        name = self.rng.choice(sorted(self.lists))
        steps = [
            "x = x + 0.1 * np.sin(x)",
            "y = y + 0.1 * np.cos(y)",
            "y = y * 0.9",
            "x = 0.5 * x + 0.1 * i",
            "row = y * 2.0",
            f"x = x + 0.01 * len({name})",
        ]
        if self.lists[name] == "number":
            steps += [f"x = 0.3 * {name}[-1] + x if {name} else x", f"if len({name}) > 2: {name}[1] = {name}[0] * 0.5"]
        if self.lists[name] == "array":
            steps += [
                f"if len({name}) > 0: y = 0.5 * {name}[-1] + 0.1 * y",
                f"if len({name}) > 3: x = x + {name}[i % 3][1]",
            ]
        if self.lists[name] == "pair":
            steps += [f"if {name}: x = 0.5 * x + 0.2 * {name}[-1][1]"]
        if self.rng.random() < 0.12:
            steps = ["row[1] = x", "y[0] = 0.5 * x", f"if len({name}) > 4: {name}.pop()", "y += 0.1"]
        self.add(depth, self.rng.choice(steps))

    def body(self, depth: int, level: int) -> None:
        for _ in range(self.rng.randrange(1, 3)):
            self.step(depth)
        for _ in range(self.rng.randrange(1, 3)):
            shape = self.rng.random()
            if shape < 0.25:
                self.add(depth, self.rng.choice(["if x > 0.4:", "if i % 2 == 0:", "if y[0] < x:"]))
                self.append(depth + 1)
                if self.rng.random() < 0.5:
                    self.add(depth, "else:")
                    self.rng.choice([self.append, self.step])(depth + 1)
            elif shape < 0.4 and level < 2:
                self.add(
                    depth, self.rng.choice(["for i in range(3):", "for i in range(i):", "for i in range(n // 2):"])
                )
                self.body(depth + 1, level + 1)
            elif shape < 0.5:
                self.add(depth, self.rng.choice(["if x > 3.0: break", "if i == 4: continue", "if x > 2.5: continue"]))
                self.append(depth)
            else:
                self.append(depth)

    def loop(self, depth: int) -> None:
        if self.rng.random() < 0.25:
            self.add(depth, "w = 0")
            self.add(depth, "while w < 9 and x < 4.0:")
            self.add(depth + 1, "i = w = w + 1")
            self.add(depth + 1, "x = x + 0.05")
        else:
            self.add(depth, self.rng.choice(["for i in range(n):", "for i in range(7):", "for i in range(1, n + 2):"]))
        self.body(depth + 1, 1)

    def results(self) -> str:
        parts = ["x", "np.sum(y)"]
        for name, kind in self.lists.items():
            parts += [f"len({name})"]
            if kind == "number":
                parts += [
                    f"np.sum(np.array({name}) ** 2)",
                    f"sum({name})",
                    f"total({name})",
                ]
            elif kind == "array":
                parts += [f"(np.sum(np.stack({name})) if {name} else 0.0)", f"arrays({name})"]
                parts += [f"(np.sum({name}[-1] * {name}[0]) if {name} else 0.0)"]
            elif kind == "pair":
                parts += [f"(np.sum(np.array({name})[:, 1]) if {name} else 0.0)", f"pairs({name})"]
            else:
                parts += [f"sum_of_parts({name})"]
        chosen = [part for part in parts if self.rng.random() < 0.7]
        return " + ".join(["0.0 * x", *chosen])

    def written(self) -> str:
        for number in range(self.rng.randrange(1, 4)):
            self.lists[f"h{number}"] = self.rng.choice(["number", "array", "array", "pair", "part", "number"])
        self.add(0, PRELUDE)
        self.add(0, "def f(y, x, n):")
        self.add(1, "row = y * 1.5")
        self.add(1, "i = 2")
        for name, kind in self.lists.items():
            start = self.element(name) if self.rng.random() < 0.4 and kind != "number" else ""
            self.add(1, f"{name} = [{start}]")
        for _ in range(self.rng.randrange(1, 3)):
            self.loop(1)
            if self.rng.random() < 0.3:
                self.append(1)
        self.add(1, f"return {self.results()}")
        return "\n".join(self.lines) + "\n"


PRELUDE = """\
import numpy as np

def record(history, value):
    history.append(value)

def total(history):
    s = 0.0
    for k, v in enumerate(history):
        s = s + (k + 1) * v
    return s

def arrays(history):
    s = 0.0
    for k in range(len(history)):
        s = s + np.sum(history[k]) * (k + 1)
    return s

def pairs(history):
    s = 0.0
    for a, b in history:
        s = s + a * b
    return s

def sum_of_parts(history):
    s = 0.0
    for a, v in reversed(history):
        s = s * 0.9 + a * np.sum(v)
    return s
"""


def text(seed: int) -> str:
    return Writer(random.Random(seed)).written()


def history(seed: int) -> Callable[..., Any]:
    source, name = text(seed), f"<history {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "__name__": f"history_{seed}"}
    exec(compile(source, name, "exec"), space)
    return space["f"]
