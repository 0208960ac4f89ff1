"""Lines of LLVM IR, with common subexpressions eliminated and loop-invariant ones moved before their loop.

Reads: nothing. Writes: lines. Leaves: what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop that is open. begin: the number that names had reached in front of it. before: the lines there.

    known: what is known there. is_vector: whether it handles vectors.
    """

    begin: int
    before: list[str]
    known: list[str]
    is_vector: bool


class Lines:
    """Lines to which more are appended. A line that is a list represents the lines in it."""

    def __init__(self) -> None:
        self.lines: list[str | list[str]] = []
        self.current = "entry"
        self._known: dict[str, str] = {}
        self._here: list[str] = []  # what has become known in the scope
        self._loops: list[_Loop] = []
        self._births: dict[str, int] = {}  # when values were named; those moved before a loop, as if when it began
        self._counter = 0

    def fresh(self, hint: str = "v") -> str:
        self._counter += 1
        return f"{hint}{self._counter}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def assign(self, text: str) -> str:
        """Emit `%name = text`; the name."""
        name = self._name()
        self.lines.append(f"  {name} = {text}")
        return name

    def _name(self) -> str:
        self._counter += 1
        name = f"%v{self._counter}"
        self._births[name] = self._counter
        return name

    def pure(self, text: str, *words: str) -> str:
        """The same for what always gives the same, of `words`: where it is known already, nothing is emitted, and what
        does not vary with a loop is computed before it."""
        name = self._known.get(text)
        if name is None:
            born = max([self._births.get(word, 0) for word in words])
            loop = None if self._varies(born) else next(loop for loop in self._loops if born <= loop.begin)
            if loop is None:
                name = self.assign(text)
                self._here.append(text)
            else:
                name = self._name()
                self._births[name] = loop.begin
                loop.before.append(f"  {name} = {text}")
                loop.known.append(text)
            self._known[text] = name
        return name

    def varies(self, word: str) -> bool:
        """Whether a word is computed again in each trip of the innermost loop."""
        return self._varies(self._births.get(word, 0))

    def _varies(self, born: int) -> bool:
        return not self._loops or born > self._loops[-1].begin

    def begin_loop(self, *, is_vector: bool = False) -> None:
        """A loop begins here, before whose branch there is room for what does not vary with it."""
        self._counter += 1
        self._loops.append(_Loop(self._counter, [], self._here, is_vector))
        self.lines.append(self._loops[-1].before)

    def end_loop(self) -> None:
        self._loops.pop()

    @property
    def is_in_vector_loop(self) -> bool:
        return bool(self._loops) and self._loops[-1].is_vector

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What becomes known in it is forgotten at its end, as control may not pass through it."""
        saved, self._here = self._here, []
        try:
            yield
        finally:
            for text in self._here:
                del self._known[text]
            self._here = saved

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.current = name

    def branch(self, label: str) -> None:
        self.line(f"br label %{label}")
