"""Libraries with Python code that is compiled where possible. A message never blames this code.

Reads: functions and classes. Writes: nothing. Leaves: refusals that use the name that the user wrote.
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
    """Whether a function or class belongs to a library that checks and dispatches in Python."""
    return (getattr(value, "__module__", None) or "").split(".")[0] in _LIBRARIES


def public_name(value: Any) -> str:
    """The name under which users import it: the path without private modules, with np for NumPy."""
    of_numpy = getattr(np, value.__name__, None)
    if callable(of_numpy) and inspect.unwrap(of_numpy) is inspect.unwrap(value):
        return f"np.{value.__name__}"
    home = [part for part in value.__module__.split(".") if not part.startswith("_")]
    if home[0] == "numpy":
        home[0] = "np"
    return ".".join([*home, value.__name__])


class Blamed(Protocol):
    """An error in code: `callers` lead to its place; `library` is the library call whose code it is in, if any."""

    callers: list[SourceLocation]
    library: LibraryCall | None


def blame(error: Blamed, function: Any, location: SourceLocation | None) -> None:
    """Note on an error in a library's code which function of the library the user called, and where."""
    error.library, error.callers = (public_name(function), location), []


def reported(error: CompileError) -> CompileError:
    """The error to report. For an error in a library's code it says only that the function is not supported."""
    if error.library is None:
        return error
    name, location = error.library
    cause = f"its code uses what is not compiled: {error.message}"
    known = coverage.hint_of_kind(name)
    hint = known or (cause if name.startswith("np.") else f"write it with NumPy's functions ({cause})")
    refusal = UnsupportedSyntaxError(f"{name} is not supported", location, hint)
    refusal.callers = error.callers
    return refusal
