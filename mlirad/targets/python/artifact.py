"""Runs a printed program.

Reads: a `Program`, arguments. Writes: the caller's arrays that it changes. Leaves: results, or the exception of a check
at the user's line.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from types import TracebackType
from typing import Any, ClassVar

import numpy as np

from mlirad.errors import format_located
from mlirad.location import SourceLocation
from mlirad.targets.python.printed_program import Program
from mlirad.targets.python.writer import python_name
from mlirad.targets.target import Artifact
from mlirad.tree import generator_of, is_words, words_of


class PythonArtifact(Artifact):
    """A program that CPython runs."""

    locks_generators: ClassVar[bool] = True
    _count = 0

    def __init__(self, program: Program) -> None:
        PythonArtifact._count += 1
        self.program = program
        self.filename = f"<mlirad {PythonArtifact._count}>"
        # So that tracebacks and debuggers show its lines.
        text = program.text
        linecache.cache[self.filename] = (len(text), None, text.splitlines(keepends=True), self.filename)
        self.namespace: dict[str, Any] = {"__name__": "mlirad_program"}
        exec(compile(text, self.filename, "exec"), self.namespace)

    def __del__(self) -> None:
        linecache.cache.pop(self.filename, None)

    def result_count(self, name: str) -> int:
        return len(self.program.entries[name].results)

    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        entry = self.program.entries[name]
        given = [
            _as_source_has(value) if dtype is None else np.dtype(dtype).type(value)
            for value, dtype in zip(values, entry.arguments, strict=True)
        ]
        try:
            with np.errstate(all="ignore"):
                found = self.namespace[python_name(name)](*given)
        except Exception as error:
            place = self._place(error.__traceback__)
            if place is None:
                raise
            shown = type(error)(format_located(str(error), place))
            shown.location = place  # pyright: ignore[reportAttributeAccessIssue]  # exceptions take any
            raise shown from None
        results = list(found) if isinstance(found, tuple) else [] if found is None else [found]
        written = dict(entry.written)
        for index, number in written.items():
            if results[number] is not values[index]:
                values[index][...] = results[number]
                results[number] = values[index]
        return tuple(
            _owned(value) if dtype is None and number not in written.values() else value
            for number, (value, dtype) in enumerate(zip(results, entry.results, strict=True))
        )

    def _place(self, traceback: TracebackType | None) -> SourceLocation | None:
        """The location in the user's source of the line that raised the exception."""
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        if traceback is None or traceback.tb_frame.f_code.co_filename != self.filename:
            return None
        line = linecache.getline(self.filename, traceback.tb_lineno)
        place = self.program.places.get(traceback.tb_lineno)
        return SourceLocation(*place) if place is not None and line.lstrip().startswith("raise ") else None


def _as_source_has(value: Any) -> Any:
    """An array; for the words of a random generator, the generator, whose methods the source calls."""
    return generator_of(value) if is_words(value) else value


def _owned(array: Any) -> np.ndarray:
    """An array that is not a view; for a generator, its words."""
    if isinstance(array, np.random.Generator):
        return words_of(array)
    return array if array.base is None and array.flags.c_contiguous else np.array(array, order="C")
