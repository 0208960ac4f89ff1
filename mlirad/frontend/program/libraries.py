"""Libraries with Python code that is compiled where possible. A message never blames this code.

Reads: functions and classes. Writes: nothing. Leaves: refusals that use the name that the user wrote.
"""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from functools import cache
from typing import Any, Protocol

import numpy as np

from mlirad.errors import CompileError, LibraryCall, UnsupportedSyntaxError
from mlirad.frontend.program import coverage
from mlirad.location import SourceLocation

_LIBRARIES = ("numpy", "scipy", "sklearn")
_STANDARD = f"{sysconfig.get_path('stdlib')}{os.sep}"


def is_of_library(value: Any) -> bool:
    """Whether a function or class belongs to a library that checks and dispatches in Python, or to Python's own."""
    home = (getattr(value, "__module__", None) or "").split(".")[0]
    if home in _LIBRARIES:
        return True
    return _is_standard(home)


@cache
def _is_standard(module: str) -> bool:
    """Whether a module is Python's own. (A module of the user may have the name of one.)"""
    file = getattr(sys.modules.get(module), "__file__", None) if module in sys.stdlib_module_names else None
    return file is not None and file.startswith(_STANDARD)


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

    location: SourceLocation | None
    callers: list[SourceLocation]
    library: LibraryCall | None


def blame(error: Blamed, function: Any, location: SourceLocation | None) -> None:
    """Note on an error in a library's code which function of the library the user called, and where. Python's own
    functions call functions of the user: an error in one of these keeps its place."""
    place = error.location
    if (
        place is not None
        and _is_standard(function.__module__.split(".")[0])
        and not place.filename.startswith(_STANDARD)
    ):
        error.callers += [] if location is None else [location]
        return
    error.library, error.callers = (public_name(function), location), []


def reported(error: CompileError) -> CompileError:
    """The error to report. For an error in a library's code it says only that the function is not supported."""
    if error.library is None:
        return error
    name, location = error.library
    cause = f"its code uses what is not compiled: {error.message}"
    known = coverage.hint_of_kind(name)
    if name.startswith("np."):
        instead = cause
    elif name.split(".")[0] in sys.stdlib_module_names:
        instead = f"call it outside, before or after the compiled function ({cause})"
    else:
        instead = f"write it with NumPy's functions ({cause})"
    hint = known or instead
    refusal = UnsupportedSyntaxError(f"{name} is not supported", location, hint)
    refusal.callers = error.callers
    return refusal
