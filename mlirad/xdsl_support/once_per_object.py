"""A function's answer about an object, kept with the object: a type of xDSL, whose hash is slow, or a node of an ast,
whose text is forgotten with the program.

Reads: objects that no longer change. Writes: entries of their `__dict__` that are no fields. Leaves: all else of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

_Object = TypeVar("_Object")
_Answer = TypeVar("_Answer")


def once(compute: Callable[[_Object], _Answer]) -> Callable[[_Object], _Answer]:
    """The function computes its answer once for each object, whose fields no longer change."""
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
