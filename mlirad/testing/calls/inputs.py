"""The arguments of sample calls, by name and by class of dtypes, and the layouts that an array may have.

Reads: nothing. Writes: nothing. Gives: arrays and numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

CLASSES = ("f64", "f32", "int", "bool")
"""The classes of dtypes that the table has columns for."""

DTYPES: Mapping[str, type] = {"f64": np.float64, "f32": np.float32, "int": np.int64, "bool": np.bool_}
_SHAPES = {"x": (3, 4), "y": (3, 4), "z": (3, 4), "u": (3, 4), "v": (5,), "w": (5,), "s": (3, 3), "t": (2, 3, 2)}
_NUMBERS = ("a", "b", "c")
NAMES = frozenset((*_SHAPES, *_NUMBERS, "i", "j", "m", "n"))
"""x y z u: arrays (3, 4). v w: (5,). s: (3, 3). t: (2, 3, 2). a b c: numbers. i: two
indices. j: integers (3, 4). m: a mask (3, 4). n: 2. Floats are in (0.1, 0.9), without ties."""


@cache
def used(text: str) -> tuple[str, ...]:
    """The inputs that a call reads, in the order of the alphabet."""
    tree = ast.parse(text)
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | stored
    return tuple(sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & NAMES - bound))


def of_class(text: str, kind: str) -> dict[str, Any]:
    """The inputs of a call. Math's functions get Python's numbers of f64, int and bool."""
    return {name: _input(name, kind) for name in used(text)}


def _input(name: str, kind: str) -> Any:
    fixed = {"i": np.array([2, 0]), "j": np.arange(12).reshape(3, 4) * 5 % 7, "n": 2}
    if name in fixed:
        return fixed[name]
    if name == "m":
        return np.arange(12).reshape(3, 4) % 3 == 0
    rng = np.random.default_rng(sum(map(ord, name)))
    if name in _NUMBERS:
        number = {"f64": float, "f32": np.float32, "int": int, "bool": bool}[kind]
        return number(rng.uniform(0.1, 0.9) if kind in ("f64", "f32") else rng.integers(1, 6))
    return of_dtype(_SHAPES[name], DTYPES[kind], rng)


def of_dtype(shape: Sequence[int], dtype: Any, rng: np.random.Generator) -> np.ndarray:
    """Floats in (0.1, 0.9) without ties, small positive integers, or booleans."""
    size = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind == "f":
        numbers = 0.1 + 0.8 * (rng.permutation(size) + rng.uniform(0.2, 0.8, size)) / max(size, 1)
    elif kind == "b":
        numbers = rng.permutation(size) % 2
    else:
        numbers = rng.integers(1, 8, size)
    return numbers.astype(dtype).reshape(shape)


LAYOUTS = ("plain", "strided", "negative", "transposed", "fortran", "read-only", "unaligned")


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same elements with another memory layout."""
    if array.ndim == 0:
        made = array.copy()
    elif layout == "strided":
        wide = np.zeros([2 * length for length in array.shape], array.dtype)
        made = wide[tuple(slice(0, 2 * length, 2) for length in array.shape)]
    elif layout == "negative":
        made = np.empty_like(array)[tuple(slice(None, None, -1) for _ in array.shape)]
    elif layout == "transposed":
        made = np.empty(array.shape[::-1], array.dtype).T
    elif layout == "fortran":
        made = np.empty(array.shape, array.dtype, order="F")
    elif layout == "unaligned":
        memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
        made = memory.view(array.dtype).reshape(array.shape)
    else:
        made = array.copy()
    made[...] = array
    made.flags.writeable = layout != "read-only"
    return made
