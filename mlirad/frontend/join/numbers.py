"""The join of two numbers: the dtype that represents both.

Reads: two numbers, static or traced. Writes: nothing. Leaves: the common dtype, and whether Python's or NumPy's rules
apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.frontend.values import nep50
from mlirad.frontend.values.nep50 import Several, StandIn, united
from mlirad.frontend.values.traced import Traced, stand_in
from mlirad.frontend.values.values import Static
from mlirad.signature import weak_kind

_INT64 = np.iinfo(np.int64)


def number_dtype(value: Static | Traced) -> tuple[np.dtype, bool] | None:
    """(dtype, weak) of a number; None for one that mlirad does not hold (complex, an int of more than 64 bits)."""
    if isinstance(value, Traced):
        return value.dtype, value.weak
    number = value.value
    if isinstance(number, np.generic):
        return (number.dtype, False) if types.has_dtype(number.dtype) else None
    if type(number) not in nep50.WEAK:
        return None
    if type(number) is int and not _INT64.min <= number <= _INT64.max:
        return None
    return nep50.weak_dtype(type(number)), True


@dataclass(frozen=True)
class Join:
    """How two numbers are held. is_either: whether the number is Python's on one path and NumPy's on the other; values:
    as in Either.

    kinds: the classes that a Python number has on the paths.
    """

    dtype: np.dtype
    weak: bool
    is_either: bool = False
    values: tuple[Any, ...] | None = None
    kinds: tuple[type, ...] = ()


def join_numbers(left: Static | Traced, right: Static | Traced) -> Join | None:
    """How both can be held without changing the program's results; None if that is impossible."""
    if number_dtype(left) is None or number_dtype(right) is None:
        return None
    sources = _source(left), _source(right)
    dtype = nep50.joined(*sources)
    if dtype is None or not all(_is_held(value, dtype) for value in (left, right)):
        return None
    kinds = nep50.in_order(kind for source in sources for kind in nep50.kinds_of(source))
    if all(isinstance(source, type | Several) for source in sources):
        return Join(dtype, True, kinds=kinds)
    if all(isinstance(source, np.dtype) for source in sources):
        return Join(dtype, False)
    return Join(dtype, False, True, united(*(_values(x, dtype) for x in (left, right))), kinds)


def _source(value: Static | Traced) -> StandIn:
    return stand_in(value if isinstance(value, Traced) else value.value)


def _values(value: Static | Traced, dtype: np.dtype) -> Sequence[Any] | None:
    """The Python numbers that a value may be, converted to the kind of `dtype`; none for a NumPy number."""
    if isinstance(value, Static):
        return () if isinstance(value.value, np.generic) else [weak_kind(dtype)(value.value)]
    if value.either is None:
        return None if value.weak else ()
    known = value.either.values
    return None if known is None else [weak_kind(dtype)(number) for number in known]


def _is_held(value: Static | Traced, dtype: np.dtype) -> bool:
    """Whether a number may be held in `dtype`."""
    return nep50.holds_all(dtype, value.dtype) if isinstance(value, Traced) else nep50.holds(dtype, value.value)
