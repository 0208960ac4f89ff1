"""Numbers that are Python's on one path of the program and NumPy's on another.

A Python number takes the dtype of what it meets, a NumPy number has its own (NEP 50). Where both kinds join, the number
is held in NumPy's dtype, and used where both meanings give the same; elsewhere it is refused.

Reads: dtypes. Writes: nothing. Leaves: an Either, or a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mlirad.errors import CompileError

if TYPE_CHECKING:
    from mlirad.frontend.values import Poison

Found = TypeVar("Found", bound=Hashable)
LARGEST_EXACT = 2**53
"""Integers up to this are floats exactly."""
MOST_VALUES = 4
"""Of more Python numbers than these it is not known which one it is."""


class PoisonUsed(Exception):
    """A value that could not be merged is needed."""

    def __init__(self, poison: Poison):
        super().__init__(poison.why)
        self.poison = poison


@dataclass(frozen=True, eq=False)
class Either:
    """A Python number of the kind of `dtype` on one path, and a NumPy number of `dtype` on another.

    values: what the Python number is, if that is known. poison: the refusal where the two would mean different things.
    """

    dtype: np.dtype
    values: tuple[Any, ...] | None
    poison: Poison

    @property
    def kind(self) -> type:
        """bool, int or float: the class of the Python number."""
        return {"b": bool, "f": float}.get(self.dtype.kind, int)

    @property
    def key(self) -> Hashable:
        """What two of them must have in common to be the same; the text tells 0.0 from -0.0."""
        return self.dtype, None if self.values is None else tuple(map(repr, self.values))


def united(*groups: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """The values of several groups, each once and in a fixed order; None: not known."""
    found: dict[str, Any] = {}
    for group in groups:
        if group is None:
            return None
        found |= {repr(value): value for value in group}
    return tuple(found[text] for text in sorted(found)) if len(found) <= MOST_VALUES else None


def agreed(operands: Sequence[Any], answer: Callable[[tuple[Any, ...]], Found]) -> Found:
    """What `answer` gives for dtypes and Python's kinds, whichever each Either is of. Raises PoisonUsed."""
    undecided = [operand for operand in operands if isinstance(operand, Either)]
    if not undecided:
        return answer(tuple(operands))
    choices = [(x.kind, x.dtype) if isinstance(x, Either) else (x,) for x in operands]
    found: set[Found] = set()
    refused: list[CompileError] = []
    for chosen in product(*choices):
        try:
            found.add(answer(chosen))
        except CompileError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    if refused or len(found) > 1:
        raise PoisonUsed(undecided[0].poison)
    return found.pop()
