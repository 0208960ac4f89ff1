"""Lines of LLVM IR. Common subexpressions are eliminated, and loop-invariant ones are moved before their loop.

Reads: nothing. Writes: lines. Leaves: their meaning to the callers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Loop:
    """An open loop. begin: the number of names before it. before: the lines before it.

    known: the expressions computed before it. is_vector: whether it handles vectors.
    """

    begin: int
    before: list[str]
    known: list[str]
    is_vector: bool


class Lines:
    """A growing list of lines. An element that is a list represents the lines in it."""

    def __init__(self) -> None:
        self.lines: list[str | list[str]] = []
        self.current = "entry"
        self._known: dict[str, str] = {}
        self._here: list[str] = []  # expressions added in this scope
        self._loops: list[_Loop] = []
        self._births: dict[str, int] = {}  # when values were named; one moved before a loop is as old as it
        self._counter = 0

    def fresh(self, hint: str = "v") -> str:
        self._counter += 1
        return f"{hint}{self._counter}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def assign(self, text: str) -> str:
        """Emit `%name = text`. Returns the name."""
        name = self._name()
        self.lines.append(f"  {name} = {text}")
        return name

    def _name(self) -> str:
        self._counter += 1
        name = f"%v{self._counter}"
        self._births[name] = self._counter
        return name

    def pure(self, text: str, *words: str) -> str:
        """The same for a pure expression of `words`: a known expression is not emitted again, and a loop-invariant one
        is emitted before the loop."""
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
        """Whether a word is recomputed in each trip of the innermost loop."""
        return self._varies(self._births.get(word, 0))

    def _varies(self, born: int) -> bool:
        return not self._loops or born > self._loops[-1].begin

    def begin_loop(self, *, is_vector: bool = False) -> None:
        """Begin a loop; its loop-invariant lines will be inserted before its branch."""
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
        """Forget the expressions added inside at its end, because control may bypass it."""
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
