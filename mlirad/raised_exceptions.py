"""The exceptions of compiled code: classes by name, and texts with values of the run in them.

Reads: names, message templates and 64-bit words. Gives: exception classes and texts. Imports nothing of the compiler.
"""

from __future__ import annotations

import builtins
import re
import struct
from collections.abc import Callable, Sequence

import numpy as np

PLACE = re.compile(r"\{(\d+)(?:\.(\w+))?(?:!([rsa%]))?(?::([^{}]*))?\}|\{\{|\}\}")
"""A place in a template: the number of its value, its kind, conversion and format; or a brace."""
PYTHON = {"int": int, "float": float, "bool": bool}
_CONVERSIONS = {"r": repr, "s": str, "a": ascii, None: lambda value: value}


def message_of(message: str, words: Sequence[int]) -> str:
    """A message of compiled code, the 64-bit `words` in their places; `{{` and `}}` are braces.

    A place is written as str.format has it. `{0}` is a Python int, `{0.float}`, `{0.bool}` one of these, `{0.float32}`
    a NumPy number of that dtype: `{1.float64!r:>8}`.
    """

    return filled(message, lambda number, kind: _number(words[number], kind))


def _number(word: int, kind: str) -> object:
    """The number of a kind that a word stands for; the word of a float has the bits of a float64."""
    value = struct.unpack("d", struct.pack("q", word))[0] if kind.startswith("float") else word
    return PYTHON[kind](value) if kind in PYTHON else np.array(value).astype(kind)[()]


def filled(template: str, value: Callable[[int, str], object]) -> str:
    """A template with the text of `value(number, kind)` in each of its places. `!%` formats as the operator % does."""

    def text(found: re.Match[str]) -> str:
        number, kind, conversion, spec = found.groups()
        if number is None:
            return found[0][0]
        shown = value(int(number), kind or "int")
        if conversion == "%":
            return f"%{spec}" % (shown,)
        return format(_CONVERSIONS[conversion](shown), spec or "")

    return PLACE.sub(text, template)


def exception_class(name: str) -> type[Exception]:
    """The exception of a name: one of Python's, or one of NumPy's, `numpy.linalg.LinAlgError`. Raises TypeError."""
    home, _, short = name.rpartition(".")
    modules = {"": builtins, "numpy.linalg": np.linalg, "numpy.exceptions": np.exceptions}
    found = getattr(modules.get(home), short, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise TypeError(f"{name} is no exception of Python or NumPy")
    return found


def name_of_exception(kind: object) -> str | None:
    """The name by which `exception_class` finds an exception that one text makes; None where it does not."""
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    try:
        return name if exception_class(name) is kind and str(kind("")) is not None else None
    except TypeError:  # no such name, or an exception that is made of more than a text
        return None
