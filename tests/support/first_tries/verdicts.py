"""The verdicts on first-try programs: `make first-tries` writes the page of verdicts.

Reads: programs. Writes: docs/verification/first-tries.md, if asked. Leaves: verdicts: right, missing (a function that
NumPy has and mlirad has not yet), refused, or wrong.
"""

from __future__ import annotations

import copy
import importlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from first_tries.program import Program
from mlirad.errors import CompileError
from mlirad.testing.grammar.judge import difference
from mlirad.testing.programs.oracle import slope

PAGE = Path(__file__).resolve().parents[3] / "docs" / "verification" / "first-tries.md"

_FIELDS = ("physics", "statistics", "learning", "robotics", "signals")
SETS = {"The first sixty": _FIELDS, "The second sixty": tuple(f"{field}_2" for field in _FIELDS)}
"""Files of programs, by the title of their table."""


@dataclass(frozen=True)
class Verdict:
    kind: str
    why: str = ""


def programs(files: tuple[str, ...]) -> list[Program]:
    return [each for file in files for each in importlib.import_module(f"first_tries.{file}").PROGRAMS]


def verdict(program: Program) -> Verdict:
    """Its value against plain Python, then its gradient against differences."""
    expected, given = program.arguments(), program.arguments()
    want, got = outcome(program.function, expected), outcome(mlirad.jit(program.function), given)
    if isinstance(got, CompileError):
        return refusal(got)
    if isinstance(want, Exception) or isinstance(got, Exception):
        same = type(want) is type(got)
        return Verdict("right" if same else "wrong", "" if same else f"{got!r}, not {want!r}")
    if why := difference(want, got):
        return Verdict("wrong", why)
    return _gradient(program) if program.wrt else Verdict("right")


def outcome(function: Callable[..., Any], arguments: list[Any]) -> Any:
    """The result of a call, or its exception."""
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except Exception as error:
        return error


def refusal(error: CompileError) -> Verdict:
    missing = re.match(r"(\S+|the method \S+) is not supported", error.message)
    return Verdict("missing" if missing else "refused", missing[1] if missing else error.message.split("\n")[0])


def doubles(value: Any) -> Iterator[Any]:
    """The doubles in a tree of arguments, in order."""
    if isinstance(value, dict):
        for item in value.values():
            yield from doubles(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from doubles(item)
    else:
        yield value


def moved(value: Any, directions: Iterator[Any], step: float) -> Any:
    """The tree, its doubles moved along directions of the same order."""
    if isinstance(value, dict):
        return {key: moved(item, directions, step) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [moved(item, directions, step) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)  # a named tuple takes each
    return value + step * next(directions)


def _gradient(program: Program) -> Verdict:
    function = program.function

    def loss(*arguments: Any) -> Any:
        result = function(*arguments)
        if not isinstance(result, tuple):
            return np.sum(result)
        total = 0.0
        for part in result:
            total = total + np.sum(part)
        return total

    rng = np.random.default_rng(7)
    leaves = [leaf for k in program.wrt for leaf in doubles(program.arguments()[k])]
    directions = [rng.uniform(-1, 1, np.shape(leaf)) for leaf in leaves]

    def along(step: float) -> float:
        arguments, ordered = program.arguments(), iter(directions)
        for k in program.wrt:
            arguments[k] = moved(arguments[k], ordered, step)
        found = outcome(loss, copy.deepcopy(arguments))
        return math.nan if isinstance(found, Exception) else float(found)

    expected = slope(along)
    got = outcome(mlirad.grad(loss, argnums=program.wrt), program.arguments())
    if isinstance(got, CompileError):
        return refusal(got)
    if isinstance(got, Exception):
        return Verdict("wrong", f"gradient: {got!r}")
    if expected is None:
        return Verdict("right", "no gradient: a kink")
    found = sum(float(np.sum(g * d)) for g, d in zip(doubles(got), directions, strict=True))
    if abs(found - expected) > 2e-5 * (1 + abs(expected)):
        return Verdict("wrong", f"gradient: {found}, not {expected}")
    return Verdict("right")


HEAD = """# First tries: programs written without the compiler in mind

These programs are plain NumPy from five fields: physics, statistics, machine learning, robotics and signal processing
(`tests/support/first_tries/`). The second sixty were written after the bugs that the first sixty had found were fixed. None is
adapted to mlirad. `make first-tries` writes this page, and
`tests/unit/programs/test_first_tries.py` checks it. *right*: value and gradient agree with plain NumPy and with
differences. *missing*: a function of NumPy or SciPy that mlirad does not have yet. *refused*: anything else that is not
compiled, refused at its line. *wrong*: never.
"""


def row(program: Program, found: Verdict) -> str:
    """A line of the page."""
    return f"| {program.name} | {found.kind} | {found.why.replace('|', '/')} |"


def page(sets: dict[str, tuple[str, ...]]) -> str:
    """The page: a table for each set of programs, after its counts."""
    parts = [HEAD]
    for title, files in sets.items():
        found = [(program, verdict(program)) for program in programs(files)]
        counts = Counter(each.kind for _, each in found)
        told = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        parts.append(f"## {title}\n\n{len(found)} programs: {told}.\n\n| program | verdict | |\n|---|---|---|")
        parts.append("\n".join(row(program, each) for program, each in found) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(SETS))
