"""Joining arrays: NumPy's functions written with np.concatenate and np.stack."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.append", complex=True)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return np.concatenate([np.asarray(arr), np.asarray(values)], axis)


@spells("numpy.vstack", complex=True)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if isinstance(tup, np.ndarray):
        _require_rows(tup)
        rows: Any = tup if tup.ndim > 2 else np.reshape(tup, (len(tup), 1, -1))
        return np.concatenate(rows, 0, dtype=dtype, casting=casting)
    return np.concatenate([np.atleast_2d(each) for each in tup], 0, dtype=dtype, casting=casting)


@spells("numpy.hstack", complex=True)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if isinstance(tup, np.ndarray):
        _require_rows(tup)
        rows: Any = tup if tup.ndim > 1 else np.reshape(tup, (-1, 1))
        return np.concatenate(rows, 1 if tup.ndim > 2 else 0, dtype=dtype, casting=casting)
    arrays = [np.atleast_1d(each) for each in tup]
    return np.concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@spells("numpy.column_stack", complex=True)
def column_stack(tup: Any) -> Any:
    if isinstance(tup, np.ndarray):
        _require_rows(tup)
        rows: Any = tup if tup.ndim > 1 else tup[:, None]
        return np.concatenate(rows, 1) if rows.ndim > 2 else np.stack(rows, 1)
    arrays = [np.asarray(each) for each in tup]
    return np.concatenate([each if each.ndim > 1 else np.reshape(each, (-1, 1)) for each in arrays], 1)


def _require_rows(array: Any) -> None:
    if len(array) == 0:
        raise ValueError("need at least one array to concatenate")


@spells("numpy.dstack", complex=True)
def dstack(tup: Any) -> Any:
    if isinstance(tup, np.ndarray):
        _require_rows(tup)
    return np.concatenate([np.atleast_3d(each) for each in tup], 2)


@spells("numpy.block", complex=True)
def block(arrays: Any) -> Any:
    depth = 0
    first = arrays
    while isinstance(first, list):
        if len(first) == 0:
            raise ValueError("List at arrays cannot be empty")
        first = first[0]
        depth += 1
    if isinstance(first, tuple):
        raise TypeError(
            "arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow implicit "
            "conversion from tuple to ndarray."
        )
    leaves = [arrays]
    for _ in range(depth):
        inner = []
        for each in leaves:
            if not isinstance(each, list):
                raise ValueError(f"List depths are mismatched. First element was at list depth {depth}")
            inner.extend(each)
        leaves = inner
    rank = depth
    for each in leaves:
        if isinstance(each, list):
            raise ValueError(f"List depths are mismatched. First element was at list depth {depth}")
        rank = max(rank, np.ndim(each))
    if depth == 0:
        return np.array(arrays)
    if depth == 1:
        return _row(arrays, rank, -1)
    if depth == 2:
        return np.concatenate([_row(each, rank, -1) for each in arrays], -2)
    if depth == 3:
        return np.concatenate([np.concatenate([_row(row, rank, -1) for row in each], -2) for each in arrays], -3)
    raise NotImplementedError("np.block of lists four deep is not compiled", "use np.concatenate")


def _row(arrays: Any, rank: int, axis: int) -> Any:
    return np.concatenate([np.array(each, ndmin=rank) for each in arrays], axis)
