"""A whole program: a plain NumPy function, and the arguments that it is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """`arguments(random, *size)` makes them; `short` is a size for every day, `small` and `medium` are for `make full`.

    Float arguments are differentiated; what a program is about is in what it returns and in what it leaves in its
    arguments.
    """

    function: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]]
    short: tuple[int, ...]
    small: tuple[int, ...]
    medium: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.function.__name__

    def make(self, size: tuple[int, ...]) -> tuple[Any, ...]:
        return self.arguments(np.random.default_rng(0), *size)
