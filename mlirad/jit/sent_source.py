"""The source texts that pickled kernels carry, for functions that are in no file, such as in a notebook.

Reads: functions and the objects that they refer to. Writes: nothing. Leaves: texts by file name, for
`frontend/texts.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from mlirad.contract.registered_ops import NativeOp
from mlirad.frontend.program.codes import codes_in
from mlirad.frontend.program.source import text_of
from mlirad.library.own_rules import OwnRule
from mlirad.requests.python_functions import plain
from mlirad.requests.request import Request

_MAIN = "__main__"
_CONTAINERS = (list, tuple, set, frozenset)
_DATA = (int, float, complex, str, bytes, np.generic, np.ndarray)


def texts_for(function: Any) -> dict[str, list[str]]:
    """The texts of a function and of the functions that it refers to, if no readable file has them."""
    texts: dict[str, list[str]] = {}
    seen: dict[int, Any] = {}  # the objects too, because an id could be reused
    work = [function]
    while work:
        value = plain(work.pop())
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if not isinstance(value, FunctionType):
            work += _parts_of(value)
        elif not os.path.isfile(name := value.__code__.co_filename):
            text = text_of(value)
            if text is not None and text not in (known := texts.setdefault(name, [])):
                known.append(text)
            work += _mentioned_by(value)
    return texts


def _mentioned_by(function: FunctionType) -> Iterator[Any]:
    space = function.__globals__
    names = {name for code in codes_in(function.__code__) for name in code.co_names}
    yield from (space[name] for name in names if name in space)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # nothing is bound yet
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _parts_of(value: Any) -> Sequence[Any]:
    if isinstance(value, Request):
        return [value.function]
    if isinstance(value, NativeOp):
        return []
    if isinstance(value, OwnRule):
        return [value.function, *(each for each in value.rules if each is not None)]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if type(value) in _CONTAINERS or type(value) is dict:
        held = value.values() if isinstance(value, dict) else value
        return [each for each in held if not isinstance(each, _DATA)]
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget]
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ != _MAIN:
        return []
    held = vars(value) if not isinstance(value, type) and isinstance(getattr(value, "__dict__", None), Mapping) else {}
    return [*kind.__bases__, *vars(kind).values(), *held.values()]
