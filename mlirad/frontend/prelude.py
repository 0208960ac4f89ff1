"""Python's builtins on arrays, in Python: they are interpreted like the user's functions.

Reads: nothing. Writes: nothing. Leaves: functions that mean what the builtins mean.
"""

from __future__ import annotations

from typing import Any


def sum_(items: Any, start: Any) -> Any:
    total = start
    for item in items:
        total = total + item
    return total


def max_(items: Any) -> Any:
    largest = items[0]
    for index in range(1, len(items)):
        if items[index] > largest:
            largest = items[index]
    return largest


def min_(items: Any) -> Any:
    smallest = items[0]
    for index in range(1, len(items)):
        if items[index] < smallest:
            smallest = items[index]
    return smallest


def any_(items: Any) -> bool:
    found = False
    for item in items:
        if item:
            found = True
    return found


def all_(items: Any) -> bool:
    found = True
    for item in items:
        if not item:
            found = False
    return found


def reduce_(function: Any, items: Any) -> Any:
    total = items[0]
    for index in range(1, len(items)):
        total = function(total, items[index])
    return total


def reduce_from(function: Any, items: Any, start: Any) -> Any:
    total = start
    for item in items:
        total = function(total, item)
    return total


def identity(function: Any) -> Any:
    return function
