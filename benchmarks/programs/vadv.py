"""NPBench's vadv, vertical advection in n x n columns of a weather model: the sum of squares, its adjoint by hand."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1, 2, 3, 4)
SIZES = (6, 60, 112)
HALF, STEP = 0.5, 3.0 / 20.0


def arguments(n: int) -> tuple[Any, ...]:
    rng, levels = np.random.default_rng(42), levels_of(n)
    utens_stage, u_stage = rng.random((n, n, levels)), rng.random((n, n, levels))
    wcon = 0.1 * rng.random((n + 1, n, levels))  # so small that the systems are far from singular
    return utens_stage, u_stage, wcon, rng.random((n, n, levels)), rng.random((n, n, levels))


def levels_of(n: int) -> int:
    return 2 * n // 3


def operations(n: int) -> int:
    return n * n * levels_of(n)


def loss(utens_stage, u_stage, wcon, u_pos, utens):
    rows, columns, levels = utens_stage.shape
    utens_stage = utens_stage.copy()
    ccol = np.empty((rows, columns, levels))
    dcol = np.empty((rows, columns, levels))
    data_col = np.empty((rows, columns))

    gcv = 0.25 * (wcon[1:, :, 1] + wcon[:-1, :, 1])
    cs = gcv * HALF
    ccol[:, :, 0] = gcv * HALF
    bcol = STEP - ccol[:, :, 0]
    correction_term = -cs * (u_stage[:, :, 1] - u_stage[:, :, 0])
    dcol[:, :, 0] = STEP * u_pos[:, :, 0] + utens[:, :, 0] + utens_stage[:, :, 0] + correction_term
    divided = 1.0 / bcol
    ccol[:, :, 0] = ccol[:, :, 0] * divided
    dcol[:, :, 0] = dcol[:, :, 0] * divided

    for k in range(1, levels - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * HALF
        cs = gcv * HALF
        acol = gav * HALF
        ccol[:, :, k] = gcv * HALF
        bcol = STEP - acol - ccol[:, :, k]
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = STEP * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - (dcol[:, :, k - 1]) * acol) * divided

    last = levels - 1
    gav = -0.25 * (wcon[1:, :, last] + wcon[:-1, :, last])
    as_ = gav * HALF
    acol = gav * HALF
    bcol = STEP - acol
    correction_term = -as_ * (u_stage[:, :, last - 1] - u_stage[:, :, last])
    dcol[:, :, last] = STEP * u_pos[:, :, last] + utens[:, :, last] + utens_stage[:, :, last] + correction_term
    divided = 1.0 / (bcol - ccol[:, :, last - 1] * acol)
    dcol[:, :, last] = (dcol[:, :, last] - (dcol[:, :, last - 1]) * acol) * divided

    data_col[:] = dcol[:, :, last]
    utens_stage[:, :, last] = STEP * (data_col - u_pos[:, :, last])
    for k in range(levels - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = STEP * (datacol - u_pos[:, :, k])
    return np.sum(utens_stage * utens_stage)


@numba.njit
def adjoint(utens_stage, u_stage, wcon, u_pos, utens):
    """Column by column: forward, backward, nothing stored beyond a column."""
    rows, columns, levels = utens_stage.shape
    of_utens, of_u, of_w = np.empty(utens.shape), np.zeros(u_stage.shape), np.zeros(wcon.shape)
    of_pos = np.empty(u_pos.shape)
    upper, right, divided, x = np.empty(levels), np.empty(levels), np.empty(levels), np.empty(levels)
    last = levels - 1
    for i in range(rows):
        for j in range(columns):
            w0, w1, u, pos = wcon[i, j], wcon[i + 1, j], u_stage[i, j], u_pos[i, j]
            g_w0, g_w1, g_u, g_pos, g_d = of_w[i, j], of_w[i + 1, j], of_u[i, j], of_pos[i, j], of_utens[i, j]
            below, under = 0.0, 0.0  # upper and right of the level before
            for k in range(levels):
                a = 0.0 if k == 0 else -0.25 * (w1[k] + w0[k]) * HALF
                c = 0.0 if k == last else 0.25 * (w1[k + 1] + w0[k + 1]) * HALF
                d = STEP * pos[k] + utens[i, j, k] + utens_stage[i, j, k]
                if k > 0:
                    d -= a * (u[k - 1] - u[k])
                if k < last:
                    d -= c * (u[k + 1] - u[k])
                divided[k] = 1.0 / (STEP - a - c - below * a)
                below, under = c * divided[k], (d - under * a) * divided[k]
                upper[k], right[k] = below, under
            x[last] = right[last]
            for k in range(last - 1, -1, -1):
                x[k] = right[k] - upper[k] * x[k + 1]
            g_x = 0.0  # of x at this level
            for k in range(levels):
                g = 2.0 * STEP * (STEP * (x[k] - pos[k]))
                g_pos[k] = -g
                g_x = g - (upper[k - 1] * g_x if k > 0 else 0.0)
                g_d[k] = g_x
            g_upper, g_right = 0.0, 0.0  # what the level above adds
            for k in range(last, -1, -1):
                a = 0.0 if k == 0 else -0.25 * (w1[k] + w0[k]) * HALF
                c = 0.0 if k == last else 0.25 * (w1[k + 1] + w0[k + 1]) * HALF
                g_r = g_d[k] + g_right
                g_c = g_upper - (g_d[k] * x[k + 1] if k < last else 0.0)
                of_divisor = -divided[k] * (g_r * right[k] + g_c * upper[k])
                g = g_r * divided[k]
                g_d[k] = g
                g_pos[k] += STEP * g
                g_upper, g_right = -a * of_divisor, -a * g
                if k > 0:
                    g_a = -of_divisor * (1.0 + upper[k - 1]) - g * (right[k - 1] + u[k - 1] - u[k])
                    g_u[k - 1] -= a * g
                    g_u[k] += a * g
                    g_w0[k] -= 0.25 * HALF * g_a
                    g_w1[k] -= 0.25 * HALF * g_a
                if k < last:
                    g_c = g_c * divided[k] - of_divisor - g * (u[k + 1] - u[k])
                    g_u[k + 1] -= c * g
                    g_u[k] += c * g
                    g_w0[k + 1] += 0.25 * HALF * g_c
                    g_w1[k + 1] += 0.25 * HALF * g_c
    return of_utens, of_u, of_w, of_pos, of_utens.copy()


jax_loss = None
