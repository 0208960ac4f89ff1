"""Python's functions, and the kernels and requests that represent one."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any


def plain(function: Any) -> Any:
    """The plain function or request under a kernel; anything else itself."""
    # A method forwards attributes of its function, so it would lose the object that it is bound to.
    return function if isinstance(function, MethodType) else getattr(function, "__mlirad_function__", function)


def is_kernel(value: object) -> bool:
    """Whether a value is a kernel, by its class. Runs no code of the user's."""
    return any("__mlirad_function__" in vars(kind) for kind in type(value).__mro__)


def importable(function: Any) -> Any:
    """The object to pickle for a function: the kernel, if the function's name finds the kernel."""
    if isinstance(function, FunctionType):
        there = found(function.__module__, function.__qualname__)
        if not isinstance(there, FunctionType) and getattr(there, "__mlirad_function__", None) is function:
            return there
    return function


def found(module: str, name: str) -> Any:
    """The object with a dotted name in a module; None if there is none."""
    there: Any = sys.modules.get(module)
    for part in name.split("."):
        there = getattr(there, part, None)
    return there


def copied(function: FunctionType) -> FunctionType:
    """Another function with the same code and the same variables."""
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def name_of(function: Any) -> str:
    return getattr(plain(function), "__name__", type(function).__name__)


def require_arguments(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> None:
    """Raises TypeError, with the function's name, for arguments that it does not take."""
    try:
        inspect.signature(function).bind(*args, **(kwargs or {}))
    except TypeError as error:
        raise TypeError(f"{name_of(function)}(): {error}") from None
    except ValueError:
        pass  # a function written in C may have no signature
