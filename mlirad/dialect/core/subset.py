"""The part of an array that an op reads or changes, as needed to undo writes, forward values and move reads.

Reads: an op's operands. Writes: reads and writes of the same part, in this array or another. Leaves: the op.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import SSAValue

from mlirad.dialect.core.expr import Expr


class Change(Enum):
    """What an op does to the part."""

    NONE = "reads it"
    REPLACED = "puts a value there"
    ADDED = "adds a value to it"
    OTHER = "changes it in another way"


@dataclass(frozen=True)
class Range:
    """The indices along one axis: `length` of them from `start` on, in steps of `stride`.

    length: a number, an i64, or the size of an array along an axis.
    """

    start: int | SSAValue
    length: int | SSAValue | tuple[SSAValue, int] = 1
    stride: int = 1


@dataclass(frozen=True)
class Subset(ABC):
    """A part of `array`, which is operand `number` of the op.

    part: the result of a read, or the value that a write stores or adds. places: the operands (i64, or arrays of them)
    that give the part's position. They are in range, or a check of them has failed.
    """

    array: SSAValue
    number: int
    part: SSAValue
    places: tuple[SSAValue, ...]
    change: Change = Change.NONE

    @property
    @abstractmethod
    def ranges(self) -> tuple[Range | None, ...]:
        """The indices of the part along each axis of the array; None: anywhere."""

    @property
    def is_all_of_ranges(self) -> bool:
        """Whether the part is all elements of `ranges`, in their order."""
        return True

    @property
    @abstractmethod
    def shape(self) -> Hashable:
        """What determines the part together with `places`: for a slice, its strides."""

    @property
    @abstractmethod
    def axes(self) -> tuple[int | None, ...]:
        """For each axis of the part, the axis of the array along which it runs; None: not along a single axis."""

    @abstractmethod
    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        """The elements of another array of this shape at these places. like: an array with the sizes of `part`, to be
        used instead of it."""

    @abstractmethod
    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        """Another array of this shape, with `part` at these places."""

    @property
    def is_distinct(self) -> bool:
        """Whether the elements of the part are known to be at distinct indices."""
        return True

    @property
    def holds_part(self) -> bool:
        """Whether the array contains `part` there after the op."""
        return self.change in (Change.NONE, Change.REPLACED) and self.is_distinct

    def is_same(self, other: Subset) -> bool:
        """Whether it is known to be the same part, element by element, of an array of the same shape."""
        return type(self) is type(other) and self.places == other.places and self.shape == other.shape
