"""Polynomials by their coefficients, the highest power first, as the older functions of NumPy have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.polyval")
def polyval(p: Any, x: Any) -> Any:
    coefficients, at = np.asarray(p), np.asarray(x)
    if len(coefficients) == 0:
        return np.zeros_like(at)
    dtype = np.result_type(coefficients, at)
    value = np.zeros(at.shape, dtype) * at + coefficients[0]
    for k in range(1, len(coefficients)):
        value = value * at + coefficients[k]
    return value


@spells("numpy.polyadd")
def polyadd(a1: Any, a2: Any) -> Any:
    x, y = _of_one_length(np.atleast_1d(a1), np.atleast_1d(a2))
    return x + y


@spells("numpy.polysub")
def polysub(a1: Any, a2: Any) -> Any:
    x, y = _of_one_length(np.atleast_1d(a1), np.atleast_1d(a2))
    return x - y


def _of_one_length(x: Any, y: Any) -> Any:
    if len(x) < len(y):
        x = np.concatenate((np.zeros(len(y) - len(x), x.dtype), x))
    elif len(y) < len(x):
        y = np.concatenate((np.zeros(len(x) - len(y), y.dtype), y))
    return x, y


@spells("numpy.polyder")
def polyder(p: Any, m: int = 1) -> Any:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    x = np.asarray(p)
    for _ in range(m):
        x = x[:-1] * np.arange(len(x) - 1, 0, -1)
    return x


@spells("numpy.polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    added = np.zeros(m) if k is None else np.atleast_1d(k)
    if len(added) == 1 and m > 1:
        added = added[0] * np.ones(m)
    if len(added) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    x = np.asarray(p)
    for number in range(m):
        x = np.concatenate((x / np.arange(len(x), 0, -1), added[number : number + 1]))
    return x


@spells("numpy.poly")
def poly(seq_of_zeros: Any) -> Any:
    if np.ndim(seq_of_zeros) == 0:
        raise TypeError("dispatcher for __array_function__ did not return an iterable")
    roots = np.asarray(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and len(roots) > 0:
        raise NotImplementedError("np.poly of a matrix is not compiled", "give the zeros, as a vector")
    if roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if len(roots) == 0:
        return 1.0
    # The dtype of whole numbers, too, is a float's.
    dtype = np.float32 if roots.dtype == np.float32 else np.float64
    made = np.zeros(len(roots) + 1, dtype)
    made[0] = 1.0
    for k in range(len(roots)):
        made[1:] = made[1:] - roots[k] * made[:-1]
    return made


@spells("numpy.vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    held = np.asarray(x)
    if held.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = len(held) if N is None else N
    made = np.ones((len(held), columns), np.promote_types(held.dtype, int))
    powers = made if increasing else made[:, ::-1]
    for k in range(1, columns):
        powers[:, k] = powers[:, k - 1] * held
    return made
