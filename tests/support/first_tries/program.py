"""A first-try program: a function, its arguments, and the arguments that it is differentiated by.

Reads: nothing. Writes: nothing. Leaves: `program`, a decorator, and Programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], Sequence[Any]]


@dataclass(frozen=True)
class Program:
    """wrt: positions of the arguments whose doubles it is differentiated by; none: only its value is compared."""

    function: Callable[..., Any]
    make: Make
    wrt: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.function.__module__.rsplit('.', 1)[-1]}.{self.function.__name__}"

    def arguments(self) -> list[Any]:
        return list(self.make(np.random.default_rng(20261122)))


def collection() -> tuple[list[Program], Callable[..., Callable[[Any], Any]]]:
    """A list, and the decorator that puts functions into it."""
    programs: list[Program] = []

    def program(make: Make, wrt: int | tuple[int, ...] = ()) -> Callable[[Any], Any]:
        def put(function: Any) -> Any:
            programs.append(Program(function, make, (wrt,) if isinstance(wrt, int) else wrt))
            return function

        return put

    return programs, program
