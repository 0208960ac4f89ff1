"""Libraries whose Python code is compiled where possible, and never blamed in a message to the user.

Reads: functions and classes. Writes: nothing. Leaves: refusals by the name that the user has written.
"""

from __future__ import annotations

import inspect
from typing import Any, Protocol

import numpy as np

from mlirad.errors import CompileError, LibraryCall, UnsupportedSyntaxError
from mlirad.frontend.program import coverage
from mlirad.location import SourceLocation

_LIBRARIES = ("numpy", "scipy", "sklearn")


def is_of_library(value: Any) -> bool:
    """Whether a function or class is of a library that checks and dispatches in Python."""
    return (getattr(value, "__module__", None) or "").split(".")[0] in _LIBRARIES


def public_name(value: Any) -> str:
    """The name under which users import it: the path without modules that are private; NumPy's is np."""
    of_numpy = getattr(np, value.__name__, None)
    if callable(of_numpy) and inspect.unwrap(of_numpy) is inspect.unwrap(value):
        return f"np.{value.__name__}"
    home = [part for part in value.__module__.split(".") if not part.startswith("_")]
    if home[0] == "numpy":
        home[0] = "np"
    return ".".join([*home, value.__name__])


class Blamed(Protocol):
    """An error in code: `callers` lead to its place; `library`, if any, is whose code it is in."""

    callers: list[SourceLocation]
    library: LibraryCall | None


def blame(error: Blamed, function: Any, location: SourceLocation | None) -> None:
    """Note on an error in a library's code which function of it the user has called, and where."""
    error.library, error.callers = (public_name(function), location), []


def reported(error: CompileError) -> CompileError:
    """The error to report: for a library's code, only that the function is not supported."""
    if error.library is None:
        return error
    name, location = error.library
    cause = f"its code does what is not compiled: {error.message}"
    known = coverage.hint_of_kind(name)
    hint = known or (cause if name.startswith("np.") else f"write it with NumPy's functions ({cause})")
    refusal = UnsupportedSyntaxError(f"{name} is not supported", location, hint)
    refusal.callers = error.callers
    return refusal
