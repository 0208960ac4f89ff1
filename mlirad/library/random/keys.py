"""Random numbers from keys, in plain NumPy: the functions of `mlirad.random`. The numbers are the same with and without
compiling.

A key gives the same numbers whenever it is used: split it, and use each part once.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from mlirad.library.random.philox import FOLD, SPLIT, block_of, pairs, words

Shape = int | tuple[int, ...]
_FLOATS = np.float64, np.float32


def key(seed: Any) -> Any:
    """The key for a seed, an integer of 64 bits: an array of two uint32."""
    number = np.asarray(seed).astype(np.int64).astype(np.uint64)
    return np.stack([number >> np.uint64(32), number & np.uint64(0xFFFFFFFF)]).astype(np.uint32)


def split(key: Any, num: int = 2) -> Any:
    """`num` keys made from one, which must not be used again: an array of shape (num, 2)."""
    first, second, _, _ = block_of(key, num, SPLIT)
    return np.stack([first, second], axis=1).astype(np.uint32)


def fold_in(key: Any, data: Any) -> Any:
    """A key made from a key and an integer, such as the number of a step."""
    number = np.asarray(data).astype(np.int64).astype(np.uint64).reshape(1)
    first, second, _, _ = block_of(key, 1, FOLD, number)
    return np.stack([first[0], second[0]]).astype(np.uint32)


def bits(key: Any, shape: Shape = (), dtype: Any = np.uint32) -> Any:
    """Random integers over the full range of a dtype: uint8, uint16, uint32 or uint64."""
    kind = np.dtype(dtype)
    if kind.kind != "u":
        raise TypeError(f"bits are of an unsigned dtype, not {kind}")
    count = _count(shape)
    made = pairs(key, count) if kind.itemsize == 8 else words(key, count)
    return made.astype(kind).reshape(shape)


def uniform(key: Any, shape: Shape = (), dtype: Any = np.float64, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Numbers in [minval, maxval), with derivatives with respect to both."""
    return minval + (maxval - minval) * _unit(key, _count(shape), dtype).reshape(shape)


def _unit(key: Any, count: int, dtype: Any) -> Any:
    """Numbers in [0, 1): multiples of 2**-53, or of 2**-24 in float32."""
    kind = np.dtype(dtype)
    if kind == np.float32:
        return (words(key, count) >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
    if kind != np.float64:
        raise TypeError(f"random numbers are of float64 or float32, not {kind}")
    return (pairs(key, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(key: Any, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Normal numbers with mean 0 and variance 1, two from each two uniform ones (Box and Muller)."""
    count = _count(shape)
    half = -(-count // 2)
    uniform = _unit(key, 2 * half, dtype)
    radius = np.sqrt(-2.0 * np.log1p(-uniform[:half]))
    angle = 2.0 * math.pi * uniform[half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count].reshape(shape)


def exponential(key: Any, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Numbers with the density e^-x."""
    return -np.log1p(-_unit(key, _count(shape), dtype)).reshape(shape)


def gumbel(key: Any, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Numbers with the cumulative distribution e^-(e^-x)."""
    return -np.log(-np.log(_open(key, shape, dtype)))


def logistic(key: Any, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Numbers with the cumulative distribution 1 / (1 + e^-x)."""
    u = _open(key, shape, dtype)
    return np.log(u) - np.log1p(-u)


def laplace(key: Any, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Numbers with the density e^-|x| / 2."""
    u = 2.0 * _open(key, shape, dtype) - 1.0
    return -np.sign(u) * np.log1p(-np.abs(u))


def cauchy(key: Any, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Numbers with the density 1 / (pi (1 + x^2))."""
    return np.tan(math.pi * (_open(key, shape, dtype) - 0.5))


def _open(key: Any, shape: Shape, dtype: Any) -> Any:
    """Numbers in (0, 1): the midpoints of the steps of `uniform` (in float32, of steps of 2**-23)."""
    u = _unit(key, _count(shape), dtype).reshape(shape)
    if np.dtype(dtype) == np.float32:
        return np.floor(u * np.float32(2.0**23)) * np.float32(2.0**-23) + np.float32(2.0**-24)
    return np.floor(u * 2.0**52) * 2.0**-52 + 2.0**-53


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """True with probability p; with the shape of p, if none is given."""
    size = np.shape(p) if shape is None else shape
    return uniform(key, size) < p


def rademacher(key: Any, shape: Shape = (), dtype: Any = np.int64) -> Any:
    """-1 or 1, with equal probability."""
    return np.where(words(key, _count(shape)).reshape(shape) >> np.uint64(31) == np.uint64(1), 1, -1).astype(dtype)


def randint(key: Any, shape: Shape, minval: Any, maxval: Any, dtype: Any = np.int64) -> Any:
    """Integers in [minval, maxval) where minval < maxval; minval otherwise."""
    span = np.maximum(np.asarray(maxval).astype(np.int64) - np.asarray(minval).astype(np.int64), 1).astype(np.uint64)
    places = pairs(key, _count(shape)).reshape(shape) % span
    return (np.asarray(minval).astype(np.int64) + places.astype(np.int64)).astype(dtype)


def permutation(key: Any, x: Any, axis: int = 0) -> Any:
    """The numbers below x, or the slices of an array along an axis, in a random order."""
    is_count = np.ndim(x) == 0
    count = operator.index(x) if is_count else np.shape(x)[axis]
    order = np.argsort(pairs(key, count), kind="stable")
    return order if is_count else np.take(x, order, axis=axis)


def choice(key: Any, a: Any, shape: Shape = (), replace: bool = True, p: Any = None) -> Any:
    """Numbers below a, or elements of the array a (its slices along axis 0), with the probabilities p."""
    is_count = np.ndim(a) == 0
    count = operator.index(a) if is_count else np.shape(a)[0]
    size = _count(shape)
    if not replace and size > count:
        raise ValueError("choice: more numbers than there are, without replacement")
    if p is None:
        places = randint(key, (size,), 0, count) if replace else permutation(key, count)[:size]
    elif replace:
        total = np.cumsum(p)
        places = np.searchsorted(total, total[-1] * uniform(key, (size,)), side="right")
    else:
        places = np.argsort(-(np.log(p) + gumbel(key, (count,))), kind="stable")[:size]
    places = places.reshape(shape)
    return places if is_count else np.take(a, places, axis=0)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> Any:
    """Indices along an axis, with the probabilities softmax(logits). shape: of the result, without this axis."""
    scores = np.moveaxis(np.asarray(logits), axis, -1)
    size = scores.shape[:-1] if shape is None else shape
    return np.argmax(scores + gumbel(key, (*size, scores.shape[-1])), axis=-1)


def _count(shape: Shape) -> int:
    """The number of elements of a shape."""
    total = 1
    for size in shape if isinstance(shape, tuple) else (shape,):
        total *= operator.index(size)
    return total
