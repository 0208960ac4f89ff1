"""Arrays of a call that share memory.

Reads: the arrays in a call of compiled code. Writes: nothing. Gives: which of them overlap, and which are views of
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from mlirad.signature import ArrayLeaf, layout_of

if TYPE_CHECKING:
    from mlirad.frontend.aliases import Alias

_MANY = 64
"""From this many pairs on, pairs that cannot overlap are found by sorting."""
_MAX_WORK = 100_000
"""The limit of the search for an element that two arrays with interleaved strides share."""


@dataclass(frozen=True)
class Overlap:
    """`part` lies in `base` (numbers of inputs), from element `offset` on; strides in elements. Used as a key."""

    part: int
    base: int
    offset: int
    part_strides: tuple[int, ...]
    base_strides: tuple[int, ...]


def overlapping(values: Sequence[Any], written: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of arrays (numbers in order) that share memory, at least one of them written."""
    if len(values) * len(written) > _MANY:
        pairs = _near(values, set(written))
    else:
        arrays = [number for number, value in enumerate(values) if isinstance(value, np.ndarray)]
        pairs = ((a, b) for a in written for b in arrays if a != b)
    found = [(a, b) for a, b in pairs if np.may_share_memory(values[a], values[b]) and _share(values[a], values[b])]
    return sorted({(min(pair), max(pair)) for pair in found}) if found else found


def _near(values: Sequence[Any], written: set[int]) -> Iterator[tuple[int, int]]:
    """The pairs whose bounds overlap."""
    bounds = sorted(
        (*byte_bounds(value), number)
        for number, value in enumerate(values)
        if isinstance(value, np.ndarray) and value.size
    )
    open_: list[tuple[int, int]] = []
    for low, high, number in bounds:
        open_ = [(end, other) for end, other in open_ if end > low]
        for _, other in open_:
            if number in written or other in written:
                yield number, other
        open_.append((high, number))


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=_MAX_WORK)  # pyright: ignore[reportArgumentType]  # any number is allowed
    except np.exceptions.TooHardError:
        return True


def shared_groups(values: Sequence[Any], written: Sequence[int]) -> list[list[int]]:
    """The sets of arrays that share memory with one another; each set has an array that is written."""
    groups: list[set[int]] = [set(pair) for pair in overlapping(values, written)]
    everything = [number for number, value in enumerate(values) if isinstance(value, np.ndarray)]
    for pair in overlapping(values, everything):
        groups = [group | set(pair) if group & set(pair) else group for group in groups]
    merged: list[set[int]] = []
    for group in groups:
        touching = [each for each in merged if each & group]
        merged = [each for each in merged if not each & group] + [group.union(*touching)]
    return [sorted(group) for group in merged]


def views_of_one(values: Sequence[Any], group: Sequence[int], *, is_sure: bool = True) -> tuple[Overlap, ...] | int:
    """The arrays of a group as views of one of them; or, if that is impossible, the number of one that is not a view.

    is_sure: False only finds their positions; it does not check that they can be written as views.
    """
    arrays = {number: values[number] for number in group}
    best = max(group, key=lambda number: (arrays[number].size, arrays[number].flags.writeable))
    candidates = [n for n in group if arrays[n].size == arrays[best].size]
    candidates.sort(key=lambda number: not arrays[number].flags.writeable)
    failed = best
    for base in candidates:
        found = [_placed(part, arrays[part], base, arrays[base]) for part in group if part != base]
        if all(each is not None and (not is_sure or view_of_shared(each, values) is not None) for each in found):
            return tuple(each for each in found if each is not None)
        failed = next(each for each in group if each != base)
    return failed


def _placed(part: int, array: np.ndarray, base: int, whole: np.ndarray) -> Overlap | None:
    size = whole.itemsize
    distance = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    strides = [_strides(each) for each in (array, whole)]
    if array.dtype != whole.dtype or distance % size or any(stride % size for each in strides for stride in each):
        return None
    if (array.flags.writeable and not whole.flags.writeable) or not is_without_overlap(whole):
        return None
    own, wholes = (tuple(stride // size for stride in each) for each in strides)
    return Overlap(part, base, distance // size, own, wholes)


def _strides(array: np.ndarray) -> list[int]:
    """The strides; 0 for an axis of at most one element."""
    return [stride if size > 1 else 0 for stride, size in zip(array.strides, array.shape, strict=True)]


def view_of_shared(shared: Overlap, values: Sequence[Any]) -> Alias | None:
    """`part` as a view of `base`. The alias refers to inputs by number."""
    from mlirad.frontend.aliases import Alias, MemorySpan, view_within

    part, base = values[shared.part], values[shared.base]
    view = view_within(
        _leaf(base),
        MemorySpan(0, base.shape, shared.base_strides),
        _leaf(part),
        MemorySpan(shared.offset, part.shape, shared.part_strides),
    )
    return None if view is None else Alias(shared.base, view)


def _leaf(array: np.ndarray) -> ArrayLeaf:
    return ArrayLeaf(array.dtype, array.shape, layout_of(array), not array.flags.writeable)


def is_without_overlap(array: np.ndarray) -> bool:
    """Whether each axis steps over everything that axes of smaller strides reach: proof that no elements overlap."""
    reach = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and stride < reach:
            return False
        reach += (size - 1) * stride
    return True
