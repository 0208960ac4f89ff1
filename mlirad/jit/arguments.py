"""Converts the values of a call to the inputs of compiled code, and back.

Reads: the leaves of a call's arguments. Gives: C-contiguous arrays and scalars in the order of the code's inputs. After
the call, copies what was written back into the caller's arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.call_recipes import USABLE
from mlirad.errors import DEVIATIONS
from mlirad.jit.aliasing import is_without_overlap, overlapping

Fetch = Callable[[], Any]


@dataclass(frozen=True)
class Input:
    """One input of compiled code: a leaf of the call's arguments, or a captured array that is fetched at each call.

    leaf_number: None for a capture; then `fetch` gives the array. key: the frontend's name for it (the leaf's number,
    or -1 - k for capture k). name: its name in messages. is_written: the code writes it.
    """

    leaf_number: int | None
    fetch: Fetch | None
    key: int
    name: str
    is_written: bool


def gather(inputs: Sequence[Input], leaves: Sequence[Any]) -> list[Any]:
    """The caller's own values, one per input."""
    return [
        leaves[each.leaf_number] if each.leaf_number is not None else each.fetch()  # pyright: ignore[reportOptionalCall]  # of captures
        for each in inputs
    ]


def check_written(inputs: Sequence[Input], values: Sequence[Any], written: Sequence[int]) -> None:
    """Raises ValueError if elements of a written array (`written`: their numbers) share memory."""
    for number in written:
        array = values[number]
        if array.flags.c_contiguous or not array.size or is_without_overlap(array):
            continue
        raise ValueError(
            f"{inputs[number].name} is written, and some of its elements share memory; copy it first (see {DEVIATIONS})"
        )


def free_to_take(values: Sequence[Any], donated: Sequence[int]) -> Sequence[Any]:
    """The values, with copies of donated arrays that share memory with others, or are not plain ndarrays."""
    sharing = {number for pair in overlapping(values, donated) for number in pair}
    copied = [number for number in donated if number in sharing or type(values[number]) is not np.ndarray]
    if not copied:
        return values
    separate = list(values)
    for number in copied:
        separate[number] = np.array(values[number], order="C", copy=True, subok=False)
    return separate


def require_separate(args: Sequence[Any], kwargs: Mapping[str, Any], around: Iterable[Any]) -> None:
    """Raises ValueError if a list, dict or dataclass is passed twice, or is also among those `around` the function."""
    seen = {id(each) for each in around}
    for name, value in (*enumerate(args), *kwargs.items()):
        for container in _containers(value):
            if id(container) in seen:
                kind = type(container).__name__
                raise ValueError(
                    f"a {kind} in argument {name!r} is passed twice, or also captured by the function, and the "
                    f"function changes it; pass a copy of it (see {DEVIATIONS})"
                )
            seen.add(id(container))


def _containers(value: Any) -> Iterator[Any]:
    inner = tree.children(value)
    if inner is not None and not isinstance(inner[0], tree.GeneratorParts):
        if not isinstance(value, tuple):
            yield value
        for item in inner[1]:
            yield from _containers(item)


def contiguous(
    inputs: Sequence[Input], values: Sequence[Any]
) -> tuple[Sequence[Any], list[tuple[np.ndarray, np.ndarray]]]:
    """The values with strided or unaligned arrays copied, and the pairs (caller's array, copy) of the written ones."""
    packed: list[Any] | None = None
    copies: list[tuple[np.ndarray, np.ndarray]] = []
    for number, value in enumerate(values):
        if isinstance(value, np.ndarray) and value.flags.num & USABLE != USABLE:
            if packed is None:
                packed = list(values)
            packed[number] = np.array(value, order="C", copy=True, subok=False)
            if inputs[number].is_written:
                copies.append((value, packed[number]))
    return (values if packed is None else packed), copies


def write_back(copies: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Copies what was written in the copies into the caller's arrays."""
    for array, copy in copies:
        array[...] = copy
