"""Slices whose start and length only the run knows: NumPy's values, NumPy's side effects, and loops that stay loops."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from run_frontend import call, compile_for, is_same

rng = np.random.default_rng(7)
N = 6
SQUARE = rng.random((N, N)) + N * np.eye(N)
SPD = SQUARE @ SQUARE.T
VECTOR = rng.random(N) + 0.1


def agree(function: Any, *args: Any) -> None:
    """The compiled function gives what the plain one gives, and leaves the same in its arguments."""
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    expected = function(*theirs)
    actual = call(function, *mine)
    assert is_same(actual, expected), (actual, expected)
    for one, other in zip(mine, theirs, strict=True):
        assert is_same(one, other), (one, other)


# --- algorithms -------------------------------------------------------------------------------------------------


def cholesky(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] -= a[i, :i] @ a[i, :i]
        a[i, i] = np.sqrt(a[i, i])


def cholesky_by_columns(a):
    n = len(a)
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] /= a[k, k]
        for j in range(k + 1, n):
            a[j:, j] -= a[j:, k] * a[j, k]


def lu(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


def lu_outer(a):
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


def ludcmp(a, b):
    n = a.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] * 0 + y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x, y


def durbin(r):
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


def symm(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


def gramschmidt(A):
    Q, R = np.zeros_like(A), np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[:k, k] = Q[:, :k].T @ A[:, k]
        v = A[:, k] - Q[:, :k] @ R[:k, k]
        R[k, k] = np.sqrt(v @ v)
        Q[:, k] = v / R[k, k]
    return Q, R


def gramschmidt_modified(A):
    Q, R = np.zeros_like(A), np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])
    return Q, R


def correlation(data):
    m = data.shape[1]
    data = (data - data.mean(axis=0)) / (np.sqrt(len(data)) * data.std(axis=0))
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


def covariance(data):
    m, n = data.shape[1], data.shape[0]
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (n - 1.0)
    return cov


def nussinov(seq):
    n = len(seq)
    table = np.zeros((n, n), np.int64)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            pair = 1 if seq[i] + seq[j] == 3 else 0
            best = max(best, (table[i + 1, j - 1] if i + 1 <= j - 1 else 0) + pair)
            table[i, j] = max(best, np.max(table[i, i:j] + table[i + 1 : j + 1, j]))
    return table


ALGORITHMS = {
    cholesky: (SPD,),
    cholesky_by_columns: (SPD,),
    lu: (SPD,),
    lu_outer: (SPD,),
    ludcmp: (SPD, VECTOR),
    durbin: (np.arange(N + 1.0, 1.0, -1.0) / (2 * N),),
    trisolv: (np.tril(SPD), np.zeros(N), VECTOR),
    trmm: (1.5, SQUARE, rng.random((N, 4))),
    symm: (1.5, 1.2, rng.random((N, 4)), SQUARE, rng.random((N, 4))),
    syrk: (1.5, 1.2, SQUARE, rng.random((N, 4))),
    gramschmidt: (rng.random((8, 5)),),
    gramschmidt_modified: (rng.random((8, 5)),),
    correlation: (rng.random((7, 5)),),
    covariance: (rng.random((7, 5)),),
    nussinov: (rng.integers(0, 4, 9),),
}


@pytest.mark.parametrize("function", ALGORITHMS, ids=lambda f: f.__name__)
def test_algorithms_are_those_of_numpy(function):
    agree(function, *ALGORITHMS[function])


@pytest.mark.parametrize("function", ALGORITHMS, ids=lambda f: f.__name__)
def test_algorithms_stay_loops(function):
    """The text of a program does not grow with the size of its arrays."""

    def lines(repeat: int) -> int:
        large = [
            np.pad(arg, [(0, repeat)] * arg.ndim, mode="wrap") if isinstance(arg, np.ndarray) else arg
            for arg in ALGORITHMS[function]
        ]
        return len(str(compile_for(function, *large).module).splitlines())

    assert lines(3) == lines(40)


def test_known_bounds_leave_no_arithmetic():
    """A slice up to the number of an iteration has that number for its size; no clipping, and no check of sizes."""
    text = str(compile_for(cholesky, SPD).module)
    assert "nd.minimum" not in text and "nd.wrap_index" not in text
    assert "could not" not in text and "do not match" not in text
    assert text.count("nd.extract_slice") == 4 and "tensor<?xf64>" in text
