"""Libraries whose Python code is compiled as far as it can be, and never shown to the user as what is wrong.

Reads: functions and classes. Writes: nothing. Leaves: refusals by the name that the user has written.
"""

from __future__ import annotations

from typing import Any

_LIBRARIES = ("scipy",)


def is_of_library(value: Any) -> bool:
    """Whether a function or class is of a library that checks and dispatches in Python."""
    return (getattr(value, "__module__", None) or "").split(".")[0] in _LIBRARIES


def public_name(value: Any) -> str:
    """The name under which users import it: the path without modules that are private."""
    home = [part for part in value.__module__.split(".") if not part.startswith("_")]
    return ".".join([*home, value.__name__])
