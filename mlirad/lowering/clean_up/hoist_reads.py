"""Moves reads of elements out of loops that write only to other elements of the same array.

Reads: an `scf.for`, and what is known of its indices. Writes: reads ahead of the loop, from the array as it came in.
Leaves: reads that a write of the loop may meet, or whose index is not proved to be in range where the loop may not run.

LLVM does not find this out by itself: a read that a write may change keeps it from vectorising the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.loops import terminator
from mlirad.analysis.ranges import Ranges
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import emit
from mlirad.dialect.ops.indexing import ElementUpdateOp, ExtractOp
from mlirad.lowering.rewriting import in_place_of, replace


def hoist_reads(loop: scf.ForOp, ranges: Ranges) -> None:
    """Move every such read of the loop's own block; the walk that fills `ranges` has just left the loop."""
    block = loop.body.block
    for number, (arg, init) in enumerate(zip(block.args[1:], loop.iter_args, strict=True)):
        reads = [use.operation for use in arg.uses if isinstance(use.operation, ExtractOp)]
        invariant = [op for op in reads if op.parent is block and all(_is_outside(i, loop) for i in op.indices)]
        writes = _writes(arg, terminator(block).operands[number], loop) if invariant else None
        for read in invariant if writes else ():
            if _is_in_range(read, ranges) and all(_are_apart(read, write, ranges) for write in writes or ()):
                with in_place_of(loop):
                    value = emit(ExtractOp, init, *read.indices).value
                replace(read, [value])


def _writes(arg: SSAValue, yielded: SSAValue, loop: scf.ForOp) -> list[ElementUpdateOp] | None:
    """The writes that make `yielded` of `arg`; None if anything else does."""
    writes: list[ElementUpdateOp] = []
    while yielded is not arg:
        owner = yielded.owner
        if not isinstance(owner, ElementUpdateOp) or owner.parent is not loop.body.block:
            return None
        writes.append(owner)
        yielded = owner.t
    return writes


def _is_outside(value: SSAValue, loop: scf.ForOp) -> bool:
    owner = value.owner
    return not loop.is_ancestor(owner if isinstance(owner, Operation) else owner.parent_op() or loop)


def _is_in_range(read: ExtractOp, ranges: Ranges) -> bool:
    sums = [ranges.sum_of(index) for index in read.indices]
    return all(
        size >= 0 and ranges.is_never_negative(total) and ranges.is_never_negative(total.scaled(-1).shifted(size - 1))
        for total, size in zip(sums, types.shape(read.t.type), strict=True)
    )


def _are_apart(read: ExtractOp, write: ElementUpdateOp, ranges: Ranges) -> bool:
    """Whether along some axis the two indices are proved to differ."""
    pairs: Sequence[tuple[SSAValue, SSAValue]] = list(zip(read.indices, write.indices, strict=True))
    return any(ranges.is_below(x, y) or ranges.is_below(y, x) for x, y in pairs)
