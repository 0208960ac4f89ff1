"""NPBench's stencils, as they are written there: their gradients copy no array in a loop, only rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest

import mlirad


def jacobi_1d(A, B, steps):
    for _ in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return np.sum(A * A)


def jacobi_2d(A, B, steps):
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A * A)


def heat(A):
    return (
        0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
        + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
        + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, 0:-2])
        + A[1:-1, 1:-1, 1:-1]
    )


def heat_3d(A, B, steps):
    for _ in range(1, steps):
        B[1:-1, 1:-1, 1:-1] = heat(A)
        A[1:-1, 1:-1, 1:-1] = heat(B)
    return np.sum(A * A)


def fdtd_2d(ex, ey, hz, fict, steps):
    for t in range(steps):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz * hz)


def seidel_2d(A, steps):
    n = len(A)
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )
            for j in range(1, n - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
    return np.sum(A * A)


def adi(u, steps):
    N = len(u)
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    mul1 = 2.0 * (1.0 / steps) / ((1.0 / N) * (1.0 / N))
    mul2 = 1.0 * (1.0 / steps) / ((1.0 / N) * (1.0 / N))
    a, d = -mul1 / 2.0, -mul2 / 2.0
    b = e = 1.0 + mul2
    c, f = a, d
    for _ in range(1, steps + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -d * u[j, 0 : N - 2] + (1.0 + 2.0 * d) * u[j, 1 : N - 1] - f * u[j, 2:N] - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -f / (d * p[1 : N - 1, j - 1] + e)
            q[1 : N - 1, j] = (
                -a * v[0 : N - 2, j] + (1.0 + 2.0 * a) * v[1 : N - 1, j] - c * v[2:N, j] - d * q[1 : N - 1, j - 1]
            ) / (d * p[1 : N - 1, j - 1] + e)
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]
    return np.sum(u * u)


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    I, J, K = utens_stage.shape
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)
    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_, cs, acol = gav * 0.5, gcv * 0.5, gav * 0.5
        ccol[:, :, k] = gcv * 0.5
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol) if k > 1 else 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided if k > 1 else dcol[:, :, k] * divided
    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k - 1]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])
    for k in range(K - 2, 0, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])
    return np.sum(utens_stage * utens_stage)


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


GRID, CUBE, COLUMNS = (80, 80), (20, 20, 20), (8, 8, 12)
PROGRAMS = {
    jacobi_1d: [*arrays((5000,), (5000,)), 5],
    jacobi_2d: [*arrays(GRID, GRID), 5],
    heat_3d: [*arrays(CUBE, CUBE), 5],
    fdtd_2d: [*arrays(GRID, GRID, GRID, (5,)), 5],
    seidel_2d: [*arrays(GRID), 3],
    adi: [*arrays((16, 16)), 3],
    vadv: [*arrays(COLUMNS, COLUMNS, (9, 8, 12), COLUMNS, COLUMNS), 3.0],
}


ROWS = {jacobi_1d: 1, seidel_2d: 2, adi: 20, vadv: 10}
"""What is copied still: rows and columns, where an array is read and overwritten at the same place, and the few
elements of a block that the next one needs."""


def copies_in_loops(text: str) -> list[int]:
    """The sizes of the arrays that are copied inside loops at stage `bufferized`."""
    depth, sizes, loops = 0, [], []
    for line in text.splitlines():
        copied = re.search(r"(?:memref|linalg)\.copy.*?memref<([0-9x]+)x", line)
        if loops and copied is not None:
            sizes.append(prod(map(int, copied[1].split("x"))))
        if re.search(r"scf\.(for|while|parallel)\b", line):
            loops.append(depth)
        depth += line.count("{") - line.count("}")
        while loops and depth <= loops[-1] and "do {" not in line:
            loops.pop()
    return sizes


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_no_array_is_copied_in_a_loop(program: Callable[..., Any]) -> None:
    arguments: Sequence[Any] = PROGRAMS[program]
    sizes = copies_in_loops(mlirad.grad(program).lower(*arguments).as_text("bufferized"))
    assert len(sizes) <= ROWS.get(program, 0)
    assert all(size < arguments[0].size for size in sizes)


@pytest.mark.parametrize("program", [jacobi_2d, heat_3d, fdtd_2d], ids=lambda program: program.__name__)
def test_gradients_of_stencils(program: Callable[..., Any]) -> None:
    """The losses are quadratic, so that central differences are exact but for rounding."""
    arguments: Sequence[Any] = PROGRAMS[program]
    places = tuple(range(len(arguments) - 1))
    gradients = mlirad.grad(program, places)(*map(np.copy, arguments[:-1]), arguments[-1])
    rng = np.random.default_rng(1)
    steps = [rng.normal(size=np.shape(each)) for each in arguments[:-1]]

    def at(distance: float) -> float:
        moved = (each + distance * step for each, step in zip(arguments, steps, strict=False))
        return program(*moved, arguments[-1])

    found = sum(np.vdot(gradient, step) for gradient, step in zip(gradients, steps, strict=True))
    np.testing.assert_allclose(found, (at(1.0) - at(-1.0)) / 2, rtol=1e-10)


def test_copies_in_loops_are_counted() -> None:
    def copies(a, n):
        rows = np.zeros((n, 9))
        for i in range(n):
            rows[i] = a
            a = np.sort(rows[i]) + a
        return rows

    text = mlirad.jit(copies).lower(np.ones(9), 4).as_text("bufferized")
    assert copies_in_loops(text)
