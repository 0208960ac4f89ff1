"""The values that a function takes from outside, as arguments of it.

Reads: a function. Writes: nothing. Leaves: values, and the result of a call. Compiled code does not call these
functions: the frontend finds a function's float arrays and numbers that belong to the program. In plain Python a
function keeps its values to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def values_around(_function: Callable[..., Any]) -> tuple[Any, ...]:
    """The arrays and numbers with derivatives that a function takes from outside."""
    return ()


def called_with(function: Callable[..., Any], _values: tuple[Any, ...], *args: Any) -> Any:
    """function(*args), with other values in place of those that it takes from outside."""
    return function(*args)


def evaluated(equation: Callable[..., Any], _values: tuple[Any, ...], *args: Any) -> Any:
    """called_with for an equation. It may not draw random numbers, because derivatives evaluate it again."""
    return equation(*args)
