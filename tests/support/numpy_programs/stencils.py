"""Stencils in place: heat, waves, relaxation, and the alternating-direction scheme."""

from __future__ import annotations

from typing import Any

import numpy as np

from numpy_programs.program import Program


def jacobi_1d(steps, a, b):
    """Three-point averages, from one array to the other and back."""
    for _ in range(1, steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3.0


def jacobi_2d(steps, a, b):
    """Five-point averages, from one array to the other and back."""
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def seidel_2d(steps, a):
    """Nine-point averages in place: whole rows of what is not new yet, then element by element."""
    n = a.shape[0]
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:]
            a[i, 1:-1] += a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0


def heat_3d(steps, a, b):
    """The heat equation in three dimensions, second differences along each axis."""
    for _ in range(1, steps):
        inner = a[1:-1, 1:-1, 1:-1]
        b[1:-1, 1:-1, 1:-1] = (
            inner
            + 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * inner + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * inner + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * inner + a[1:-1, 1:-1, :-2])
        )
        inner = b[1:-1, 1:-1, 1:-1]
        a[1:-1, 1:-1, 1:-1] = (
            inner
            + 0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * inner + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * inner + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * inner + b[1:-1, 1:-1, :-2])
        )


def fdtd_2d(steps, ex, ey, hz, source):
    """Maxwell's equations on a staggered grid in two dimensions, driven along the first row."""
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def adi(steps, u):
    """The heat equation by alternating directions: a tridiagonal system along columns, then along rows."""
    n = u.shape[0]
    v = np.empty_like(u)
    p = np.empty_like(u)
    q = np.empty_like(u)
    step = 1.0 / n
    along = 2.0 * (1.0 / steps) / (step * step)
    across = (1.0 / steps) / (step * step)
    a, b = -along / 2.0, 1.0 + along
    d, e = -across / 2.0, 1.0 + across
    for _ in range(1, steps + 1):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            right = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:]
            q[1:-1, j] = (right - a * q[1:-1, j - 1]) / (a * p[1:-1, j - 1] + b)
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]

        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -d / (d * p[1:-1, j - 1] + e)
            right = -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j]
            q[1:-1, j] = (right - d * q[1:-1, j - 1]) / (d * p[1:-1, j - 1] + e)
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


def hdiff(field, coefficients):
    """Horizontal diffusion of a field (i, j, level), with fluxes that never run uphill."""
    out = np.empty((field.shape[0] - 4, field.shape[1] - 4, field.shape[2]), dtype=field.dtype)
    laplacian = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :]
    )
    flux = laplacian[1:, 1:-1, :] - laplacian[:-1, 1:-1, :]
    x_flux = np.where(flux * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0.0, 0.0, flux)
    flux = laplacian[1:-1, 1:, :] - laplacian[1:-1, :-1, :]
    y_flux = np.where(flux * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0.0, 0.0, flux)
    out[:, :, :] = field[2:-2, 2:-2, :] - coefficients * (
        x_flux[1:, :, :] - x_flux[:-1, :, :] + y_flux[:, 1:, :] - y_flux[:, :-1, :]
    )
    return out


def vadv(stage, wind, position, tendency, tendency_stage, dtr):
    """Vertical advection, implicit: a tridiagonal system along the levels of each column (Thomas's algorithm).

    All fields (i, j, level); wind (i + 1, j, level + 1).
    """
    nk = stage.shape[2]
    c = np.zeros_like(stage)
    d = np.zeros_like(stage)
    for k in range(nk):
        if k == 0:
            g = 0.25 * (wind[1:, :, 1] + wind[:-1, :, 1])
            cs = g * 0.5
            c[:, :, 0] = g * 0.5
            b = dtr - c[:, :, 0]
            correction = -cs * (stage[:, :, 1] - stage[:, :, 0])
            d[:, :, 0] = dtr * position[:, :, 0] + tendency[:, :, 0] + tendency_stage[:, :, 0] + correction
            c[:, :, 0] /= b
            d[:, :, 0] /= b
        elif k < nk - 1:
            below = -0.25 * (wind[1:, :, k] + wind[:-1, :, k])
            above = 0.25 * (wind[1:, :, k + 1] + wind[:-1, :, k + 1])
            a = below * 0.5
            c[:, :, k] = above * 0.5
            b = dtr - a - c[:, :, k]
            correction = -(below * 0.5) * (stage[:, :, k - 1] - stage[:, :, k]) - (above * 0.5) * (
                stage[:, :, k + 1] - stage[:, :, k]
            )
            d[:, :, k] = dtr * position[:, :, k] + tendency[:, :, k] + tendency_stage[:, :, k] + correction
            divided = 1.0 / (b - c[:, :, k - 1] * a)
            c[:, :, k] = c[:, :, k] * divided
            d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * a) * divided
        else:
            below = -0.25 * (wind[1:, :, k] + wind[:-1, :, k])
            a = below * 0.5
            b = dtr - a
            correction = -(below * 0.5) * (stage[:, :, k - 1] - stage[:, :, k])
            d[:, :, k] = dtr * position[:, :, k] + tendency[:, :, k] + tendency_stage[:, :, k] + correction
            d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * a) / (b - c[:, :, k - 1] * a)
    data = d[:, :, nk - 1]
    tendency_stage[:, :, nk - 1] = dtr * (data - position[:, :, nk - 1])
    for k in range(nk - 2, -1, -1):
        data = d[:, :, k] - c[:, :, k] * data
        tendency_stage[:, :, k] = dtr * (data - position[:, :, k])


def pair(random: np.random.Generator, steps: int, *shape: int) -> tuple[Any, ...]:
    return steps, random.uniform(size=shape), random.uniform(size=shape)


def one(random: np.random.Generator, steps: int, *shape: int) -> tuple[Any, ...]:
    return steps, random.uniform(size=shape)


def fields(random: np.random.Generator, steps: int, n: int, m: int) -> tuple[Any, ...]:
    return steps, *(random.uniform(size=(n, m)) for _ in range(3)), random.uniform(size=steps)


def diffused(random: np.random.Generator, n: int, m: int, levels: int) -> tuple[Any, ...]:
    return random.uniform(size=(n + 4, m + 4, levels)), random.uniform(size=(n, m, levels))


def advected(random: np.random.Generator, n: int, m: int, levels: int) -> tuple[Any, ...]:
    shape = (n, m, levels)
    stage, position, tendency, tendency_stage = (random.uniform(size=shape) for _ in range(4))
    return stage, random.uniform(size=(n + 1, m, levels + 1)), position, tendency, tendency_stage, 3.0 / 20.0 + 2.0


PROGRAMS = [
    Program(jacobi_1d, pair, (6, 20), (800, 3200), (3000, 12_000)),
    Program(jacobi_2d, pair, (4, 9, 9), (50, 150, 150), (80, 350, 350)),
    Program(seidel_2d, one, (3, 9, 9), (8, 50, 50), (15, 100, 100)),
    Program(heat_3d, pair, (3, 6, 6, 6), (25, 25, 25, 25), (50, 40, 40, 40)),
    Program(fdtd_2d, fields, (4, 7, 8), (20, 200, 220), (60, 400, 450)),
    Program(adi, one, (3, 9, 9), (5, 100, 100), (20, 200, 200)),
    Program(hdiff, diffused, (5, 6, 3), (64, 64, 60), (128, 128, 160)),
    Program(vadv, advected, (3, 4, 5), (60, 60, 40), (112, 112, 80)),
]
