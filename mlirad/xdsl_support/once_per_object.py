"""Caches a function's result on its argument: a type of xDSL, whose hash is slow, or a node of an ast, which is freed
together with the program.

Reads: objects that no longer change. Writes: entries of their `__dict__` that are not fields. Leaves: everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

_Object = TypeVar("_Object")
_Answer = TypeVar("_Answer")


def once(compute: Callable[[_Object], _Answer]) -> Callable[[_Object], _Answer]:
    """Make a function compute its result once for each object. The object's fields must no longer change."""
    key = f"{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def remembered(asked: _Object) -> _Answer:
        known = vars(asked)
        try:
            return known[key]
        except KeyError:
            answer = known[key] = compute(asked)
            return answer

    return remembered
