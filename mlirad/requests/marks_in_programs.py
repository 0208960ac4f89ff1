"""Functions that programs call to tell a transform something."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from mlirad import tree

X = TypeVar("X")


def stop_gradient(x: X) -> X:
    """x (an array, a number or a container of them), its arrays copied. Through it no derivative flows, in either mode:
    what is computed of it is to a transform a constant."""
    return tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, x)


def checkpointed(loop: X, how: str | int) -> X:
    """`loop` itself. As `for i in mlirad.checkpointed(range(n), how)`, or `while mlirad.checkpointed(condition, how)`,
    reverse mode keeps a few states of the loop instead of something for each trip, and runs the trips again from them.

    how: "sqrt" keeps about sqrt(n) states, and the tape of as many trips: each trip runs three times. "binomial" keeps
    about log2(n) states, a number keeps as many: fewer states, more runs, by the schedule that needs the fewest.

    Raises ValueError for another word, or a number below 1.
    """
    require_checkpointing(how)
    return loop


def require_checkpointing(how: object) -> None:
    """Raises ValueError for what is no way to checkpoint a loop."""
    is_number = isinstance(how, int) and not isinstance(how, bool) and how >= 1
    if not is_number and how not in ("sqrt", "binomial"):
        raise ValueError(
            f"a loop is checkpointed by 'sqrt', 'binomial', or a number of states from 1 on, not by {how!r}"
        )
