"""Combines the lanes of vectors, and transposes squares of vectors.

Reads: vectors. Writes: vector ops, through a `LoopBuilder`. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from mlirad.lowering.loop_builder import LoopBuilder, integers, vector_of

_Value = TypeVar("_Value")


def tree(values: Sequence[_Value], combine: Callable[[_Value, _Value], _Value]) -> _Value:
    """Combine values as a balanced tree, so that rounding errors grow with the logarithm of their number."""
    level = list(values)
    while len(level) > 1:
        level = [reduce(combine, level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]


def fold_lanes(builder: LoopBuilder, value: SSAValue, combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
    """Combine a vector's lanes, always as the same balanced tree."""
    type = value.type
    assert isinstance(type, VectorType)
    lanes, element = type.get_shape()[0], type.element_type
    while lanes > 2:
        lanes //= 2
        value = combine(_part(builder, value, 0, lanes), _part(builder, value, lanes, lanes))
    return tree([builder.extract(value, lane, element) for lane in range(lanes)], combine)


def fold_rows(
    builder: LoopBuilder, rows: Sequence[SSAValue], combine: Callable[[SSAValue, SSAValue], SSAValue]
) -> SSAValue:
    """Combine the lanes of each of as many vectors as each has lanes, as `fold_lanes` does, into one vector."""
    level, size = list(rows), len(rows)
    width = size  # the lanes that a row still has
    while width > 1:
        half = width // 2
        starts = [lane for lane in range(2 * size) if lane % width < half]
        masks = integers(*starts), integers(*(lane + half for lane in starts))
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [
            combine(*(builder.op(vector.ShuffleOp, pair, pair[0].type, mask=mask) for mask in masks)) for pair in pairs
        ]
        width = half
    return level[0]


def transposed(builder: LoopBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """The columns of a square of as many vectors as each has lanes, a power of two."""
    values, size = list(rows), len(rows)
    step = 1
    while step < size:
        # In squares of 2 * step, the two off the diagonal change places.
        first = integers(*(lane if not lane & step else size + lane - step for lane in range(size)))
        second = integers(*(lane + step if not lane & step else size + lane for lane in range(size)))
        for row in range(size):
            if not row & step:
                pair = [values[row], values[row + step]]
                values[row] = builder.op(vector.ShuffleOp, pair, pair[0].type, mask=first)
                values[row + step] = builder.op(vector.ShuffleOp, pair, pair[0].type, mask=second)
        step *= 2
    return values


def _part(builder: LoopBuilder, value: SSAValue, start: int, lanes: int) -> SSAValue:
    type = value.type
    assert isinstance(type, VectorType)
    part = vector_of(type.element_type, lanes)
    return builder.op(vector.ShuffleOp, [value, value], part, mask=integers(*range(start, start + lanes)))
