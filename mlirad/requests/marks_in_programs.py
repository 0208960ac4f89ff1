"""Functions that programs call to give instructions to a transform."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from mlirad import tree

X = TypeVar("X")


def stop_gradient(x: X) -> X:
    """x (an array, a number or a container of them) with its arrays copied, as a constant for all transforms: no
    derivative flows through it, in either mode.
    """
    return tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, x)


def compiled_anyway(function: X) -> X:
    """`mlirad.jit` inside a compiled function: the function itself, which is compiled with the code around it."""
    return function


def checkpointed(loop: X, how: str | int) -> X:
    """`loop` itself. Its reverse sweep keeps only a few states and runs the trips again from them.

    Write `for i in mlirad.checkpointed(range(n), how)` or `while mlirad.checkpointed(condition, how)`. how: "sqrt"
    keeps about sqrt(n) states and the tape of as many trips, and each trip runs three times. "binomial" keeps about
    log2(n) states, a number keeps that many; trips run more often then, in the schedule with the fewest runs.

    Raises ValueError for another word, or a number below 1.
    """
    require_checkpointing(how)
    return loop


def require_checkpointing(how: object) -> None:
    """Raises ValueError if this is not a way to checkpoint a loop."""
    is_number = isinstance(how, int) and not isinstance(how, bool) and how >= 1
    if not is_number and how not in ("sqrt", "binomial"):
        raise ValueError(
            f"a loop is checkpointed by 'sqrt', 'binomial', or a positive number of states, not by {how!r}"
        )
