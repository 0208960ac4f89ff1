"""Arrays put together: the functions of NumPy that are written with np.concatenate and np.stack."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return np.concatenate([np.asarray(arr), np.asarray(values)], axis)


@spells("numpy.vstack")
def vstack(tup: Any) -> Any:
    if isinstance(tup, np.ndarray):
        _require_rows(tup)
        return np.concatenate(tup if tup.ndim > 2 else np.reshape(tup, (len(tup), 1, -1)), 0)
    return np.concatenate([np.atleast_2d(each) for each in tup], 0)


@spells("numpy.hstack")
def hstack(tup: Any) -> Any:
    if isinstance(tup, np.ndarray):
        _require_rows(tup)
        return np.concatenate(tup if tup.ndim > 1 else np.reshape(tup, (-1, 1)), 1 if tup.ndim > 2 else 0)
    arrays = [np.atleast_1d(each) for each in tup]
    return np.concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1)


@spells("numpy.column_stack")
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
