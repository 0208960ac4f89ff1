"""Which part of an array an op reads or changes: what undoing, forwarding and moving reads ask an op.

Reads: an op's operands. Writes: reads and writes of the same part, of this array or another. Leaves: the op.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import SSAValue

from mlirad.dialect.core.expr import Expr


class Change(Enum):
    """What an op does with the part."""

    NONE = "reads it"
    REPLACED = "puts a value there"
    ADDED = "adds a value to it"
    OTHER = "changes it in another way"


@dataclass(frozen=True)
class Range:
    """The places along one axis: `length` of them from `start` on, in steps of `stride`.

    length: a number, an i64, or the size of an array along an axis.
    """

    start: int | SSAValue
    length: int | SSAValue | tuple[SSAValue, int] = 1
    stride: int = 1


@dataclass(frozen=True)
class Subset(ABC):
    """A part of `array`, which is operand `number` of the op.

    part: the result of a read, or the value that a write puts there or adds. places: the operands (i64, or arrays of
    them) that say where the part is. They are in range, or a check of them has failed.
    """

    array: SSAValue
    number: int
    part: SSAValue
    places: tuple[SSAValue, ...]
    change: Change = Change.NONE

    @property
    @abstractmethod
    def ranges(self) -> tuple[Range | None, ...]:
        """Where the part is along each axis of the array; None: anywhere."""

    @property
    @abstractmethod
    def shape(self) -> Hashable:
        """What says which places it is, beside `places`: the strides of a slice."""

    @property
    @abstractmethod
    def axes(self) -> tuple[int | None, ...]:
        """For each axis of the part, the axis of the array that it runs along; None: along no single one."""

    @abstractmethod
    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        """What another array of this shape has at these places. like: an array of the sizes of `part`, to be used in
        place of it."""

    @abstractmethod
    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        """Another array of this shape, with `part` at these places."""

    @property
    def is_distinct(self) -> bool:
        """Whether no place is known to belong to two elements of the part."""
        return True

    @property
    def holds_part(self) -> bool:
        """Whether the array, as the op leaves it, has `part` there."""
        return self.change in (Change.NONE, Change.REPLACED) and self.is_distinct

    def is_same(self, other: Subset) -> bool:
        """Whether it is known to be the same part of an array of the same shape, element by element."""
        return type(self) is type(other) and self.places == other.places and self.shape == other.shape
