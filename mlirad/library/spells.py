"""Which function of the library is meant by an object that a program calls.

Reads: index.py, which is generated from the decorators. Writes: nothing. Leaves: functions.

Nothing is imported to fill a registry. The index maps dotted names to files. A file is imported when one of its
functions is called, and the object of a dotted name is looked up only if its module is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

from mlirad.library.index import CHANGING_METHODS, FUNCTIONS, METHODS

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = str(Path(__file__).parent)
_MODULES = tuple(sorted({name.rpartition(".")[0] for name in FUNCTIONS}))


def spells(*names: str, method: str | None = None, changes: str | None = None) -> Callable[[F], F]:
    """Declare which functions a function is, by their dotted names, and which method of arrays, whose first argument is
    the array; changes: the method, if it changes the array. Its parameters are those that are compiled: any other is
    refused by name."""

    def declared(function: F) -> F:
        function.__dict__["spells"] = names, method, changes
        return function

    return declared


def function_of(called: Any) -> FunctionType | None:
    """The function of the library that an object is, if any."""
    known = _by_object(tuple(module for module in _MODULES if module in sys.modules)).get(id(called))
    return None if known is None or known[0] is not called else _imported(known[1])


def function_of_method(name: str) -> FunctionType | None:
    """The function of the library that a method of arrays is, if any; its first argument is the array."""
    return _imported(METHODS[name]) if name in METHODS else None


def function_of_changing_method(name: str) -> FunctionType | None:
    """The function of the library that a method is which changes its array, if any."""
    return _imported(CHANGING_METHODS[name]) if name in CHANGING_METHODS else None


def spelled() -> Iterator[Any]:
    """The functions that functions of the library stand for, of modules that are loaded."""
    known = _by_object(tuple(module for module in _MODULES if module in sys.modules)).values()
    return (called for called, _ in known if callable(called))


def is_in_library(filename: str) -> bool:
    """Whether code is the library's: what happens in it happens, for the user, where it is called."""
    return filename.startswith(_FOLDER)


@cache
def _by_object(modules: tuple[str, ...]) -> dict[int, tuple[Any, str]]:
    found: dict[int, tuple[Any, str]] = {}
    for name, place in FUNCTIONS.items():
        module, _, short = name.rpartition(".")
        called = getattr(sys.modules[module], short, None) if module in modules else None
        # Not what somebody has put in its place.
        if getattr(called, "__name__", short) == short and _root(called) == _root(sys.modules[module]):
            found[id(called)] = called, place
    return found


def _root(value: Any) -> str:
    name = getattr(value, "__module__", None) or value.__name__
    return name.partition(".")[0]


@cache
def _imported(place: str) -> FunctionType:
    module, _, name = place.partition(":")
    return getattr(import_module(f"mlirad.library.{module}"), name)
