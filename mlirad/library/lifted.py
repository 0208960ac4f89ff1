"""Functions that take their surroundings as an argument: `Lifted`, for derivatives with respect to arrays in objects.

Reads and writes: nothing. Leaves: objects that the frontend knows, and that Python can run too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from mlirad import tree
from mlirad.requests.python_functions import name_of, plain


class Lifted:
    """function(*args) as a function of (arrays, *args), with `arrays` in place of the holders' arrays.

    holders: dataclass objects with one array each, which the function finds outside: in its globals, its closure, or in
    attributes of those objects. The arrays must have the same shapes and dtypes as theirs.
    """

    def __init__(self, function: Callable[..., Any], holders: Sequence[Any]):
        for each in holders:
            inner = tree.children(each)
            if not dataclasses.is_dataclass(each) or inner is None or len(inner[1]) != 1:
                raise TypeError(f"a holder is a dataclass object of one array, not {type(each).__name__}")
        self.function = plain(function)
        self.holders = tuple(holders)
        self.__wrapped__ = function
        self.__name__ = self.__qualname__ = name_of(self.function)
        self.__module__ = getattr(self.function, "__module__", None) or type(self.function).__module__

    def __call__(self, arrays: Sequence[Any], *args: Any) -> Any:
        fields = [dataclasses.fields(each)[0].name for each in self.holders]
        before = [getattr(each, name) for each, name in zip(self.holders, fields, strict=True)]
        try:
            for each, name, array in zip(self.holders, fields, arrays, strict=True):
                object.__setattr__(each, name, array)
            return self.function(*args)
        finally:
            for each, name, array in zip(self.holders, fields, before, strict=True):
                object.__setattr__(each, name, array)
