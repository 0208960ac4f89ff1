"""Places in the user's source. Imports nothing of the compiler."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from types import CodeType

_texts: dict[str, list[str]] = {}  # by names that linecache does not know


def remember(filename: str, text: str) -> None:
    """Show lines of this text for places in `filename`, if nothing else is known under that name."""
    if not linecache.getline(filename, 1):
        _texts[filename] = text.splitlines()


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in Python source. Lines count from 1, columns from 0, as in `ast`."""

    filename: str
    lineno: int
    col_offset: int = 0
    end_lineno: int | None = None
    end_col_offset: int | None = None

    @classmethod
    def of_definition(cls, code: CodeType) -> SourceLocation:
        """The place where a function is defined: the start of its first line, behind the indentation."""
        line = cls(code.co_filename, code.co_firstlineno).source_line() or ""
        return cls(code.co_filename, code.co_firstlineno, len(line) - len(line.lstrip()))

    def source_line(self) -> str | None:
        """The text of the line without its end, or None if the source cannot be found."""
        line = linecache.getline(self.filename, self.lineno)
        lines = [] if line else _texts.get(self.filename, [])
        if 1 <= self.lineno <= len(lines):
            line = lines[self.lineno - 1]
        return line.rstrip("\r\n") if line else None

    def caret_line(self, line: str) -> str:
        """The line of carets under `line`. (ast counts columns in UTF-8 bytes.)"""
        data = line.encode()
        start = len(data[: self.col_offset].decode(errors="ignore"))
        width = 1
        if self.end_lineno == self.lineno and self.end_col_offset is not None:
            width = max(1, len(data[self.col_offset : self.end_col_offset].decode(errors="ignore")))
        elif self.end_lineno is not None and self.end_lineno > self.lineno:
            width = max(1, len(line) - start)
        margin = "".join(c if c == "\t" else " " for c in line[:start])
        return margin + "^" + "~" * (width - 1)

    def __str__(self) -> str:
        return f"{self.filename}:{self.lineno}:{self.col_offset + 1}"
