"""The exceptions of compiled code: classes by name, and texts that contain run-time values.

Reads: names, message templates and 64-bit words. Gives: exception classes and texts. Imports nothing of the compiler.
"""

from __future__ import annotations

import builtins
import re
import struct
from collections.abc import Callable, Sequence

import numpy as np

from mlirad.errors import format_located
from mlirad.location import SourceLocation

PLACE = re.compile(r"\{(\d+)(?:\.(\w+))?(?:!([rsa%]))?(?::([^{}]*))?\}|\{\{|\}\}")
"""A placeholder in a template: the number of its value, its kind, conversion and format; or a brace."""
PYTHON = {"int": int, "float": float, "bool": bool}
_CONVERSIONS = {"r": repr, "s": str, "a": ascii, None: lambda value: value}


def message_of(message: str, words: Sequence[int]) -> str:
    """A message of compiled code, with the 64-bit `words` in the placeholders; `{{` and `}}` are braces.

    A placeholder has the syntax of str.format. `{0}` is a Python int, `{0.float}` a Python float, `{0.bool}` a Python
    bool, `{0.float32}` a NumPy number of that dtype: `{1.float64!r:>8}`.
    """

    return filled(message, lambda number, kind: _number(words[number], kind), len(words))


Piece = str | tuple[str, int, str]
"""A piece of source text; or the text before a value, its number, and the text after it."""


def message_as_source(message: str, of_words: bool = True) -> list[Piece]:
    """The source of an f-string or string that computes such a message or template."""
    pieces: list[Piece] = []
    places = [found for found in PLACE.finditer(message) if found[1] is not None]
    done = 0
    for found in places:
        pieces.append(message[done : found.start()])
        _, kind, conversion, spec = found.groups()
        plain = conversion is None and spec is None and kind is None
        before, behind = ("", "") if plain else _converted(kind or "int", of_words)
        if conversion == "%":
            before, behind, spec, conversion = f"'%{spec}' % ({before}", f"{behind},)", None, None
        end = (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
        pieces.append(("{" + before, int(found[1]), behind + end + "}"))
        done = found.end()
    pieces.append(message[done:])
    texts = "".join(piece for piece in pieces if isinstance(piece, str))
    quote = "'" if '"' in texts and "'" not in str(pieces) else '"'
    for place, piece in enumerate(pieces):
        if isinstance(piece, str):
            plain_text = piece if places else piece.replace("{{", "{").replace("}}", "}")
            pieces[place] = _quoted(plain_text, quote)
    return [("f" if places else "") + quote, *pieces, quote]


def _converted(kind: str, of_words: bool) -> tuple[str, str]:
    """The source text around a value that converts it to a number of this kind."""
    if of_words and kind.startswith("float"):
        return "np.int64(", ").view(np.float64)" + (".item()" if kind == "float" else f".astype(np.{kind})")
    if kind in PYTHON:
        return f"{kind}(", ")"
    return (f"np.{kind}(", ")") if of_words else ("", "")


def _quoted(plain: str, quote: str) -> str:
    escaped = plain.encode("unicode_escape").decode("ascii") if not plain.isprintable() else plain.replace("\\", "\\\\")
    return escaped.replace(quote, "\\" + quote)


def _number(word: int, kind: str) -> object:
    """The number of this kind that a word encodes; the word of a float has the bits of a float64."""
    value = struct.unpack("d", struct.pack("q", word))[0] if kind.startswith("float") else word
    return PYTHON[kind](value) if kind in PYTHON else np.array(value).astype(kind)[()]


def filled(template: str, value: Callable[[int, str], object], count: int | None = None) -> str:
    """A template with the text of `value(number, kind)` in each placeholder. `!%` formats like the operator %.

    count: how many values there are; anything that looks like a placeholder of another value is text.
    """

    def text(found: re.Match[str]) -> str:
        number, kind, conversion, spec = found.groups()
        if number is None:
            return found[0][0]
        if count is not None and int(number) >= count:
            return found[0]
        shown = value(int(number), kind or "int")
        if conversion == "%":
            return f"%{spec}" % (shown,)
        return format(_CONVERSIONS[conversion](shown), spec or "")

    return PLACE.sub(text, template)


def exception_class(name: str) -> type[Exception]:
    """The exception class of Python or NumPy with this name, such as `numpy.linalg.LinAlgError`. Raises TypeError."""
    home, _, short = name.rpartition(".")
    modules = {"": builtins, "numpy.linalg": np.linalg, "numpy.exceptions": np.exceptions}
    found = getattr(modules.get(home), short, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise TypeError(f"{name} is not an exception of Python or NumPy")
    return found


class _Text(str):
    """A message that KeyError shows as it is: of a plain text it would show the repr, without line breaks."""

    def __repr__(self) -> str:
        return str(self)


def located_exception(name: str, message: str, location: SourceLocation | None) -> Exception:
    """The exception of `exception_class`, with the place in the source in its message and as `location`."""
    kind = exception_class(name)
    text = format_located(message, location)
    error = kind(_Text(text) if issubclass(kind, KeyError) else text)
    error.location = location  # pyright: ignore[reportAttributeAccessIssue]  # exceptions take any
    return error


def name_of_exception(kind: object) -> str | None:
    """The name by which `exception_class` finds an exception that takes one text; None if it does not find it."""
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    try:
        return name if exception_class(name) is kind and str(kind("")) is not None else None
    except TypeError:  # no such name, or an exception that takes more than a text
        return None
