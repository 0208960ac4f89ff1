"""Moves reads of elements out of loops that write only to other elements of the same array.

Reads: an `scf.for`, and the facts about its indices. Writes: reads before the loop, from the loop's initial array.
Leaves: reads that a write of the loop may touch, and reads that are not proved to be in range if the loop makes no
trip.

LLVM does not find this: if a write may change the value of a read, LLVM does not vectorise the loop.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import SSAValue, Use

from mlirad.analysis.loops import is_outside, terminator
from mlirad.analysis.ranges import Ranges
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.intervals import Values
from mlirad.dialect.core.op import read_subset, written_subset
from mlirad.dialect.core.subset import Range, Subset
from mlirad.lowering.rewriting import in_place_of, replace


def hoist_reads(loop: scf.ForOp, ranges: Ranges) -> None:
    """Move every such read in the loop's own block; the walk that fills `ranges` has just left the loop."""
    block = loop.body.block
    for number, (arg, init) in enumerate(zip(block.args[1:], loop.iter_args, strict=True)):
        reads = [(use.operation, read) for use in arg.uses if (read := _element(use)) is not None]
        invariant = [
            (op, read)
            for op, read in reads
            if op.parent is block and all(is_outside(place, loop) for place in read.places)
        ]
        writes = _writes(arg, terminator(block).operands[number], loop) if invariant else None
        for op, read in invariant if writes else ():
            if is_in_range(read, ranges) and all(are_apart(read, write, ranges) for write in writes or ()):
                with in_place_of(loop):
                    value = read.read(Expr(init), [Expr(place) for place in read.places]).value
                replace(op, [value])


def _element(use: Use) -> Subset | None:
    """The element that a use reads; None for an array, which would need memory of its own."""
    read = read_subset(use.operation)
    is_element = read is not None and use.index == read.number and not types.is_tensor(read.part.type)
    return read if is_element else None


def _writes(arg: SSAValue, yielded: SSAValue, loop: scf.ForOp) -> list[Subset] | None:
    """The writes that turn `arg` into `yielded`; None if there is any other op."""
    writes: list[Subset] = []
    while yielded is not arg:
        owner = yielded.owner
        write = written_subset(owner)
        if write is None or owner.parent is not loop.body.block:
            return None
        writes.append(write)
        yielded = write.array
    return writes


def _ends(along: Range | None, ranges: Ranges) -> tuple[Values, Values] | None:
    """The lowest and the highest index along an axis, if their number is known."""
    if along is None or not isinstance(along.length, int):
        return None
    first = Values(along.start) if isinstance(along.start, int) else ranges.sum_of(along.start)
    last = first.shifted((along.length - 1) * along.stride)
    return (first, last) if along.stride > 0 else (last, first)


def is_in_range(read: Subset, ranges: Ranges) -> bool:
    for along, size in zip(read.ranges, types.shape(read.array.type), strict=True):
        ends = _ends(along, ranges)
        if size < 0 or ends is None or not ranges.is_never_negative(ends[0]):
            return False
        if not ranges.is_never_negative(ends[1].scaled(-1).shifted(size - 1)):
            return False
    return True


def are_apart(read: Subset, write: Subset, ranges: Ranges) -> bool:
    """Whether the indices are proved to differ along some axis."""
    for along in zip(read.ranges, write.ranges, strict=True):
        one, other = (_ends(each, ranges) for each in along)
        if one is not None and other is not None and (_is_below(one, other, ranges) or _is_below(other, one, ranges)):
            return True
    return False


def _is_below(one: tuple[Values, Values], other: tuple[Values, Values], ranges: Ranges) -> bool:
    """Whether the highest index of one is below the lowest index of the other."""
    return ranges.is_never_negative(other[0].plus(one[1], -1).shifted(-1))
