"""The compile-time errors, and how they show places in the source. Imports nothing of the compiler."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.location import SourceLocation

_CALLS = 6
"""How many of the calls that lead to a place are shown."""

DEVIATIONS, FUNCTIONS = "docs/deviations.md", "docs/functions.md"
"""Pages of the documentation that refusals name."""


def _order(location: SourceLocation | None) -> tuple[bool, str, int, int]:
    if location is None:
        return True, "", 0, 0
    return False, location.filename, location.lineno, location.col_offset


def format_located(
    message: str, location: SourceLocation | None, hint: str | None = None, callers: Sequence[SourceLocation] = ()
) -> str:
    """`file:line:col: message`, the source line, a caret, the calls that lead there, and what to write instead."""
    text = message if location is None else f"{location}: {message}"
    text += _shown(location)
    shown = callers if len(callers) <= _CALLS else [*callers[: _CALLS - 2], None, *callers[-2:]]
    for caller in shown:
        text += "\n  ..." if caller is None else f"\n  called from {caller}{_shown(caller)}"
    if hint is not None:
        text += f"\n  help: {hint}"
    return text


def _shown(location: SourceLocation | None) -> str:
    line = None if location is None else location.source_line()
    return "" if location is None or line is None else f"\n    {line}\n    {location.caret_line(line)}"


LibraryCall = tuple[str, SourceLocation | None]
"""A library function, by its public name, and where the user calls it."""


class CompileError(Exception):
    """A program that the compiler refuses, with the place in the user's source and, if known, what to write instead.

    Attributes: `message`, `hint`, `filename`, `lineno`, `col_offset` (None, None, None if the place is unknown);
    `callers`: the calls that lead to the place, the innermost first; `page`: the page of the documentation that says
    more, if any. For the compiler: `library`: the function of another library that is refused; `is_deferred`: the error
    is raised elsewhere than at its place, so the calls there do not lead to it; `raised`: the class of the exception
    that Python itself raises there, if any (a `try` may catch it); `block`: the block of ops that was being written.
    """

    def __init__(
        self,
        message: str,
        location: SourceLocation | None = None,
        hint: str | None = None,
        page: str | None = None,
    ):
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint
        self.callers: list[SourceLocation] = []
        self.page = page
        self.library: LibraryCall | None = None
        self.is_deferred = False
        self.raised: type[Exception] | None = None
        self.block: object = None

    @property
    def filename(self) -> str | None:
        return self.location.filename if self.location else None

    @property
    def lineno(self) -> int | None:
        return self.location.lineno if self.location else None

    @property
    def col_offset(self) -> int | None:
        return self.location.col_offset if self.location else None

    def as_raised(self, kind: type[Exception]) -> CompileError:
        """This error, marked as one that Python itself raises, with the same message, as an exception of this class."""
        self.raised = kind
        return self

    def at(self, location: SourceLocation | None) -> CompileError:
        """This error, with the place `location` unless it already has one."""
        if self.location is None:
            self.location = location
        return self

    def __str__(self) -> str:
        text = format_located(self.message, self.location, self.hint, self.callers)
        return text if self.page is None else f"{text}\n  see:  {self.page}"


class UnsupportedSyntaxError(CompileError):
    """A statement, expression, function or keyword that mlirad does not compile."""


class ShapeError(CompileError, ValueError):
    """Incompatible shapes; a ValueError, as in NumPy."""


class DTypeError(CompileError, TypeError):
    """Incompatible element types; a TypeError, as in NumPy."""


class DifferentiationError(CompileError, TypeError):
    """There is no derivative: a non-scalar output of `grad`, an integer input, an op without a rule."""


class TargetError(CompileError):
    """A target that does not exist, or a module that a target refuses.

    Attribute `others`: the problems after this one in the source.
    """

    others: Sequence[TargetError] = ()

    @classmethod
    def of_all(cls, problems: Sequence[TargetError]) -> TargetError:
        """One error for all problems, in the order of the source; problems without a place come last."""
        found: dict[tuple[str, str], TargetError] = {}
        for each in problems:
            found.setdefault((str(each.location), each.message), each)
        first, *others = sorted(found.values(), key=lambda each: _order(each.location))
        made = cls(first.message, first.location, first.hint, first.page)
        made.others = tuple(others)
        return made

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *map(str, self.others)])


class StaticValueError(CompileError, ValueError):
    """A ValueError of Python, known at compile time."""


class StaticIndexError(CompileError, IndexError):
    """An index known at compile time to be out of range."""


class StaticOverflowError(CompileError, OverflowError):
    """A Python integer that does not fit the NumPy dtype it meets."""


class StaticZeroDivisionError(CompileError, ZeroDivisionError):
    """A division by an integer zero, known at compile time."""
