"""Libraries whose Python code is compiled where possible, and never blamed in a message to the user.

Reads: functions and classes. Writes: nothing. Leaves: refusals by the name that the user has written.
"""

from __future__ import annotations

from typing import Any

from mlirad.errors import CompileError, UnsupportedSyntaxError
from mlirad.location import SourceLocation

_LIBRARIES = ("scipy",)


def is_of_library(value: Any) -> bool:
    """Whether a function or class is of a library that checks and dispatches in Python."""
    return (getattr(value, "__module__", None) or "").split(".")[0] in _LIBRARIES


def public_name(value: Any) -> str:
    """The name under which users import it: the path without modules that are private."""
    home = [part for part in value.__module__.split(".") if not part.startswith("_")]
    return ".".join([*home, value.__name__])


def blame(error: Exception, function: Any, location: SourceLocation | None) -> None:
    """Note on an error in a library's code which function of it the user has called, and where."""
    error.__dict__["library"] = (public_name(function), location)
    error.__dict__.pop("callers", None)


def reported(error: Exception) -> Exception:
    """The error to report: for a library's code, only that the function is not supported."""
    found = error.__dict__.get("library")
    if found is None:
        return error
    name, location = found
    why = error.message if isinstance(error, CompileError) else str(error)
    hint = f"write it with NumPy's functions (its code does what is not compiled: {why})"
    refusal = UnsupportedSyntaxError(f"{name} is not supported", location, hint)
    refusal.__dict__["callers"] = error.__dict__.get("callers", [])
    return refusal
