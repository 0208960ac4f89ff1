"""The values that a function takes from around itself, as arguments of it.

Reads: a function. Writes: nothing. Leaves: values, and the result of a call. Compiled code calls neither: the frontend
finds the arrays and numbers, of floats and of its program. Python's functions keep theirs to themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def values_around(_function: Callable[..., Any]) -> tuple[Any, ...]:
    """The arrays and numbers that a function takes from around itself, and that have derivatives."""
    return ()


def called_with(function: Callable[..., Any], _values: tuple[Any, ...], *args: Any) -> Any:
    """function(*args), where the values are what it takes from around itself."""
    return function(*args)


def evaluated(equation: Callable[..., Any], _values: tuple[Any, ...], *args: Any) -> Any:
    """called_with, of an equation: it may not draw, as derivatives evaluate it again."""
    return equation(*args)
