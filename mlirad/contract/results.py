"""Descriptions of the results that a compiled function returns: numbers, arrays, the caller's own arrays.

Reads: nothing. Writes: nothing. Leaves: descriptions by which the call path makes Python values.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree


@dataclass(frozen=True)
class ArrayResult:
    """A new array: result number `index` of the function. shape: -1 is a size known only at run time."""

    index: int
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class ScalarResult:
    """A number: Python's bool, int or float if weak, else NumPy's."""

    index: int
    dtype: np.dtype
    weak: bool


@dataclass(frozen=True)
class StaticResult:
    """An object known at compile time."""

    value: Any


@dataclass(frozen=True)
class ArgumentAlias:
    """The very array that was passed as this leaf of the arguments."""

    leaf: int


@dataclass(frozen=True)
class CaptureAlias:
    """The very array that was captured under this number."""

    number: int


@dataclass(frozen=True)
class ContainerChange:
    """A list, dict or dataclass of the caller that has other items after the call.

    container: its number among the containers in the arguments. keys: the keys after the call. places: for each key,
    the number of its item among those that the function returns besides its value; None: the item does not change.
    """

    container: int
    keys: tuple[Hashable, ...]
    places: tuple[int | None, ...]


@dataclass(frozen=True)
class SliceStep:
    """A strided slice: for each axis of the base its start, number of elements and stride.

    axes: for each axis of the slice the axis of the base, or None for a new axis of length `repeats`. Axes of the base
    that do not appear are dropped.
    """

    starts: tuple[int | RunTime, ...]
    sizes: tuple[int | RunTime, ...]
    strides: tuple[int, ...]
    axes: tuple[int | None, ...]
    repeats: tuple[int | RunTime, ...]

    def numbers(self) -> tuple[int | RunTime, ...]:
        return (*self.starts, *self.sizes, *self.repeats)


@dataclass(frozen=True)
class RunTime:
    """A number that the function returns as its i64 result `index`."""

    index: int


@dataclass(frozen=True)
class ReshapeStep:
    """The elements in row-major order, in another shape."""

    base: tuple[int | RunTime, ...]
    shape: tuple[int | RunTime, ...]

    def numbers(self) -> tuple[int | RunTime, ...]:
        return (*self.base, *self.shape)


@dataclass(frozen=True)
class WindowsStep:
    """The windows of an array: axis r walks along axis `axes[r]` of the base, in steps of `steps[r]`."""

    rank: int
    axes: tuple[int, ...]
    steps: tuple[int, ...]
    shape: tuple[int, ...]

    def numbers(self) -> tuple[int | RunTime, ...]:
        return ()


@dataclass(frozen=True)
class PartStep:
    """The real or the imaginary part of the elements; `part` is "real" or "imag". It is the last step."""

    part: str

    def numbers(self) -> tuple[int | RunTime, ...]:
        return ()


ViewStep = SliceStep | ReshapeStep | WindowsStep | PartStep


@dataclass(frozen=True)
class ViewResult:
    """A view of another array: the steps to it, one after the other."""

    base: ArrayResult | ArgumentAlias | CaptureAlias
    steps: tuple[ViewStep, ...]
    readonly: bool


@dataclass(frozen=True)
class SameResult:
    """The same array, or list, as another leaf of the results."""

    leaf: int


@dataclass(frozen=True)
class ChoiceResult:
    """The option with the number that the i64 result `selector` holds."""

    selector: int
    options: tuple[ArrayResult | ArgumentAlias | CaptureAlias | ViewResult, ...]


@dataclass(frozen=True)
class ListResult:
    """A list that loops have filled. count: its length, a number or an i64 result.

    structure, rows: of an element. A leaf's result `index` is an array: its row k is that leaf of element k, and has
    the element's shape.
    """

    count: int | RunTime
    structure: tree.Structure
    rows: tuple[ArrayResult | ScalarResult, ...]


@dataclass(frozen=True)
class ResidualsResult:
    """The pullback that `mlirad.vjp` returns, or the linear function of `mlirad.linearize`: result number `index` holds
    its residuals, and `entry` computes it.

    sizes: the numbers of the i64 results with the unknown sizes in the shapes of its arguments, in order; then the
    sizes that a linear function takes.
    """

    index: int
    entry: PullbackEntry
    sizes: tuple[int, ...] = ()


Caller = ArgumentAlias | CaptureAlias
Array = ArrayResult | Caller | ViewResult
Result = Array | ScalarResult | StaticResult | SameResult | ChoiceResult | ListResult
ResultLeaf = Result | ResidualsResult


@dataclass(frozen=True)
class PullbackEntry:
    """@name(residuals, cotangents) -> cotangents of the primals.

    cotangents: structure and leaves of the argument (floats are operands, in order; other leaves are ignored).
    structure, results: of the result. is_linear: it is @name(residuals, tangents, unknown sizes of the results) ->
    tangents of the results, and its argument is a tuple of tangents.
    """

    name: str
    cotangents: tree.Structure
    cotangent_leaves: tuple[ArrayResult | ScalarResult | StaticResult, ...]
    structure: tree.Structure
    results: tuple[ResultLeaf, ...]
    is_linear: bool = False
