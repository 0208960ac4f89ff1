"""Powers and products of matrices, and functions of numpy.linalg that NumPy also has under another name."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from mlirad.library.linalg.operands import require_square
from mlirad.library.spells import spells


@spells("numpy.linalg.matrix_power", complex=True)
def matrix_power(a: Any, n: Any) -> Any:
    x = np.asarray(a)
    require_square(x)
    if isinstance(n, (float, str)):
        raise TypeError("exponent must be an integer")
    count = operator.index(n)
    if count == 0:
        return np.zeros_like(x) + np.eye(x.shape[-1], dtype=x.dtype)
    if count < 0:
        x, count = np.linalg.inv(x), -count
    if count == 1:
        return x
    if count == 3:
        return np.matmul(np.matmul(x, x), x)
    bits = [count >> k & 1 for k in range(count.bit_length())]
    square, found = x, None
    for k, bit in enumerate(bits):
        square = square if k == 0 else np.matmul(square, square)
        if bit:
            found = square if found is None else np.matmul(found, square)
    return found


@spells("numpy.linalg.multi_dot", complex=True)
def multi_dot(arrays: Any) -> Any:
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    factors = [np.asarray(each) for each in arrays]
    if len(factors) == 2:
        return np.dot(factors[0], factors[1])
    is_row, is_column = factors[0].ndim == 1, factors[-1].ndim == 1
    if is_row:
        factors[0] = factors[0][None, :]
    if is_column:
        factors[-1] = factors[-1][:, None]
    for each in factors:
        if each.ndim != 2:
            raise LinAlgError(f"{each.ndim}-dimensional array given. Array must be two-dimensional")
    found = _product(factors, _cuts([each.shape[0] for each in factors] + [factors[-1].shape[1]]), 0, len(factors) - 1)
    if is_row and is_column:
        return found[0, 0]
    return np.ravel(found) if is_row or is_column else found


def _cuts(sizes: Any) -> Any:
    """Where to split the product of each run of matrices at the least cost (Cormen et al., chapter 15.2)."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    cuts = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            tried = [(costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            costs[i, j], cuts[i, j] = min(tried)
    return cuts


def _product(factors: Any, cuts: Any, first: int, last: int) -> Any:
    if first == last:
        return factors[first]
    cut = cuts[first, last]
    return np.dot(_product(factors, cuts, first, cut), _product(factors, cuts, cut + 1, last))


@spells("numpy.linalg.tensorinv", complex=True)
def tensorinv(a: Any, ind: int = 2) -> Any:
    x = np.asarray(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = x.shape[ind:] + x.shape[:ind]
    count = 1
    for each in x.shape[ind:]:
        count *= each
    return np.reshape(np.linalg.inv(np.reshape(x, (count, -1))), shape)


@spells("numpy.linalg.tensorsolve", complex=True)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    rank = x.ndim
    if axes is not None:
        order = list(range(rank))
        for each in axes:
            order = [axis for axis in order if axis != each] + [each]
        x = np.transpose(x, order)
    shape = x.shape[-(rank - y.ndim) :]
    count = 1
    for each in shape:
        count *= each
    if x.size != count**2:
        message = "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        raise LinAlgError(message)
    return np.reshape(np.linalg.solve(np.reshape(x, (count, count)), np.ravel(y)), shape)


@spells("numpy.linalg.outer", complex=True)
def outer(x1: Any, x2: Any, /) -> Any:
    x, y = np.asarray(x1), np.asarray(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x.ndim} and x2.ndim={y.ndim}.")
    return np.outer(x, y)


@spells("numpy.linalg.cross", complex=True)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x, y = np.asarray(x1), np.asarray(x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x.shape[axis]} and {y.shape[axis]} dimensional instead."
        )
    return np.cross(x, y, axis=axis)


@spells("numpy.linalg.vecdot", complex=True)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return np.vecdot(x1, x2, axis=axis)  # pyright: ignore[reportCallIssue]  # the stubs have no axis


@spells("numpy.linalg.matmul", complex=True)
def matmul(x1: Any, x2: Any, /) -> Any:
    return np.matmul(x1, x2)


@spells("numpy.linalg.tensordot", complex=True)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(x1, x2, axes=axes)


@spells("numpy.linalg.diagonal", complex=True)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, -2, -1)


@spells("numpy.linalg.trace", complex=True)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x, offset, -2, -1, dtype)


@spells("numpy.linalg.matrix_transpose", complex=True)
def matrix_transpose(x: Any, /) -> Any:
    return np.matrix_transpose(x)
