"""scipy.linalg in kernels against SciPy. (The derivatives: test_linalg_derivatives.py.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import UnsupportedSyntaxError
from mlirad.testing.interpreted import Interpreted

S: Any = pytest.importorskip("scipy.linalg")


def solved(a, b):
    """All solvers, for definite matrices."""
    return (
        S.solve_triangular(a, b),
        S.solve_triangular(a, b[:, 0], lower=True),
        S.solve_triangular(a, b, 1, True, unit_diagonal=True),
        S.solve_triangular(a, b[:, 1], trans="T"),
        S.lu_solve(S.lu_factor(a), b),
        S.solve_triangular(a, b[:, 1], trans="C"),
        S.lu_solve(S.lu_factor(a), b[:, 0], trans=1),
        S.lu_solve(S.lu_factor(a), b, trans=2),
        S.cho_solve(S.cho_factor(a), b[:, 0]),
        S.cho_solve(S.cho_factor(a, lower=True), b),
    )


def made(a, b):
    return (
        *(S.lu_factor(a), S.lu_factor(b)),
        *(np.triu(S.cho_factor(a)[0]), np.tril(S.cho_factor(a, True)[0])),  # SciPy 1.18 has zeros in the other one
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
    turned = A + 1j * np.triu(A, 1) / 2 - 1j * np.tril(A, -1) / 2  # Hermitian
    for kind in (np.float32, np.int64, np.complex128, np.complex64):
        digits = 1e-5 if kind in (np.float32, np.complex64) else 1e-12
        given = (
            (turned.astype(kind), (B + 1j * B[::-1]).astype(kind)) if kind in (np.complex128, np.complex64) else None
        )
        given = given or (A.astype(kind), B.astype(kind))
        require_close(Interpreted(function, "tensor")(*given), function(*given), digits)


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
