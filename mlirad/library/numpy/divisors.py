"""Common divisors and multiples of integers, and the bits of bytes."""

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
    total = np.bitwise_xor(x1, x2)  # with the dtype and the shape of the result
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


def _shifts(bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return np.arange(8)[::-1] if bitorder == "big" else np.arange(8)


@spells("numpy.packbits")
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    x = np.asarray(a)
    if x.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = np.ravel(x) if axis is None else np.moveaxis(x, axis, -1)
    count = -(-bits.shape[-1] // 8)
    padded = np.zeros((*bits.shape[:-1], 8 * count), np.int64)
    padded[..., : bits.shape[-1]] = bits != 0
    packed = np.sum(np.reshape(padded, (*bits.shape[:-1], count, 8)) << _shifts(bitorder), -1).astype(np.uint8)
    return packed if axis is None else np.moveaxis(packed, -1, axis)


@spells("numpy.unpackbits")
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    x = np.asarray(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    held = np.ravel(x) if axis is None else np.moveaxis(x, axis, -1)
    bits = np.reshape(
        (held[..., None] >> _shifts(bitorder).astype(np.uint8)) & 1, (*held.shape[:-1], 8 * held.shape[-1])
    )
    if count is not None:
        if count < -bits.shape[-1]:
            raise ValueError(f"-count larger than number of elements (count={-count}, elements={bits.shape[-1]})")
        if count > bits.shape[-1]:
            bits = np.concatenate((bits, np.zeros((*bits.shape[:-1], count - bits.shape[-1]), np.uint8)), -1)
        else:
            bits = bits[..., :count]
    return bits if axis is None else np.moveaxis(bits, -1, axis)
