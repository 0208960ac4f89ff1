"""What transforms of functions have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import getattr_static
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from mlirad.location import SourceLocation
from mlirad.requests.python_functions import importable, name_of, plain


@dataclass(frozen=True, eq=False)
class Request:
    """A transform of `function`, which is a plain function or another request.

    Two requests are equal if they are the same transform of the same function; callable objects compare by identity.
    """

    function: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        # A method is a new object at each access.
        function = self.function if isinstance(self.function, Request | MethodType) else id(self.function)
        return type(self), function, *(getattr(self, field.name) for field in fields(self)[1:])

    def __reduce__(self) -> Any:
        return _made, (
            type(self),
            importable(self.function),
            *(getattr(self, field.name) for field in fields(self)[1:]),
        )

    @property
    def __name__(self) -> str:
        return f"{type(self).__qualname__.lower()}({name_of(self.function)})"

    @property
    def transformed(self) -> Any:
        """The function that this transform, or the innermost one, transforms."""
        inner = plain(self.function)
        return inner.transformed if isinstance(inner, Request) else inner

    @property
    def signature(self) -> inspect.Signature | None:
        """Its call signature; None if it is called like its function."""
        inner = plain(self.function)
        return inner.signature if isinstance(inner, Request) else None

    @property
    def summary(self) -> str:
        """Describes what it computes, in a sentence."""
        return f"{self.__name__}, a transform of {name_of(self.transformed)}."


def standing_for(transform: Any, request: Callable[..., Any]) -> None:
    """Mark a transform: a kernel that uses it makes the request `request(function, ...)`."""
    transform.__mlirad_transform__ = transform, request


_PLAIN = frozenset({FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum)})
"""Classes of functions whose attributes are found without running code of the user."""


def transform_of(function: Any) -> Callable[..., Any] | None:
    """The request that a transform makes; None for other objects."""
    if isinstance(function, type) and issubclass(function, Request):
        return function
    if type(function) in _PLAIN:
        marked, request = getattr(function, "__dict__", {}).get("__mlirad_transform__", (None, None))
    else:
        marked, request = getattr_static(function, "__mlirad_transform__", (None, None))
    return request if marked is function else None  # `functools.wraps` copies the mark


def _made(kind: type[Request], function: Any, *rest: Any) -> Request:
    return kind(plain(function), *rest)


def definition_of(function: Any) -> SourceLocation | None:
    """The definition of a function, or of the function that a transform wraps."""
    function = function.transformed if isinstance(function, Request) else function
    while is_own_wrapper(function):
        function = plain(function.__wrapped__)
    code = getattr(function, "__code__", None)
    return None if code is None else SourceLocation.of_definition(code)


def is_own_wrapper(function: Any) -> bool:
    """Whether mlirad made this function from another one."""
    home = (
        str(function.__globals__.get("__name__")) if isinstance(function, FunctionType) else type(function).__module__
    )
    return home.startswith("mlirad.") and getattr(function, "__wrapped__", None) is not None


def parameters_of(function: Any) -> tuple[str, ...]:
    """The names of the positional parameters of a function, or of the function that a transform wraps; none if
    unknown."""
    function = function.transformed if isinstance(function, Request) else function
    code = getattr(function, "__code__", None)
    names = () if code is None else code.co_varnames[: code.co_argcount]
    return names[1:] if isinstance(function, MethodType) else names
