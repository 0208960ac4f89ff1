"""Reductions that are written with NumPy's other reductions, comparisons of whole arrays among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.ptp")
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@spells("numpy.isclose")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    x = a if isinstance(a, (int, float)) else np.asarray(a)
    # Whole numbers are compared as floats: the absolute value of the least one is no whole number.
    y: Any = b * 1.0 if isinstance(b, (int, float)) else np.asarray(b)
    if not isinstance(b, (int, float)):
        y = y.astype(np.result_type(y, 1.0))
    near = ((np.abs(x - y) <= atol + rtol * np.abs(y)) & np.isfinite(y)) | (x == y)
    return (near | (np.isnan(x) & np.isnan(y)))[()] if equal_nan else near[()]


@spells("numpy.allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@spells("numpy.array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = np.asarray(a1), np.asarray(a2)
    if x.shape != y.shape:
        return False
    if equal_nan:
        return bool(np.all((x == y) | ((x != x) & (y != y))))
    return bool(np.all(x == y))


@spells("numpy.array_equiv")
def array_equiv(a1: Any, a2: Any) -> bool:
    x, y = np.asarray(a1), np.asarray(a2)
    for axis in range(1, min(x.ndim, y.ndim) + 1):
        if x.shape[-axis] != y.shape[-axis] and x.shape[-axis] != 1 and y.shape[-axis] != 1:
            return False
    return bool(np.all(x == y))
