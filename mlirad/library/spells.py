"""Finds the library function for an object that a program calls.

Reads: index.py, which is generated from the decorators. Writes: nothing. Leaves: functions.

Nothing is imported to fill a registry. The index maps dotted names to files. A file is imported when one of its
functions is called, and the object of a dotted name is looked up only if its module is loaded. A method counts as a
function of the object that it is called on: "numpy.ndarray.cumsum", "numpy.ufunc.accumulate".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import compress
from pathlib import Path
from types import BuiltinMethodType, FunctionType, MethodDescriptorType
from typing import Any, TypeVar

import numpy as np

from mlirad.library.index import FUNCTIONS, METHODS

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = str(Path(__file__).parent)
_INTEROP = str(Path(__file__).parents[1] / "interop")
_NUMPYS = str(Path(np.__file__).parent)
_CLASSES: dict[str, type] = {"numpy.ndarray": np.ndarray, "numpy.ufunc": np.ufunc}
_MODULES = tuple(sorted({name.rpartition(".")[0] for name in FUNCTIONS}))


def spells(
    *names: str,
    method: str | None = None,
    ufunc_method: str | None = None,
    complex: bool = False,
    changes_list: bool = False,
) -> Callable[[F], F]:
    """Declare which functions the decorated function implements, by dotted name, and which method of arrays or ufuncs:
    then its first argument is the array or the ufunc. Only the parameters that it has are compiled; any other is
    refused by name.

    complex: whether it is right for complex numbers; otherwise they are refused. changes_list: whether it changes its
    first argument, a list, at places that depend on the elements; other functions take lists as arrays.
    """

    def declared(function: F) -> F:
        function.__dict__["spells"] = names, method, ufunc_method
        function.__dict__["takes_complex"] = complex
        function.__dict__["changes_list"] = changes_list
        return function

    return declared


def function_of(called: Any) -> FunctionType | None:
    """The library's function for an object, if any."""
    known = _by_object(_loaded()).get(id(called))
    return None if known is None or known[0] is not called else _imported(known[1])


def unbound(called: Any) -> tuple[Any, tuple[Any, ...]]:
    """A ufunc's method as the method of all ufuncs, with its first argument; anything else unchanged."""
    owner = called.__self__ if isinstance(called, BuiltinMethodType) else None
    return (getattr(np.ufunc, called.__name__), (owner,)) if isinstance(owner, np.ufunc) else (called, ())


def methods() -> Iterator[str]:
    """The names of the array methods that the library implements."""
    return (name.removeprefix("numpy.ndarray.") for name in METHODS if name.startswith("numpy.ndarray."))


def spelled() -> Iterator[Any]:
    """The objects that the library's functions implement, from loaded modules, without methods."""
    known = _by_object(_loaded()).values()
    return (called for called, _ in known if callable(called) and not isinstance(called, MethodDescriptorType))


def is_in_library(filename: str) -> bool:
    """Whether a file belongs to the library."""
    return filename.startswith(_FOLDER)


def is_hidden(filename: str) -> bool:
    """Whether errors in a file are shown to the user at the call: in the library's files, and NumPy's own."""
    return filename.startswith((_FOLDER, _INTEROP, _NUMPYS))


def _loaded() -> tuple[bool, ...]:
    """Which of the modules are loaded."""
    return tuple(map(sys.modules.__contains__, _MODULES))


@cache
def _by_object(loaded: tuple[bool, ...]) -> dict[int, tuple[Any, str]]:
    modules = {*compress(_MODULES, loaded)}
    found: dict[int, tuple[Any, str]] = {}
    for name, place in (FUNCTIONS | METHODS).items():
        owner, _, short = name.rpartition(".")
        home = _CLASSES.get(owner) or (sys.modules[owner] if owner in modules else None)
        called = getattr(home, short, None)
        # Skip a replacement that somebody has put there. (A class written in C cannot be patched.)
        if owner in _CLASSES or (getattr(called, "__name__", short) == short and _is_of(called, home)):
            found[id(called)] = called, place
    return found


def _is_of(called: Any, home: Any) -> bool:
    """Whether an object belongs to a module, or is a ufunc: ufuncs do not know their module."""
    return called is not None and (isinstance(called, np.ufunc) or _root(called) == _root(home))


def _root(value: Any) -> str:
    """The package that a module or object belongs to; `_heapq` is the part of `heapq` that is written in C."""
    name = getattr(value, "__module__", None) or value.__name__
    return name.partition(".")[0].lstrip("_")


@cache
def _imported(place: str) -> FunctionType:
    module, _, name = place.partition(":")
    return getattr(import_module(f"mlirad.library.{module}"), name)
