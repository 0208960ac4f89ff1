"""Checks the operands of NumPy's matrix functions, and raises NumPy's errors.

Reads: arguments. Writes: nothing. Leaves: arrays of float64, and the dtype of results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError


def require_matrix(a: Any) -> None:
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")


def require_square(a: Any) -> None:
    require_matrix(a)
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def result_dtype(x: Any, y: Any = None) -> Any:
    """float32 if all arrays are float32, else float64: LAPACK computes in float64. The same for complex numbers."""
    is_single = _is_single(x)
    if y is not None:
        is_single = _is_single(y) and is_single
    if x.dtype.kind == "c" or (y is not None and y.dtype.kind == "c"):
        return np.dtype(np.complex64) if is_single else np.dtype(np.complex128)
    return np.dtype(np.float32) if is_single else np.dtype(np.float64)


def _is_single(x: Any) -> bool:
    if x.dtype == np.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    return x.dtype in (np.float32, np.complex64)


def real_dtype(dtype: Any) -> Any:
    """The dtype of eigenvalues, singular values and norms, if `result_dtype` is this."""
    return np.dtype(np.float32 if dtype in (np.float32, np.complex64) else np.float64)


def complex_dtype(dtype: Any) -> Any:
    return np.dtype(np.complex64 if dtype in (np.float32, np.complex64) else np.complex128)


def as_double(a: Any, dtype: Any = np.float64) -> Any:
    """The array in the dtype that LAPACK computes in: complex if the dtype of the result is complex."""
    return a.astype(np.complex128 if np.dtype(dtype).kind == "c" else np.float64)


def require_all(failed: Any, message: str) -> None:
    """Raise LinAlgError if LAPACK reports failure for a matrix."""
    if np.any(failed):
        raise LinAlgError(message)
