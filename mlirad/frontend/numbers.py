"""Which number stands for two: their join (bool < int < float; NumPy's dtypes join only exactly).

Reads: two numbers, static or traced. Writes: nothing. Leaves: the dtype that both become, and whose rules hold for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.dialect import types
from mlirad.frontend.kinds import Either, united
from mlirad.frontend.promotion import weak_dtype, weak_join, weak_kind
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


@dataclass(frozen=True)
class Join:
    """What two numbers are held as. is_either: whether Python's or NumPy's, as the path is; values: as of an Either."""

    dtype: np.dtype
    weak: bool
    is_either: bool = False
    values: tuple[Any, ...] | None = None


def join_numbers(left: Static | Traced, right: Static | Traced) -> Join | None:
    """What both can be held as without changing what the program computes; None: there is none."""
    a, b = number_dtype(left), number_dtype(right)
    if a is None or b is None:
        return None
    both_weak = a[1] and b[1]
    if both_weak:
        dtype = weak_dtype(weak_join(_kind(a[0]), _kind(b[0])))
        return Join(dtype, True) if all(_is_held(x, dtype) for x in (left, right)) else None
    dtype = _common(a, b)
    if dtype is None:
        return None
    for value, (own, weak) in ((left, a), (right, b)):
        if (weak and (own.kind == "b") != (dtype.kind == "b")) or not _is_held(value, dtype):
            return None
    if not (a[1] or b[1] or _either(left) or _either(right)):
        return Join(dtype, False)
    return Join(dtype, False, True, united(*(_values(x, dtype) for x in (left, right))))


def _common(a: tuple[np.dtype, bool], b: tuple[np.dtype, bool]) -> np.dtype | None:
    """NumPy's dtype of two numbers (dtype, weak) that are not both Python's."""
    if a[1] or b[1]:
        return b[0] if a[1] else a[0]
    if a[0] == b[0]:
        return a[0]
    return np.dtype(np.float64) if {a[0], b[0]} == _BITS64 else None


def _either(value: Static | Traced) -> Either | None:
    return value.either if isinstance(value, Traced) else None


def _values(value: Static | Traced, dtype: np.dtype) -> Sequence[Any] | None:
    """The Python numbers that a value may be, of the kind that `dtype` holds; none of a NumPy number."""
    if isinstance(value, Static):
        return () if isinstance(value.value, np.generic) else [weak_kind(dtype)(value.value)]
    if value.either is None:
        return None if value.weak else ()
    known = value.either.values
    return None if known is None else [weak_kind(dtype)(number) for number in known]


def _kind(dtype: np.dtype) -> type:
    return {"b": bool, "i": int}.get(dtype.kind, float)


def _is_held(value: Static | Traced, dtype: np.dtype) -> bool:
    """Whether a number may be held in `dtype`; a traced int in a float is checked where it is converted."""
    if isinstance(value, Traced):
        if value.weak and dtype.itemsize < 8 and value.dtype != dtype:
            return False
        return value.dtype == dtype or (value.dtype.kind in "bi" and dtype in _BITS64)
    number: Any = value.value
    if isinstance(number, np.generic):
        return number.dtype == dtype or float(number) == int(number)
    if isinstance(number, bool) or dtype.kind == "b":
        return isinstance(number, bool) and (dtype.kind == "b" or dtype in _BITS64)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return isinstance(number, int) and info.min <= number <= info.max
    with np.errstate(over="ignore"):
        return math.isnan(number) or float(dtype.type(number)) == number
