"""From the values of a call to what compiled code takes, and back.

Reads: the leaves of a call's arguments. Gives: C-contiguous arrays and scalars in the order of the code's inputs, and,
after the call, what was written copied back into the caller's arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

Fetch = Callable[[], Any]


@dataclass(frozen=True)
class Input:
    """One argument of compiled code: a leaf of the call's arguments, or a captured array that is fetched anew.

    leaf: the leaf's number, or None; then `fetch` gives the array. name: what messages call it. is_written: the code
    writes it.
    """

    leaf: int | None
    fetch: Fetch | None
    name: str
    is_written: bool


def gather(inputs: Sequence[Input], leaves: Sequence[Any]) -> list[Any]:
    """The caller's own values, one per input."""
    return [leaves[each.leaf] if each.leaf is not None else each.fetch() for each in inputs]  # type: ignore[misc]


def check_aliasing(inputs: Sequence[Input], values: Sequence[Any]) -> None:
    """Raises ValueError where an array that is written is read-only, or shares memory with another one or itself.

    Compiled code treats its arguments as separate arrays: with overlapping ones it would not do what NumPy does.
    """
    for index, (written, array) in enumerate(zip(inputs, values, strict=True)):
        if not written.is_written:
            continue
        if not array.flags.writeable:
            raise ValueError(f"assignment destination is read-only: {written.name} is written by the function")
        if array.size == 0:
            continue
        if not (array.flags.c_contiguous or _is_without_overlap(array)):
            raise ValueError(f"{written.name} is written, and some of its elements share memory; copy it first")
        low, high = byte_bounds(array)
        for other_index, (other, value) in enumerate(zip(inputs, values, strict=True)):
            if other_index == index or not isinstance(value, np.ndarray) or value.size == 0:
                continue
            other_low, other_high = byte_bounds(value)
            if other_low < high and low < other_high:
                raise ValueError(
                    f"{written.name} is written by the function and shares memory with {other.name}; "
                    f"pass a copy of one of them"
                )


def _is_without_overlap(array: np.ndarray) -> bool:
    """Whether each axis steps over all that the axes of smaller strides reach: sure proof that no elements overlap."""
    reach = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and stride < reach:
            return False
        reach += (size - 1) * stride
    return True


_USABLE = 0x101
"""Of `ndarray.flags.num`: C-contiguous, aligned."""


def contiguous(
    inputs: Sequence[Input], values: Sequence[Any]
) -> tuple[Sequence[Any], list[tuple[np.ndarray, np.ndarray]]]:
    """The values with strided or unaligned arrays copied, and the pairs (caller's array, copy) of the written ones."""
    taken: list[Any] | None = None
    copies: list[tuple[np.ndarray, np.ndarray]] = []
    for number, value in enumerate(values):
        if isinstance(value, np.ndarray) and value.flags.num & _USABLE != _USABLE:
            if taken is None:
                taken = list(values)
            taken[number] = np.array(value, order="C", copy=True, subok=False)
            if inputs[number].is_written:
                copies.append((value, taken[number]))
    return (values if taken is None else taken), copies


def write_back(copies: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """What was written in the copies, into the caller's arrays."""
    for array, copy in copies:
        array[...] = copy
