"""Loops over tiles, and indices: values of a kernel, or numbers known at compile time.

Reads: indices. Writes: arith and scf. Leaves: nothing. Known numbers are computed, and nothing is emitted for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import Block, SSAValue

from mlirad.dialect.core.expr import building, insert
from mlirad.dialect.core.scalars import number

INDEX = IndexType()
Size = SSAValue | int
SizeT = TypeVar("SizeT", bound=SSAValue | int)
"""An index: a value of the kernel, or a number known at compile time."""


@contextmanager
def loop(lower: Size, upper: Size, step: int) -> Iterator[SSAValue]:
    """Emit the body of a loop without results. Yields its counter."""
    bounds = value(lower), value(upper), value(step)
    block = Block(arg_types=[INDEX])
    with building(block):
        yield block.args[0]
        insert(scf.YieldOp())
    insert(scf.ForOp(*bounds, [], block))


def split(count: SSAValue, shape: Sequence[int]) -> list[Size]:
    """The indices of element number `count` in an array of that shape."""
    indices: list[Size] = []
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            indices.append(0)
        elif all(size == 1 for size in shape[:axis]):
            indices.append(count)
        else:
            size = value(shape[axis])
            indices.append(insert(arith.RemUIOp(count, size)).result)
            count = insert(arith.DivUIOp(count, size)).result
    return indices[::-1]


def length(extent: int, step: int, start: Size) -> Size:
    """The length of a part of an axis, from `start` on: less than a step at its end."""
    if extent <= step:
        return extent
    if extent % step == 0:
        return step
    left = insert(arith.SubiOp(value(extent), value(start))).result
    return insert(arith.MinUIOp(left, value(step))).result


def turned(pair: tuple[SizeT, SizeT]) -> tuple[SizeT, SizeT]:
    """Rows and columns of the transpose."""
    return pair[1], pair[0]


def value(size: Size) -> SSAValue:
    return number(size, INDEX) if isinstance(size, int) else size


def static(size: Size) -> int:
    return size if isinstance(size, int) else DYNAMIC_INDEX


def add(first: Size, second: Size) -> Size:
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    if 0 in (first, second):
        return second if first == 0 else first
    return insert(arith.AddiOp(value(first), value(second))).result


def multiply(size: Size, by: int) -> Size:
    if isinstance(size, int):
        return size * by
    return size if by == 1 else 0 if by == 0 else insert(arith.MuliOp(size, value(by))).result


def quotient(size: Size, by: int) -> Size:
    """The number of parts of `by` elements; the last one may be shorter."""
    if isinstance(size, int):
        return -(-size // by)
    return insert(arith.DivUIOp(insert(arith.AddiOp(size, value(by - 1))).result, value(by))).result
