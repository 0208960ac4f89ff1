"""Which number stands for two: their join (bool < int < float; NumPy's dtypes join only exactly).

Reads: two numbers, static or traced. Writes: nothing. Leaves: the dtype that both become, and whether it is weak.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlirad.dialect import types
from mlirad.frontend.promotion import weak_dtype, weak_join
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import Static

_BITS64 = frozenset({np.dtype(np.float64), np.dtype(np.int64)})
_INT64 = np.iinfo(np.int64)


def number_dtype(value: Static | Traced) -> tuple[np.dtype, bool] | None:
    """(dtype, weak) of a number; None for one that mlirad does not hold (complex, an int of more than 64 bits)."""
    if isinstance(value, Traced):
        return value.dtype, value.weak
    number = value.value
    if isinstance(number, np.generic):
        return (number.dtype, False) if types.has_dtype(number.dtype) else None
    if type(number) not in (bool, int, float):
        return None
    if type(number) is int and not _INT64.min <= number <= _INT64.max:
        return None
    return weak_dtype(type(number)), True


def join_numbers(left: Static | Traced, right: Static | Traced) -> tuple[np.dtype, bool] | None:
    """The (dtype, weak) that both can be held in without changing what the program computes; None: there is none."""
    a, b = number_dtype(left), number_dtype(right)
    if a is None or b is None:
        return None
    if a == b:
        return a
    if a[1] and b[1]:
        return weak_dtype(weak_join(_kind(a[0]), _kind(b[0]))), True
    if a[1] or b[1]:
        weak, strong = (left, b[0]) if a[1] else (right, a[0])
        return (strong, False) if _is_exact(weak, strong) else None
    return (np.dtype(np.float64), False) if {a[0], b[0]} == _BITS64 else None


def _kind(dtype: np.dtype) -> type:
    return {"b": bool, "i": int}.get(dtype.kind, float)


def _is_exact(weak: Static | Traced, strong: np.dtype) -> bool:
    """Whether a Python number may become a NumPy number of dtype `strong`."""
    if isinstance(weak, Traced):
        return weak.dtype == strong
    number: Any = weak.value
    if isinstance(number, bool) or strong.kind == "b":
        return isinstance(number, bool) and strong.kind == "b"
    if strong.kind in "iu":
        info = np.iinfo(strong)
        return isinstance(number, int) and info.min <= number <= info.max
    with np.errstate(over="ignore"):
        return math.isnan(number) or float(strong.type(number)) == number
