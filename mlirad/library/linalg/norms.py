"""Norms of vectors and matrices, condition numbers, ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.linalg import LinAlgError

from mlirad.library.linalg import loops
from mlirad.library.linalg.operands import as_double, real_dtype, require_square, result_dtype
from mlirad.library.spells import spells


@spells("numpy.linalg.norm", complex=True)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    a = np.asarray(x)
    if a.dtype.kind == "c":
        a = np.abs(a) if not _is_of_values(ord, a, axis) else a
    elif a.dtype.kind != "f":
        a = a.astype(np.float64)
    rank = a.ndim
    if axis is None:
        if ord is None or (rank == 2 and ord in ("f", "fro")) or (rank == 1 and ord == 2):
            found = np.sqrt(np.vdot(a, a))
            return np.reshape(found, rank * [1]) if keepdims else found
        axes = tuple(range(rank))
    else:
        axes = axis if isinstance(axis, tuple) else (_as_axis(axis),)
    if len(axes) == 1:
        return _of_vectors(a, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    row, column = normalize_axis_index(axes[0], rank), normalize_axis_index(axes[1], rank)
    if row == column:
        raise ValueError("Duplicate axes given.")
    return _of_matrices(a, ord, row, column, keepdims)


def _is_of_values(ord: Any, x: Any, axis: Any) -> bool:
    """Whether a norm is computed from singular values, rather than from the sizes of elements."""
    is_matrix = x.ndim == 2 if axis is None else isinstance(axis, tuple) and len(axis) == 2
    return is_matrix and (ord == "nuc" if isinstance(ord, str) else ord is not None and abs(ord) == 2)


def _as_axis(axis: Any) -> int:
    if isinstance(axis, (float, int, np.integer)):
        return int(axis)
    raise TypeError("'axis' must be None, an integer or a tuple of integers")


def _of_vectors(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return np.sqrt(np.sum(x * x, axis, keepdims=keepdims))
    if ord == np.inf:
        return np.max(np.abs(x), axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.min(np.abs(x), axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(x.dtype), axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis, keepdims=keepdims)
    return np.sum(np.abs(x) ** ord, axis, keepdims=keepdims) ** (1 / np.asarray(ord, x.dtype)[()])


def _of_matrices(x: Any, ord: Any, row: int, column: int, keepdims: bool) -> Any:
    if ord is None or (isinstance(ord, str) and ord in ("fro", "f")):
        return np.sqrt(np.sum(x * x, (row, column), keepdims=keepdims))
    if isinstance(ord, str):
        if ord != "nuc":
            raise ValueError("Invalid norm order for matrices.")
        found = np.sum(_values(x, row, column), -1)
    elif ord == 2:
        found = np.max(_values(x, row, column), -1, initial=0)
    elif ord == -2:
        found = np.min(_values(x, row, column), -1)
    elif ord in (1, -1, np.inf, -np.inf):
        summed, other = (row, column) if abs(ord) == 1 else (column, row)
        sums = np.sum(np.abs(x), summed)
        place = other - 1 if other > summed else other
        found = np.max(sums, place, initial=0) if ord > 0 else np.min(sums, place)
    else:
        raise ValueError("Invalid norm order for matrices.")
    if not keepdims:
        return found
    return np.reshape(found, [1 if axis in (row, column) else x.shape[axis] for axis in range(x.ndim)])


def _values(x: Any, row: int, column: int) -> Any:
    return np.linalg.svd(np.moveaxis(x, (row, column), (-2, -1)), compute_uv=False)


@spells("numpy.linalg.matrix_norm", complex=True)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@spells("numpy.linalg.vector_norm", complex=True)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    a = np.asarray(x)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    rest = [each for each in range(a.ndim) if each not in axes]
    lines = np.reshape(np.transpose(a, [*axes, *rest]), [-1, *[a.shape[each] for each in rest]]) if a.size else a
    if not a.size:
        lines = np.zeros([np.prod([a.shape[each] for each in axes], dtype=int), *[a.shape[each] for each in rest]])
    found = norm(lines, ord, 0)
    return np.reshape(found, [1 if each in axes else a.shape[each] for each in range(a.ndim)]) if keepdims else found


@spells("numpy.linalg.cond", complex=True)
def cond(x: Any, p: Any = None) -> Any:
    a = np.asarray(x)
    if 0 in a.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or (not isinstance(p, str) and p in (2, -2)):
        values = np.linalg.svd(a, compute_uv=False)
        found = values[..., -1] / values[..., 0] if p is not None and p == -2 else values[..., 0] / values[..., -1]
    else:
        require_square(a)
        dtype = result_dtype(a)
        inverse, _ = loops.inv(as_double(a, dtype))
        found = (norm(a, p, (-2, -1)) * norm(inverse, p, (-2, -1))).astype(real_dtype(dtype))
    is_nan = np.isnan(found) & ~np.any(np.isnan(a), (-2, -1))
    return np.where(is_nan, np.asarray(np.inf, found.dtype), found)[()]


@spells("numpy.linalg.matrix_rank", complex=True)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    a = np.asarray(A)
    if a.ndim < 2:
        return int(not np.all(a == 0))
    values = np.linalg.svd(a, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        bound = np.asarray(tol)[..., None]
    else:
        if rtol is None:
            rtol = max(a.shape[-2:]) * np.finfo(values.dtype).eps
        else:
            rtol = np.asarray(rtol)[..., None]
        bound = np.max(values, -1, keepdims=True, initial=0) * rtol
    return np.count_nonzero(values > bound, axis=-1)
