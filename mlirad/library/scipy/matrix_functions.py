"""scipy.linalg: triangular systems, LU and Cholesky factors, exponentials, structured matrices. SciPy is not needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.linalg import loops
from mlirad.library.linalg.operands import as_double, require_all, result_dtype
from mlirad.library.spells import spells


def _checked(a: Any, check_finite: bool) -> Any:
    x = np.asarray(a)
    if check_finite and x.dtype.kind in "fc" and not np.all(np.isfinite(x)):
        raise ValueError("array must not contain infs or NaNs")
    return x


def _checked_square(a: Any, check_finite: bool = True, message: str = "expected square matrix") -> Any:
    x = _checked(a, check_finite)
    if x.ndim > 2:
        raise NotImplementedError("a stack of matrices is not compiled here", "call it for each matrix, by mlirad.vmap")
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(message)
    return x


def _triangle(x: Any, is_lower: bool, has_unit_diagonal: bool) -> Any:
    """A triangle of x, with zeros in the other one."""
    places = np.arange(len(x))
    below = places[:, None] > places
    if not is_lower:
        below = below.T
    diagonal = np.ones((), x.dtype) if has_unit_diagonal else x
    return np.where(below, x, np.where(places[:, None] == places, diagonal, np.zeros((), x.dtype)))


def _solved(x: Any, y: Any, is_lower: bool) -> Any:
    """The solution of a triangular system, with columns y; and whether x is singular.

    Factoring an upper triangle exchanges no rows, and LAPACK then solves it by substitution.
    """
    if is_lower:
        found, failed = loops.solve(x[::-1, ::-1], y[::-1])
        return found[::-1], failed
    return loops.solve(x, y)


@spells("scipy.linalg.solve_triangular", complex=True)
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: Any = False,
    unit_diagonal: Any = False,
    overwrite_b: Any = False,  # noqa: ARG001  (nothing is overwritten)
    check_finite: bool = True,
) -> Any:
    x, y = _checked_square(a, check_finite), _checked(b, check_finite)
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"shapes of a {x.shape} and b {y.shape} are incompatible")
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"trans={trans!r} is none of 0, 1, 2, 'N', 'T', 'C'")
    dtype = result_dtype(x, y)
    if y.size == 0:
        return np.empty(y.shape, dtype)
    is_lower, matrix = bool(lower), _triangle(as_double(x, dtype), bool(lower), bool(unit_diagonal))
    if trans not in (0, "N"):
        is_lower, matrix = not is_lower, np.conj(matrix.T) if trans in (2, "C") else matrix.T
    found, failed = _solved(matrix, as_double(y if y.ndim > 1 else y[:, None], dtype), is_lower)
    require_all(failed, "singular matrix: resolution failed")
    return (found if y.ndim > 1 else found[:, 0]).astype(dtype)


def _size(x: Any) -> Any:
    """The size by which LAPACK compares numbers to choose the next row."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


@spells("scipy.linalg.lu_factor", complex=True)
def lu_factor(
    a: Any,
    overwrite_a: Any = False,  # noqa: ARG001  (nothing is overwritten)
    check_finite: bool = True,
) -> Any:
    x = _checked(a, check_finite)
    if x.ndim != 2:
        raise NotImplementedError(
            "scipy.linalg.lu_factor of anything but a matrix is not compiled", "for stacks, use mlirad.vmap"
        )
    dtype = result_dtype(x)
    rows, columns = np.arange(x.shape[0])[:, None], np.arange(x.shape[1])
    count = min(x.shape)
    factors, exchanges = as_double(x, dtype), np.zeros(count, np.int32)
    for k in range(count):
        sizes = np.where(rows[:, 0] < k, -1.0, _size(factors[:, k]))
        place = np.argmax(sizes)
        exchanges[k] = place
        row = factors[k].copy()
        factors[k] = factors[place]
        factors[place] = row
        pivot = factors[k, k]
        divisor = pivot if pivot != 0.0 else 1.0
        below = np.where(rows > k, factors[:, k : k + 1] / divisor, 0.0)
        rest = factors - below * np.where(columns > k, factors[k], 0.0)
        factors = np.where((columns == k) & (rows > k), below, rest)
    return factors.astype(dtype), exchanges


@spells("scipy.linalg.lu_solve", complex=True)
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    trans: Any = 0,
    overwrite_b: Any = False,  # noqa: ARG001  (nothing is overwritten)
    check_finite: bool = True,
) -> Any:
    factors, exchanges = lu_and_piv
    x, y = _checked_square(factors, check_finite), _checked(b, check_finite)
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"Shapes of lu {x.shape} and b {y.shape} are incompatible")
    if trans not in (0, 1, 2):
        raise ValueError("illegal value in 4th argument of internal gesv|posv")
    dtype = result_dtype(x, y)
    if y.size == 0:
        return np.empty(y.shape, dtype)
    matrix, right = as_double(x, dtype), as_double(y if y.ndim > 1 else y[:, None], dtype)
    below, above = _triangle(matrix, True, True), _triangle(matrix, False, False)
    count, places = len(matrix), np.arange(len(matrix))
    for k in range(count):
        place, held = int(exchanges[k]), places[k]
        places[k] = places[place]
        places[place] = held
    if trans == 0:
        inner, _ = _solved(below, right[places], True)
        found, failed = _solved(above, inner, False)
    else:
        if trans == 2:
            above, below = np.conj(above), np.conj(below)
        inner, failed = _solved(above.T, right, True)
        outer, _ = _solved(below.T, inner, False)
        found = np.zeros_like(outer)
        found[places] = outer
    require_all(failed, "singular matrix: resolution failed")
    return (found if y.ndim > 1 else found[:, 0]).astype(dtype)


@spells("scipy.linalg.cho_factor", complex=True)
def cho_factor(
    a: Any,
    lower: Any = False,
    overwrite_a: Any = False,  # noqa: ARG001  (nothing is overwritten)
    check_finite: bool = True,
) -> Any:
    x = _checked_square(a, check_finite, "Input array needs to be 2 dimensional and square")
    dtype = result_dtype(x)
    matrix = as_double(x, dtype)
    factor, failed = loops.cholesky_lower(matrix) if lower else loops.cholesky_upper(matrix)
    require_all(failed, "leading minor of the array is not positive definite")
    places = np.arange(len(x))
    is_factor = places[:, None] >= places if lower else places[:, None] <= places
    return np.where(is_factor, factor, matrix).astype(dtype), lower


@spells("scipy.linalg.cho_solve", complex=True)
def cho_solve(
    c_and_lower: Any,
    b: Any,
    overwrite_b: Any = False,  # noqa: ARG001  (nothing is overwritten)
    check_finite: bool = True,
) -> Any:
    factor, lower = c_and_lower
    x = _checked_square(factor, check_finite, "The factored matrix c is not square.")
    y = _checked(b, check_finite)
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"incompatible dimensions ({x.shape} and {y.shape})")
    dtype = result_dtype(x, y)
    if y.size == 0:
        return np.empty(y.shape, dtype)
    triangle = _triangle(as_double(x, dtype), bool(lower), False)
    below = triangle if lower else np.conj(triangle.T)
    inner, _ = _solved(below, as_double(y if y.ndim > 1 else y[:, None], dtype), True)
    found, _ = _solved(np.conj(below.T), inner, False)
    return (found if y.ndim > 1 else found[:, 0]).astype(dtype)


_PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)
_LARGEST = 5.371920351148152


@spells("scipy.linalg.expm", complex=True)
def expm(A: Any) -> Any:
    """Scaling and squaring with the Pade approximant of order 13: Higham, "The scaling and squaring method for the
    matrix exponential revisited" (2005). A stack is scaled like its largest matrix."""
    a = np.asarray(A)
    if a.ndim < 2:
        raise ValueError("The input array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise ValueError("Last 2 dimensions of the array must be square")
    dtype = result_dtype(a)
    if a.size == 0:
        return np.empty(a.shape, dtype)
    x = as_double(a, dtype)
    size = np.max(np.sum(np.abs(x), -2))
    squarings, scale = 0, 1.0
    while size * scale > _LARGEST and squarings < 1100:
        squarings += 1
        scale *= 0.5
    x = x * scale
    one = np.eye(x.shape[-1])
    x2 = np.matmul(x, x)
    x4 = np.matmul(x2, x2)
    x6 = np.matmul(x4, x2)
    b = _PADE
    odd = np.matmul(x6, b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one
    odd = np.matmul(x, odd)
    even = np.matmul(x6, b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    found, _ = loops.solve(even - odd, even + odd)
    for _ in range(squarings):
        found = np.matmul(found, found)
    return found.astype(dtype)


@spells("scipy.linalg.toeplitz", complex=True)
def toeplitz(c: Any, r: Any = None) -> Any:
    column = np.atleast_1d(c)
    row = np.conjugate(column) if r is None else np.atleast_1d(r)
    if column.ndim != 1 or row.ndim != 1:
        raise NotImplementedError("scipy.linalg.toeplitz of stacks is not compiled", "call it for each, by mlirad.vmap")
    values = np.concatenate((column[::-1], row[1:]))
    rows, columns = np.arange(len(column))[::-1], np.arange(len(row))
    return values[rows[:, None] + columns]


@spells("scipy.linalg.block_diag", complex=True)
def block_diag(*arrs: Any) -> Any:
    blocks = [np.atleast_2d(each) for each in (arrs if len(arrs) else ([],))]
    for each in blocks:
        if each.ndim != 2:
            raise ValueError("arguments in the following positions have dimension greater than 2: blocks are matrices")
    height, width = sum([each.shape[0] for each in blocks]), sum([each.shape[1] for each in blocks])
    made = np.zeros((height, width), np.result_type(*[each.dtype for each in blocks]))
    row, column = 0, 0
    for each in blocks:
        made[row : row + each.shape[0], column : column + each.shape[1]] = each
        row, column = row + each.shape[0], column + each.shape[1]
    return made
