"""What the results of a compiled function are to its caller: numbers, arrays, the caller's own arrays.

Reads: nothing. Writes: nothing. Leaves: descriptions by which the call path makes Python values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree


@dataclass(frozen=True)
class ArrayResult:
    """A new array: result number `index` of the function."""

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
class SameResult:
    """The same array as another leaf of the results."""

    leaf: int


@dataclass(frozen=True)
class ChoiceResult:
    """The option whose number the i64 result `selector` is."""

    selector: int
    options: tuple[ArrayResult | ArgumentAlias | CaptureAlias, ...]


@dataclass(frozen=True)
class ResidualsResult:
    """The pullback that `mlirad.vjp` returns: result number `index` holds its residuals, and `entry` computes it."""

    index: int
    entry: PullbackEntry


Result = ArrayResult | ScalarResult | StaticResult | ArgumentAlias | CaptureAlias | SameResult | ChoiceResult
ResultLeaf = Result | ResidualsResult


@dataclass(frozen=True)
class PullbackEntry:
    """@name(residuals, cotangents) -> cotangents of the primals.

    cotangents: structure and leaves of what is passed in (those of floats are operands, in order; others are ignored).
    structure, results: of what comes out.
    """

    name: str
    cotangents: tree.Structure
    cotangent_leaves: tuple[ArrayResult | ScalarResult | StaticResult, ...]
    structure: tree.Structure
    results: tuple[ResultLeaf, ...]
