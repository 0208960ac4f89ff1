"""The forward values that the reverse sweep needs: SSA values, and three kinds that are emitted only on demand.

Reads: the forward sweep. Writes: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.bounds import size_bounds
from mlirad.analysis.loops import Loop, block_of
from mlirad.autodiff.updates import subset_of
from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.subset import Subset


@dataclass(frozen=True)
class Overwritten:
    """The part of an array that a write overwrites, before the write."""

    write: NdOp

    @property
    def type(self) -> Attribute:
        return subset_of(self.write).part.type

    @property
    def block(self) -> Block:
        return block_of(self.write.results[0])


@dataclass(frozen=True)
class Size:
    """The size of `array` along an axis, if it is not an SSA value yet. It will be defined in `block`."""

    array: SSAValue | Overwritten
    axis: int
    block: Block

    @property
    def type(self) -> Attribute:
        return types.I64


@dataclass(frozen=True)
class Base:
    """How many trips `loop` made before its current execution. `block` is the body of the next loop around it."""

    loop: Loop
    block: Block

    @property
    def type(self) -> Attribute:
        return types.I64


ForwardValue = SSAValue | Overwritten | Size | Base


def defining_block(value: ForwardValue) -> Block:
    """The block in which a value is or will be defined."""
    return block_of(value) if isinstance(value, SSAValue) else value.block


def op_of(value: ForwardValue) -> Operation | None:
    """The op that defines, or will define, a value, or next to which it will be defined; None for a block's
    argument."""
    match value:
        case Overwritten(write=write):
            return write
        case Size(array=array):
            return op_of(array)
        case Base(loop=loop):
            return loop.op
    return value.owner if isinstance(value.owner, Operation) else None


def bounds_of(value: ForwardValue) -> list[int | None]:
    """An upper bound for the size of every axis; None where there is none."""
    if isinstance(value, SSAValue):
        return size_bounds(value)
    if not isinstance(value, Overwritten):
        return []
    subset = subset_of(value.write)
    bounds = zip(size_bounds(subset.part), subset.axes, strict=True)
    return [_smaller(bound, None if axis is None else _room(subset, axis)) for bound, axis in bounds]


def _room(subset: Subset, axis: int) -> int | None:
    """The extent that the array allows a subset along one of its axes."""
    whole, along = size_bounds(subset.array)[axis], subset.ranges[axis]
    return whole if whole is None or along is None else -(-whole // abs(along.stride))


def elements_of(value: ForwardValue) -> int | None:
    """How many elements a value can have; None if there is no bound."""
    bounds = [bound for bound in bounds_of(value) if bound is not None]
    return prod(bounds) if len(bounds) == len(types.shape(value.type)) else None


def _smaller(one: int | None, other: int | None) -> int | None:
    return min((bound for bound in (one, other) if bound is not None), default=None)
