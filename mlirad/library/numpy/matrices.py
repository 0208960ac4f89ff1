"""Parts of matrices: triangles and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.tril", complex=True)
def tril(m: Any, k: int = 0) -> Any:
    x = np.asarray(m)
    return np.where(np.tri(*x.shape[-2:], k=k, dtype=bool), x, np.zeros((), x.dtype))


@spells("numpy.triu", complex=True)
def triu(m: Any, k: int = 0) -> Any:
    x = np.asarray(m)
    return np.where(np.tri(*x.shape[-2:], k=k - 1, dtype=bool), np.zeros((), x.dtype), x)


@spells("numpy.trace", method="trace", complex=True)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return np.sum(np.diagonal(a, offset, axis1, axis2), -1, dtype)


@spells("numpy.diag", complex=True)
def diag(v: Any, k: Any = 0) -> Any:
    x = np.asarray(v)
    if x.ndim == 2:
        return np.diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    size = len(x) + abs(k)
    made = np.zeros((size, size), x.dtype)
    start = k if k >= 0 else -k * size
    made.reshape(-1)[start : start + len(x) * (size + 1) : size + 1] = x
    return made


@spells("numpy.diagflat", complex=True)
def diagflat(v: Any, k: int = 0) -> Any:
    return np.diag(np.ravel(v), k)


@spells("numpy.fill_diagonal", complex=True)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and min(a.shape) != max(a.shape):
        raise ValueError("All dimensions of input must be of equal length")
    rows, columns = a.shape[0], a.shape[-1]
    if wrap and a.ndim == 2 and rows > columns:
        place = range(0, rows * columns, columns + 1)
        along = ([k // columns for k in place], [k % columns for k in place])
    else:
        along = (list(range(min(rows, columns))),) * a.ndim
    count = len(along[0])
    if count > 0:
        a[along] = np.ravel(val) if np.size(val) == 1 else np.resize(val, count)


@spells("numpy.diag_indices_from", complex=True)
def diag_indices_from(arr: Any) -> Any:
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if min(arr.shape) != max(arr.shape):
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0], arr.ndim)


@spells("numpy.tril_indices_from", complex=True)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return np.tril_indices(arr.shape[-2], k, arr.shape[-1])


@spells("numpy.triu_indices_from", complex=True)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return np.triu_indices(arr.shape[-2], k, arr.shape[-1])


@spells("numpy.tril_indices")
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    return np.nonzero(np.tri(n, m, k, bool))


@spells("numpy.triu_indices")
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    return np.nonzero(~np.tri(n, m, k - 1, bool))


@spells("numpy.diag_indices")
def diag_indices(n: Any, ndim: int = 2) -> Any:
    return (np.arange(n),) * ndim


@spells("numpy.mask_indices")
def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> Any:
    return np.nonzero(mask_func(np.ones((n, n), int), k) != 0)
