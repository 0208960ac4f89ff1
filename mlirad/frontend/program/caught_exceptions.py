"""The exceptions that handlers around the code being interpreted catch.

Reads: nothing. Writes: nothing. Leaves: whether one of a class would be caught. Python's floats then raise as in
Python; elsewhere `1.0 / 0.0` is inf, and `math.log(-1.0)` is nan (docs/deviations.md).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

Kinds = tuple[Any, ...]
"""Classes of exceptions, or tuples of them, as `issubclass` takes them."""


@dataclass
class _Around(threading.local):
    kinds: list[Kinds] = field(default_factory=list)


_around = _Around()


class catching:
    """Inside this context, handlers catch these exceptions too."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: Kinds):
        self.kinds = kinds

    def __enter__(self) -> None:
        _around.kinds.append(self.kinds)

    def __exit__(self, *_error: object) -> None:
        _around.kinds.pop()


def is_any_caught() -> bool:
    return any(_around.kinds)


def is_caught(kind: type[Exception]) -> bool:
    return any(issubclass(kind, kinds) for kinds in _around.kinds)
