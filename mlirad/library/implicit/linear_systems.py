"""Linear systems known only by products: v with product(v) = b.

Reads: a product, which is linear, and b. Writes: nothing. Leaves: v with the shape of b.

Small systems are solved by elimination, large ones by restarted GMRES (Saad and Schultz 1986), or by elimination if
GMRES does not converge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DENSE = 48
"""Up to this many unknowns, the matrix is built at once."""
LARGEST = 4096
"""Beyond this many unknowns, it is never built: it would not fit in memory."""
KRYLOV, CYCLES = 60, 12
"""How many products GMRES keeps, and how often it restarts."""


def tolerance(x: Any, of_double: float, of_single: float) -> float:
    """The relative size at which a vector of floats counts as zero."""
    return of_double if np.asarray(x).dtype == np.float64 else of_single


def length(x: Any) -> Any:
    return np.sqrt(np.sum(x * x))


def solved(product: Any, b: Any) -> Any:
    """v with product(v) = b. Raises ArithmeticError if there is none, or it is not found."""
    if np.ndim(b) == 0:
        return b / product(b * 0 + 1)
    flat = np.reshape(b, -1)
    if flat.size <= DENSE:
        return np.reshape(eliminated(matrix_of(product, b), flat), b.shape)
    v, is_found = gmres(lambda x: np.reshape(product(np.reshape(x, b.shape)), -1), flat)
    if not is_found:
        if flat.size > LARGEST:
            raise ArithmeticError("the linear system of an implicit derivative is not solved: give it a linear_solver=")
        v = eliminated(matrix_of(product, b), flat)
    return np.reshape(v, b.shape)


def matrix_of(product: Any, b: Any) -> Any:
    """The matrix of a linear function of arrays with the shape of b."""
    n = b.size
    matrix = np.zeros((n, n), b.dtype)
    for j in range(n):
        unit = np.zeros(n, b.dtype)
        unit[j] = 1.0
        matrix[:, j] = np.reshape(product(np.reshape(unit, b.shape)), -1)
    return matrix


def eliminated(a: Any, b: Any) -> Any:
    """x with a x = b, by elimination with partial pivoting; overwrites a."""
    n = b.size
    x = b.copy()
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if a[p, k] == 0.0:
            raise ArithmeticError("the linear system of an implicit derivative is singular: no isolated solution")
        if p != k:
            row, other = a[k].copy(), x[k]
            a[k], x[k] = a[p], x[p]
            a[p], x[p] = row, other
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            if factor != 0.0:
                a[i, k:] -= factor * a[k, k:]
                x[i] -= factor * x[k]
    for back in range(n):
        k = n - 1 - back
        x[k] = (x[k] - np.sum(a[k, k + 1 :] * x[k + 1 :])) / a[k, k]
    return x


def gmres(product: Any, b: Any) -> Any:
    """(x, whether it is the solution) for product(x) = b, where x and b are vectors."""
    n, m = b.size, min(KRYLOV, b.size)
    enough = tolerance(b, 1e-13, 1e-6) * length(b)
    x = np.zeros_like(b)
    residual = b.copy()
    size, cycle = length(residual), 0
    while size > enough and cycle < CYCLES:
        basis = np.zeros((m + 1, n), b.dtype)
        upper, cosines, sines = np.zeros((m, m), b.dtype), np.zeros(m, b.dtype), np.zeros(m, b.dtype)
        rest = np.zeros(m + 1, b.dtype)
        basis[0], rest[0] = residual / size, size
        k = 0
        while k < m and abs(rest[k]) > enough:
            w = product(basis[k])
            column = np.zeros(m + 2, b.dtype)
            for _ in range(2):  # once is not enough in floating point
                for i in range(k + 1):
                    h = np.sum(basis[i] * w)
                    w = w - h * basis[i]
                    column[i] += h
            after = length(w)
            if after > 0.0:
                basis[k + 1] = w / after
            for i in range(k):
                one, two = column[i], column[i + 1]
                column[i] = cosines[i] * one + sines[i] * two
                column[i + 1] = cosines[i] * two - sines[i] * one
            radius = np.sqrt(column[k] * column[k] + after * after)
            if radius > 0.0:
                cosines[k], sines[k] = column[k] / radius, after / radius
            column[k] = radius
            upper[:, k] = column[:m]
            rest[k + 1] = -sines[k] * rest[k]
            rest[k] = cosines[k] * rest[k]
            k += 1
        y = np.zeros(m, b.dtype)
        for back in range(k):
            i = k - 1 - back
            if upper[i, i] != 0.0:
                y[i] = (rest[i] - np.sum(upper[i, i + 1 :] * y[i + 1 :])) / upper[i, i]
        for i in range(k):
            x = x + y[i] * basis[i]
        residual = b - product(x)
        before, size = size, length(residual)
        cycle = cycle + 1 if size < 0.9 * before else CYCLES
    return x, size <= 100.0 * enough
