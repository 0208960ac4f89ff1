"""QR factors, eigenvalues, singular values, pseudoinverses, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SVDResult

from mlirad.library.linalg import loops
from mlirad.library.linalg.operands import (
    as_double,
    complex_dtype,
    real_dtype,
    require_all,
    require_matrix,
    require_square,
    result_dtype,
)
from mlirad.library.spells import spells


@spells("numpy.linalg.qr", complex=True)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r", "raw"):
        if mode in ("f", "full", "e", "economic"):
            raise NotImplementedError(f"mode={mode!r} is not compiled", "the modes are reduced, complete, r and raw")
        raise ValueError(f"Unrecognized mode '{mode}'")
    x = np.asarray(a)
    require_matrix(x)
    dtype = result_dtype(x)
    message = "Incorrect argument found in performing QR factorization"
    if mode == "raw":
        packed, factors, failed = loops.reflections(as_double(x, dtype))
        require_all(failed, message)
        return np.swapaxes(packed, -1, -2).astype(dtype), factors.astype(dtype)
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        q, r, failed = loops.qr_complete(as_double(x, dtype))
    else:
        q, r, failed = loops.qr(as_double(x, dtype))
    require_all(failed, message)
    if mode == "r":
        return r.astype(dtype)
    return QRResult(q.astype(dtype), r.astype(dtype))


@spells("numpy.linalg.eigh", complex=True)
def eigh(a: Any, UPLO: str = "L") -> Any:
    is_lower = _is_lower(UPLO)
    x = np.asarray(a)
    require_square(x)
    dtype = result_dtype(x)
    held = as_double(x, dtype)
    values, vectors, failed = loops.eigh_lower(held) if is_lower else loops.eigh_upper(held)
    require_all(failed, _EIGENVALUES)
    return EighResult(values.astype(real_dtype(dtype)), vectors.astype(dtype))


@spells("numpy.linalg.eigvalsh", complex=True)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    is_lower = _is_lower(UPLO)
    x = np.asarray(a)
    require_square(x)
    dtype = result_dtype(x)
    held = as_double(x, dtype)
    values, failed = loops.eigvalsh_lower(held) if is_lower else loops.eigvalsh_upper(held)
    require_all(failed, _EIGENVALUES)
    return values.astype(real_dtype(dtype))


_EIGENVALUES = "Eigenvalues did not converge"


def _is_lower(triangle: str) -> bool:
    name = triangle.upper()
    if name not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return name == "L"


@spells("numpy.linalg.eig", complex=True)
def eig(a: Any) -> Any:
    """Complex results even if all eigenvalues are real, unlike NumPy: otherwise the dtype would depend on the
    elements."""
    x = np.asarray(a)
    dtype = _of_finite_square(x)
    values, vectors, failed = loops.eig(as_double(x, dtype))
    require_all(failed, _EIGENVALUES)
    return EigResult(values.astype(complex_dtype(dtype)), vectors.astype(complex_dtype(dtype)))


@spells("numpy.linalg.eigvals", complex=True)
def eigvals(a: Any) -> Any:
    """Complex results, as for `eig`."""
    x = np.asarray(a)
    dtype = _of_finite_square(x)
    values, failed = loops.eigvals(as_double(x, dtype))
    require_all(failed, _EIGENVALUES)
    return values.astype(complex_dtype(dtype))


def _of_finite_square(x: Any) -> Any:
    """The dtype of results computed from square matrices, which must have only finite elements."""
    require_square(x)
    if not np.all(np.isfinite(x)):
        raise LinAlgError("Array must not contain infs or NaNs")
    return result_dtype(x)


@spells("numpy.linalg.svd", complex=True)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    x = np.asarray(a)
    if hermitian:
        return _svd_by_eigenvalues(x, compute_uv)
    require_matrix(x)
    dtype = result_dtype(x)
    held = as_double(x, dtype)
    if not compute_uv:
        values, failed = loops.singular_values(held)
        require_all(failed, _SINGULAR_VALUES)
        return values.astype(real_dtype(dtype))
    left, values, right, failed = loops.svd_full(held) if full_matrices else loops.svd(held)
    require_all(failed, _SINGULAR_VALUES)
    return SVDResult(left.astype(dtype), values.astype(real_dtype(dtype)), right.astype(dtype))


_SINGULAR_VALUES = "SVD did not converge"


def _svd_by_eigenvalues(x: Any, compute_uv: bool) -> Any:
    if not compute_uv:
        return np.sort(np.abs(np.linalg.eigvalsh(x)))[..., ::-1]
    values, vectors = np.linalg.eigh(x)
    sign, sizes = np.copysign(1.0, values), np.abs(values)
    order = np.argsort(sizes)[..., ::-1]
    left = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    right = np.conj(np.swapaxes(left * np.take_along_axis(sign, order, axis=-1)[..., None, :], -1, -2))
    return SVDResult(left, np.take_along_axis(sizes, order, axis=-1), right)


@spells("numpy.linalg.svdvals", complex=True)
def svdvals(x: Any, /) -> Any:
    return np.linalg.svd(x, compute_uv=False)


_NOT_GIVEN = np._NoValue


@spells("numpy.linalg.pinv", complex=True)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN) -> Any:
    x = np.asarray(a)
    require_matrix(x)
    if rcond is None:
        if rtol is _NOT_GIVEN:
            rcond = 1e-15
        elif rtol is None:
            rcond = max(x.shape[-2:]) * np.finfo(x.dtype).eps
        else:
            rcond = rtol
    elif rtol is not _NOT_GIVEN:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if x.size == 0:
        return np.empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        is_kept = np.tri(x.shape[-1], dtype=bool)
        x = np.where(is_kept, x, np.conj(np.swapaxes(x, -1, -2)))
        if x.dtype.kind == "c":
            x = 0.5 * (x + np.conj(np.swapaxes(x, -1, -2)))  # only the real part of the diagonal is read
    dtype = result_dtype(x)
    cutoff = np.zeros(x.shape[:-2]) + np.asarray(rcond, np.float64)
    inverse, failed = loops.pseudoinverse(as_double(x, dtype), cutoff)
    require_all(failed, _SINGULAR_VALUES)
    return inverse.astype(dtype)


@spells("numpy.linalg.lstsq", complex=True)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    is_vector = y.ndim == 1
    if is_vector:
        y = y[:, None]
    for each in (x, y):
        if each.ndim != 2:
            raise LinAlgError(f"{each.ndim}-dimensional array given. Array must be two-dimensional")
    rows, columns = x.shape
    count = y.shape[1]
    if rows != y.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    dtype = result_dtype(x, y)
    if rcond is None:
        rcond = np.finfo(np.float64).eps * max(columns, rows)
    left, right = as_double(x, dtype), as_double(y if count else np.zeros((rows, 1)), dtype)
    found, squares, rank, values, failed = loops.least_squares(left, right, np.asarray(rcond, np.float64))
    require_all(failed, "SVD did not converge in Linear Least Squares")
    if rows == 0:
        found = np.zeros_like(found)
    known = count if rank == columns and rows > columns else 0
    solution = found[:, 0] if is_vector else found[:, :count]
    return solution.astype(dtype), squares[:known].astype(real_dtype(dtype)), rank, values.astype(real_dtype(dtype))
