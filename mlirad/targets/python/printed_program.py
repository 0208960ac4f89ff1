"""Prints a module as one Python program.

Reads: a module of stage `optimized`, which is consumed. Writes: source text, and further data that calls of it need.
Leaves: a `Program`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64

from mlirad.analysis.call_graph import calls_in, functions_of, written_by
from mlirad.analysis.memory import TIES
from mlirad.dialect.core import types
from mlirad.targets.python.blocks_and_calls import VISITS
from mlirad.targets.python.layout import Located, PrintedLines, fitted
from mlirad.targets.python.python_statements import used_in, without_unused
from mlirad.targets.python.variable_names import names_of
from mlirad.targets.python.writer import FunctionWriter, Imported, python_name

_WIDTHS = (56, 40, 28, 16)
"""The length of an expression above which its parts get names."""


@dataclass(frozen=True)
class PrintedEntry:
    """How a function is called: the dtypes of its numbers (None for arrays), and the number of its results.

    written: the arguments whose arrays it changes, each with the result that is the array.
    """

    arguments: tuple[str | None, ...]
    results: tuple[str | None, ...]
    written: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Program:
    """Source text. places: for each line, the file, line and column that it comes from. entries: its functions."""

    text: str
    places: dict[int, tuple[str, int, int]]
    entries: dict[str, PrintedEntry]

    def __str__(self) -> str:
        return self.text

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, code: bytes) -> Program:
        found = json.loads(code)
        entries = {
            name: PrintedEntry(tuple(each["arguments"]), tuple(each["results"]), tuple(map(tuple, each["written"])))
            for name, each in found["entries"].items()
        }
        return cls(found["text"], {int(line): tuple(place) for line, place in found["places"].items()}, entries)


def program_of(module: ModuleOp) -> Program:
    """The program of a module."""
    functions = functions_of(module)
    for function in functions.values():
        for call in calls_in(function):
            callee = functions.get(call.callee.string_value())
            if callee is not None:
                ties = [number for pair in written_by(callee).items() for number in pair]
                call.attributes[TIES] = DenseArrayBase.from_list(i64, ties)
    imported: dict[Imported, str] = {}
    called = {call.callee.string_value() for function in functions.values() for call in calls_in(function)}
    taken = {python_name(name) for name in functions}
    bodies = [_lines(each, imported, taken, name not in called) for name, each in functions.items()]
    lines: list[Located] = [(line, None) for line in _imports(imported, bodies)]
    for body in bodies:
        lines += [("", None), ("", None)] if lines else []
        lines += body
    places = {
        number: (place.filename, place.lineno, place.col_offset)
        for number, (_, place) in enumerate(lines, 1)
        if place is not None
    }
    entries = {name: _entry(function) for name, function in functions.items()}
    return Program("\n".join(line for line, _ in lines) + "\n", places, entries)


def _entry(function: Any) -> PrintedEntry:
    kind = function.function_type

    def names(each: Any) -> tuple[str | None, ...]:
        return tuple(None if types.is_tensor(type) else types.to_dtype(type).name for type in each)

    return PrintedEntry(names(kind.inputs.data), names(kind.outputs.data), tuple(written_by(function).items()))


def _lines(function: func.FuncOp, imported: dict[Imported, str], taken: set[str], is_public: bool) -> list[Located]:
    """The lines of a function, with expressions as long as lines allow."""
    lines: list[Located] = []
    for width in _WIDTHS:
        written = FunctionWriter(function, imported, is_public, VISITS, width).write()
        without_unused(written)
        names = names_of(written, {*taken, *imported.values()})
        layout = PrintedLines(names, used_in(written.body))
        lines = layout.function(written, python_name(written.name))
        if not layout.is_tight:
            break
    return lines


def _imports(imported: dict[Imported, str], bodies: list[list[Located]]) -> list[str]:
    """The import statements, in isort's order."""
    found = [f"import {each.__name__}" for each in imported if isinstance(each, ModuleType)]
    found += [""] if found else []
    code = (line for body in bodies for line, _ in body if not line.lstrip().startswith("#"))
    if any("np." in line for line in code):
        found.append("import numpy as np")
    homes: dict[str, set[str]] = {}
    for function, name in imported.items():
        if isinstance(function, ModuleType):
            continue
        own = function.__name__
        homes.setdefault(function.__module__, set()).add(own if own == name else f"{own} as {name}")
    for home in sorted(homes):
        found += fitted(f"from {home} import {', '.join(sorted(homes[home]))}", 0)
    return found[:-1] if found and not found[-1] else found
