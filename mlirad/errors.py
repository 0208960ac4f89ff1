"""The one family of compile-time errors, and the one printer of places. Imports nothing of the compiler."""

from __future__ import annotations

from mlirad.location import SourceLocation


def format_located(message: str, location: SourceLocation | None, hint: str | None = None) -> str:
    """`file:line:col: message`, the source line, a caret, and what to write instead."""
    text = message if location is None else f"{location}: {message}"
    if location is not None and (line := location.source_line()) is not None:
        text += f"\n    {line}\n    {location.caret_line(line)}"
    if hint is not None:
        text += f"\n  help: {hint}"
    return text


class CompileError(Exception):
    """What the compiler refuses, with the place in the user's source and, where there is one, what to write instead.

    Attributes: `message`, `hint`, `filename`, `lineno`, `col_offset` (None, None, None where the place is unknown).
    """

    def __init__(self, message: str, location: SourceLocation | None = None, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    @property
    def filename(self) -> str | None:
        return self.location.filename if self.location else None

    @property
    def lineno(self) -> int | None:
        return self.location.lineno if self.location else None

    @property
    def col_offset(self) -> int | None:
        return self.location.col_offset if self.location else None

    def at(self, location: SourceLocation | None) -> CompileError:
        """This error, placed at `location` unless it has a place already."""
        if self.location is None:
            self.location = location
        return self

    def __str__(self) -> str:
        return format_located(self.message, self.location, self.hint)


class UnsupportedSyntaxError(CompileError):
    """A statement, expression, function or keyword that mlirad does not compile."""


class ShapeError(CompileError, ValueError):
    """Shapes that do not fit; a ValueError, as in NumPy."""


class DTypeError(CompileError, TypeError):
    """Element types that do not fit; a TypeError, as in NumPy."""


class DifferentiationError(CompileError, TypeError):
    """What has no derivative: a non-scalar output of `grad`, an integer input, an op without a rule."""


class TargetError(CompileError):
    """A target that does not exist, or a module that a target cannot take."""


class StaticValueError(CompileError, ValueError):
    """What Python would refuse with a ValueError, known at compile time."""


class StaticIndexError(CompileError, IndexError):
    """An index known at compile time to be out of range."""


class StaticOverflowError(CompileError, OverflowError):
    """A Python integer that does not fit the NumPy dtype it meets."""


class StaticZeroDivisionError(CompileError, ZeroDivisionError):
    """A division by an integer zero, known at compile time."""
