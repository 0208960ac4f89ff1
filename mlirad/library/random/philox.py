"""Random bits from a key and a counter: Philox 4x32 with 10 rounds.

Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (2011). A block of four words depends only on
the key and its counter. A word is kept in 64 bits, so nothing overflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = 10

BITS, SPLIT, FOLD = 0, 1, 2
"""The last word of a counter: the purpose of its block."""


def blocks(key: Any, counter: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """The four words of each block, as arrays; key: two words, counter: four."""
    first, second = key
    a, b, c, d = counter
    for number in range(_ROUNDS):
        if number > 0:
            first, second = (first + _STEPS[0]) & _LOW, (second + _STEPS[1]) & _LOW
        left, right = a * _FACTORS[0], c * _FACTORS[1]
        a, b, c, d = (right >> _HALF) ^ b ^ first, right & _LOW, (left >> _HALF) ^ d ^ second, left & _LOW
    return a, b, c, d


def words_of_key(key: Any) -> tuple[Any, Any]:
    """Raise TypeError unless it is a key."""
    if np.shape(key) != (2,) or np.asarray(key).dtype != np.uint32:
        raise TypeError("a key is an array of two uint32, which mlirad.random.key, split or fold_in makes")
    wide = np.asarray(key).astype(np.uint64)
    return wide[0], wide[1]


def block_of(key: Any, count: int, purpose: int, first: Any = None) -> tuple[Any, Any, Any, Any]:
    """The words of `count` blocks, numbered from 0; or of the single block with the number `first`."""
    place = np.arange(count).astype(np.uint64) if first is None else first
    zeros = np.zeros(count, np.uint64)
    return blocks(words_of_key(key), (place & _LOW, place >> _HALF, zeros, zeros + np.uint64(purpose)))


def words(key: Any, count: int) -> Any:
    """Random words in 64 bits."""
    size = -(-count // 4)
    return np.stack(block_of(key, size, BITS), axis=1).reshape(4 * size)[:count]


def pairs(key: Any, count: int) -> Any:
    """Random 64-bit numbers."""
    both = words(key, 2 * count)
    return (both[0::2] << _HALF) | both[1::2]
