"""A function's result for a type, cached on the type: xDSL's attributes never change, and hashing one is slow.

Reads: attributes. Writes: entries of an attribute's `__dict__`, which xDSL neither compares nor prints.
Leaves: classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from xdsl.ir import Attribute

_Type = TypeVar("_Type", bound=Attribute)
_Answer = TypeVar("_Answer")


def once(compute: Callable[[_Type], _Answer]) -> Callable[[_Type], _Answer]:
    """What a function answers of a type is kept with the type, which never changes: hashing one is slow."""
    key = f"{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def remembered(type: _Type) -> _Answer:
        known = vars(type)
        try:
            return known[key]
        except KeyError:
            answer = known[key] = compute(type)
            return answer

    return remembered
