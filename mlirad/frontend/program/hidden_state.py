"""What to write instead of a callable if its result depends on more than its arguments.

Reads: callables. Writes: nothing. Leaves: hints, for messages only. purity.py decides what may be called.
"""

from __future__ import annotations

import random
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

CALLABLES = (BuiltinMethodType, type(np.sum), type(np.random.rand), type(np.random.Generator.normal))
"""The classes of functions that are not written in Python: reading the name of one runs no user code."""

_RANDOM = "draw the random numbers outside, and pass them in"
_GENERATOR = "pass a generator: rng = np.random.default_rng(seed) outside, and rng.normal(size=n) in the kernel"
_MAKE = "make the generator outside, and pass it in (docs/random.md)"
_CLOCK = "read the clock outside, and pass the number in"
_FILE = "read the file outside, and pass the array in"
_LOOP = "write a loop that calls the function"
_OUTSIDE = "do it outside, and pass what is needed in"
_ITERATOR = "write a for loop, or a list"
STRIDES = "write sliding_window_view(x, size), a slice, or an index array"

_HINTS: dict[Any, str] = {
    **dict.fromkeys((np.load, np.loadtxt, np.genfromtxt, np.fromfile, np.memmap), _FILE),
    **dict.fromkeys((np.frompyfunc, filter), _LOOP),
    **dict.fromkeys((np.ndindex, np.ndenumerate), _ITERATOR),
    **dict.fromkeys((np.seterr, np.geterr, np.errstate, np.set_printoptions, np.get_printoptions), _OUTSIDE),
    np.lib.stride_tricks.as_strided: STRIDES,
    **dict.fromkeys((np.info, np.show_config, np.show_runtime), _OUTSIDE),
}
_OF_MODULES = {"random": _RANDOM, "time": _CLOCK, "datetime": _CLOCK, "os": _OUTSIDE, "posix": _OUTSIDE}
_OF_MODULES |= {"itertools": _ITERATOR, "secrets": _RANDOM}
_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


def hint_of(function: Any) -> str | None:
    """What to write instead of a call that the compiler cannot make; None for a callable without hidden state."""
    owner = getattr(function, "__self__", None) if isinstance(function, (*CALLABLES, MethodType)) else None
    if isinstance(owner, np.random.RandomState):
        return _GENERATOR
    if isinstance(owner, _GENERATORS) or isinstance(function, _GENERATORS):
        return _RANDOM
    if isinstance(owner, type) and owner.__module__ == "datetime":
        return _CLOCK
    home = owner.__name__ if isinstance(owner, ModuleType) else _home(function)
    if home.startswith("numpy.random"):
        return _MAKE if isinstance(function, type) or function is np.random.default_rng else _GENERATOR
    try:
        return _HINTS.get(function) or _OF_MODULES.get(home)
    except TypeError:  # not hashable
        return _OF_MODULES.get(home)


def _home(function: Any) -> str:
    is_named = isinstance(function, (type, FunctionType, *CALLABLES))
    found = getattr(function if is_named else type(function), "__module__", None)
    return found if isinstance(found, str) else ""


def is_of_hidden_state(function: FunctionType) -> bool:
    """Whether a function written in Python belongs to a module whose calls have hidden state.

    Such a function is refused at its call: a refusal inside its own code would say less.
    """
    return function.__module__ in ("random", "secrets", "os", "time", "datetime", "functools")
