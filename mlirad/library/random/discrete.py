"""Methods of `numpy.random.Generator` that draw integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.random.draws import drawn, each_whole, number_of, real, shape_of_draw, whole
from mlirad.library.random.parameters import (
    require_above_1,
    require_mean,
    require_mean_of_failures,
    require_non_negative,
    require_positive_probability,
    require_probability,
    require_probability_below_1,
)


def poisson(self: Any, lam: Any = 1.0, size: Any = None) -> Any:
    lam = real(lam)
    require_mean(lam, "lam")
    return each_whole(self, "poisson", size, lam)


def geometric(self: Any, p: Any, size: Any = None) -> Any:
    p = real(p)
    require_positive_probability(p, "p")
    return each_whole(self, "geometric", size, p)


def zipf(self: Any, a: Any, size: Any = None) -> Any:
    a = real(a)
    require_above_1(a, "a")
    return each_whole(self, "zipf", size, a)


def logseries(self: Any, p: Any, size: Any = None) -> Any:
    p = real(p)
    require_probability_below_1(p, "p")
    return each_whole(self, "logseries", size, p)


def binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    n, p = whole(n), real(p)
    require_probability(p, "p")
    require_non_negative(n, "n")
    return each_whole(self, "binomial", size, p, n)


def negative_binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    n, p = real(n), real(p)
    require_mean_of_failures(n, p)
    return each_whole(self, "negative_binomial", size, n, p)


def hypergeometric(self: Any, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
    ngood, nbad, nsample = whole(ngood), whole(nbad), whole(nsample)
    if np.any(np.logical_or(np.greater_equal(ngood, 10**9), np.greater_equal(nbad, 10**9))):
        raise ValueError("both ngood and nbad must be less than 1000000000")
    if np.any(np.less(np.add(ngood, nbad), nsample)):
        raise ValueError("ngood + nbad < nsample")
    require_non_negative(ngood, "ngood")
    require_non_negative(nbad, "nbad")
    require_non_negative(nsample, "nsample")
    return each_whole(self, "hypergeometric", size, ngood, nbad, nsample)


def integers(
    self: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
) -> Any:
    kind = np.dtype(dtype)
    if kind.kind not in "biu":
        raise TypeError(f"Unsupported dtype dtype('{kind}') for integers")
    low, high = (0, low) if high is None else (low, high)
    if np.ndim(low) == 0 and np.ndim(high) == 0:
        made = _between(self, int(low), int(high), size, kind, endpoint)
    else:
        made = _between_arrays(self, np.asarray(low), np.asarray(high), size, kind, endpoint)
    if size is None and np.ndim(made) == 0 and (dtype is int or dtype is bool):
        return dtype(made)
    return made


def _between(rng: Any, low: Any, high: Any, size: Any, kind: Any, endpoint: bool) -> Any:
    """Integers between two numbers: NumPy fills whole arrays with them."""
    shape = None if size is None else np.empty(size).shape
    if shape is not None and 0 in shape:
        return np.empty(shape, kind)
    last = high if endpoint else high - 1
    least, most = limits_of(kind)
    if low < least:
        raise ValueError(f"low is out of bounds for {kind}")
    if last > most:
        raise ValueError(f"high is out of bounds for {kind}")
    if low > last:
        raise ValueError(_wrong_bounds(low == 0, endpoint))
    bits = 64 if kind.itemsize == 8 else 32
    unsigned = np.uint64 if bits == 64 else np.uint32
    start, width = np.asarray(low).astype(unsigned)[()], np.asarray(last - low).astype(unsigned)[()]
    count = 1 if shape is None else number_of(shape)
    if shape is None and bits == 64:
        return drawn(rng._bitgen_words, "bounded_uint64", None, start, width).astype(kind)
    name = "bool" if kind == np.bool_ else f"uint{8 * kind.itemsize}"
    made = drawn(rng._bitgen_words, f"bounded_{name}_fill", count, start, width).astype(kind)
    return made[0] if shape is None else made.reshape(shape)


def _between_arrays(rng: Any, low: Any, high: Any, size: Any, kind: Any, endpoint: bool) -> Any:
    """Integers between arrays of bounds: one call for each element."""
    if kind.itemsize < 4:
        raise NotImplementedError(
            "integers of 8 or 16 bits between arrays of bounds are not compiled", "draw in a loop over the bounds"
        )
    if low.dtype.kind not in "biu" or high.dtype.kind not in "biu":
        raise NotImplementedError(
            "integers between bounds that are floats are not compiled", "convert them: low.astype(np.int64)"
        )
    if low.dtype == np.uint64 or high.dtype == np.uint64 or kind == np.uint64:
        raise NotImplementedError(
            "uint64 integers between arrays of bounds are not compiled", "draw in a loop over the bounds"
        )
    first, last = low.astype(np.int64), high.astype(np.int64)
    shape = shape_of_draw(size, first, last)
    least, most = limits_of(kind)
    if kind.itemsize < 8:
        if np.any(first < least):
            raise ValueError(f"low is out of bounds for {kind}")
        if np.any(last > most if endpoint else last > most + 1):
            raise ValueError(f"high is out of bounds for {kind}")
    if np.any(first > last if endpoint else first >= last):
        raise ValueError(_wrong_bounds(not np.any(first), endpoint))
    last = last if endpoint else last - 1
    unsigned = np.uint64 if kind.itemsize == 8 else np.uint32
    start = np.broadcast_to(first.astype(unsigned), shape).ravel()
    width = np.broadcast_to((last - first).astype(unsigned), shape).ravel()
    function = "bounded_uint64" if kind.itemsize == 8 else "buffered_bounded_uint32"
    return drawn(rng._bitgen_words, function, number_of(shape), start, width).astype(kind).reshape(shape)


def limits_of(kind: Any) -> tuple[int, int]:
    if kind == np.bool_:
        return 0, 1
    bits = 8 * kind.itemsize
    return (0, 2**bits - 1) if kind.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _wrong_bounds(is_from_0: Any, endpoint: bool) -> str:
    if is_from_0:
        return "high < 0" if endpoint else "high <= 0"
    return "low > high" if endpoint else "low >= high"
