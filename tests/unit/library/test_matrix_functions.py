"""scipy.linalg in kernels against SciPy, and derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import UnsupportedSyntaxError
from mlirad.testing.interpreted import Interpreted

S: Any = pytest.importorskip("scipy.linalg")


def solved(a, b):
    """All solvers, of definite matrices."""
    return (
        S.solve_triangular(a, b),
        S.solve_triangular(a, b[:, 0], lower=True),
        S.solve_triangular(a, b, 1, True, unit_diagonal=True),
        S.solve_triangular(a, b[:, 1], trans="T"),
        S.lu_solve(S.lu_factor(a), b),
        S.lu_solve(S.lu_factor(a), b[:, 0], trans=1),
        S.cho_solve(S.cho_factor(a), b[:, 0]),
        S.cho_solve(S.cho_factor(a, lower=True), b),
    )


def made(a, b):
    return (
        *(S.lu_factor(a), S.lu_factor(b), S.cho_factor(a)[0], S.cho_factor(a, True)[0]),
        *(S.expm(a), S.expm(b @ b.T), S.expm(a * 0.0), S.expm(a[:1, :1])),
        *(S.toeplitz(a[0]), S.toeplitz(a[0], b[:, 0]), S.block_diag(a, b[0], 2.0), S.block_diag(b)),
    )


A = np.array([[4.0, 0.5, -1.0, 0.25], [0.5, 3.0, 0.75, 1.0], [-1.0, 0.75, 5.0, -0.5], [0.25, 1.0, -0.5, 2.0]])
B = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25], [-0.75, 1.5]])


def require_close(found: Any, wanted: Any, digits: float) -> None:
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            require_close(one, other, digits)
        return
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=digits, atol=digits * np.max(np.abs(wanted), initial=0), strict=True)


@pytest.mark.parametrize("function", [solved, made])
def test_values_are_scipys(function: Any) -> None:
    kernel = mlirad.jit(function)
    require_close(kernel(A, B), function(A, B), 1e-13)
    for kind in (np.float32, np.int64):
        digits = 1e-5 if kind is np.float32 else 1e-12
        given = A.astype(kind), B.astype(kind)
        require_close(Interpreted(function, "tensor")(*given), function(*given), digits)


def test_derivatives() -> None:
    weights = np.cos(np.arange(16.0)).reshape(4, 4)

    def total(a, b):
        x, y, z = S.solve_triangular(a, b, lower=True), S.lu_solve(S.lu_factor(a), b), S.cho_solve(S.cho_factor(a), b)
        return np.sum(x**2 + y**3 + z**4) + np.sum(weights * S.expm(a)) + np.sum(S.toeplitz(a[0]) * weights)

    of_a, of_b = mlirad.grad(total, argnums=(0, 1))(A, B)
    steps = 1e-3 * np.eye(16).reshape(16, 4, 4)

    def difference(place: int, x: np.ndarray, step: np.ndarray) -> float:
        def at(k: int) -> float:
            return total(*((x + k * step, B) if place == 0 else (A, x + k * step)))

        return sum(w * (at(k) - at(-k)) for k, w in {1: 0.75, 2: -0.15, 3: 1 / 60}.items()) / 1e-3

    np.testing.assert_allclose(of_a.ravel(), [difference(0, A, step) for step in steps], rtol=1e-9, atol=1e-8)
    found = [difference(1, B, step.ravel()[:8].reshape(4, 2)) for step in steps[:8]]
    np.testing.assert_allclose(of_b.ravel(), found, rtol=1e-9, atol=1e-9)


def test_what_is_refused() -> None:
    for function, error in (
        (lambda a: S.solve_triangular(a * 0.0, a), np.linalg.LinAlgError),
        (lambda a: S.solve_triangular(a, a[:-1]), ValueError),
        (lambda a: S.cho_factor(-a), np.linalg.LinAlgError),
        (lambda a: S.cho_factor(a * np.nan), ValueError),
        (lambda a: S.expm(a[:-1]), ValueError),
    ):
        for one in (function, Interpreted(function, "tensor")):
            with pytest.raises(error):
                one(A)
    with pytest.raises(UnsupportedSyntaxError, match="stack of matrices"):
        mlirad.jit(lambda a: S.cho_factor(a))(np.stack([A, A]))
