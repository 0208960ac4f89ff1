"""Divisors and multiples of integers, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.gcd")
def gcd(x1: Any, x2: Any, /) -> Any:
    return _of_pairs("gcd", _common_divisor, x1, x2)


@spells("numpy.lcm")
def lcm(x1: Any, x2: Any, /) -> Any:
    return _of_pairs("lcm", _common_multiple, x1, x2)


def _of_pairs(name: str, function: Any, x1: Any, x2: Any) -> Any:
    if np.promote_types(np.asarray(x1).dtype, np.asarray(x2).dtype).kind not in "iu":
        raise TypeError(f"ufunc '{name}' not supported for the input types")
    total = np.bitwise_xor(x1, x2)  # of the dtype and the shape of the result
    x, y = np.broadcast_arrays(np.asarray(x1, dtype=total.dtype), np.asarray(x2, dtype=total.dtype))
    x, y, found = x.ravel(), y.ravel(), np.empty(total.size, total.dtype)
    for i in range(found.size):
        found[i] = function(x[i], y[i])
    return np.positive(found.reshape(total.shape))


def _common_divisor(x: Any, y: Any) -> Any:
    x, y = np.absolute(x), np.absolute(y)
    while y != 0:
        x, y = y, np.fmod(x, y)
    return np.absolute(x)


def _common_multiple(x: Any, y: Any) -> Any:
    common = _common_divisor(x, y)
    return np.absolute(x) // common * np.absolute(y) if common != 0 else common
