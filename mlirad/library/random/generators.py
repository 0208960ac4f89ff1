"""The methods of `numpy.random.Generator`, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlirad.library.random import continuous, discrete, implicit, orders, vectors

Function = Callable[..., Any]
_FILES = (continuous, discrete, implicit, orders, vectors)
_METHODS: Mapping[str, Function] = {
    name: function
    for file in _FILES
    for name, function in vars(file).items()
    if getattr(function, "__module__", None) == file.__name__ and function.__code__.co_varnames[:1] == ("self",)
}


def method(name: str) -> Function | None:
    """The function for a method; None if the method is not compiled."""
    return _METHODS.get(name)


def methods() -> Mapping[str, Function]:
    """All compiled methods."""
    return _METHODS
