"""Binary search among increasing numbers, for many numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np


def search_steps(count: int) -> list[int]:
    """How far each step of a binary search among `count` numbers may go: half of what is left, rounded up.

    The steps do not depend on the numbers, so a processor need not guess branches. On a constant, Python runs this
    function (`frontend/program/pure_functions.py`), and the loop over the steps is unrolled.
    """
    steps: list[int] = []
    left = count
    while left > 0:
        step = (left + 1) // 2
        steps.append(step)
        left -= step
    return steps


def places_among(edges: Any, x: Any, is_right: bool) -> Any:
    """How many of the increasing edges are below each number of x, or equal to it if `is_right`; nan is above all
    numbers."""
    values = np.ravel(x)
    places = np.empty(values.shape, np.int64)
    steps = search_steps(len(edges))
    for k in range(len(values)):
        value = values[k]
        place = 0
        for step in steps:
            edge = edges[place + step - 1]
            if is_right:
                is_past = ~((value < edge) | ((edge != edge) & (value == value)))
            else:
                is_past = (edge < value) | ((value != value) & (edge == edge))
            place = place + step if is_past else place
        places[k] = place
    return np.reshape(places, x.shape)


PURE = frozenset({search_steps})
"""What Python runs on constants, while a kernel is compiled."""
