"""Writes to a part of an array, and the read of the value that they overwrite.

Reads: ops that answer `subset`. Writes: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from mlirad.autodiff.sizes import size_source
from mlirad.dialect.core.op import NdOp, read_subset
from mlirad.dialect.core.subset import Range, Subset


def subset_of(op: NdOp) -> Subset:
    """The subset of an op that has one."""
    subset = op.subset()
    assert subset is not None
    return subset


def is_same_part(one: Subset, other: Subset) -> bool:
    """Whether two subsets are certainly the same part of an array.

    Unlike `Subset.is_same`, this finds the values that sizes known only at run time come from: a read takes its sizes
    as operands, and a write has the sizes of the value that it writes.
    """
    if one.is_same(other):
        return True
    ranges = list(map(_sized, one.ranges))
    is_known = type(one) is type(other) and one.is_all_of_ranges and None not in ranges
    return is_known and ranges == list(map(_sized, other.ranges))


def _sized(range: Range | None) -> Range | None:
    return (
        range
        if range is None or not isinstance(range.length, tuple)
        else replace(range, length=size_source(*range.length))
    )


def places_of(op: NdOp) -> Sequence[SSAValue]:
    """The indices of an op's read or write; for a slice that is read, also its lengths."""
    return subset_of(op).places


def equal_read(write: NdOp) -> SSAValue | None:
    """A value that was read, before the write and in its block, from exactly the part that the write overwrites."""
    written = subset_of(write)
    for use in written.array.uses:
        op = use.operation
        if op.parent is write.parent and (read := read_subset(op)) is not None and use.index == read.number:
            if op.is_before_in_block(write) and read.is_same(written):
                return read.part
    return None
