"""A gradient does as much work as its function, up to a factor that does not grow with the number of trips.

Each idiom updates a few elements of a large array in each trip. One copy of the whole array in each trip of the reverse
sweep would make the gradient quadratic. Work is counted, in elements touched at stage `bufferized`, not timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare_buffers import parse
from count_work import work_of

import mlirad

W = 3


def rows(A):
    for j in range(A.shape[0]):
        A[j] = np.sin(A[j])
    return np.sum(A * A)


def next_row(A):
    for j in range(1, A.shape[0]):
        A[j] = np.sin(A[j - 1])
    return np.sum(A * A)


def added_row(A):
    for j in range(1, A.shape[0]):
        A[j] += np.sin(A[j - 1])
    return np.sum(A * A)


def scaled_row(A):
    for j in range(A.shape[0]):
        A[j] *= A[j]
    return np.sum(A * A)


def named_row(A):
    for j in range(A.shape[0]):
        row = A[j]
        row[:] = np.sin(row)
        row *= 2.0
    return np.sum(A * A)


def reversed_rows(A):
    for j in reversed(range(A.shape[0] - 1)):
        A[j] = A[j] * A[j + 1]
    return np.sum(A * A)


def state_history(A):
    h = np.zeros((A.shape[0], A.shape[1]))
    h[0] = A[0]
    for t in range(A.shape[0] - 1):
        h[t + 1] = np.tanh(h[t]) + A[t]
    return np.sum(h * h)


def number_history(A):
    h = np.zeros(A.shape[0])
    for t in range(A.shape[0] - 1):
        h[t + 1] = np.sin(h[t]) + A[t, 0]
    return np.sum(h * h)


def carried_state(A):
    h, y = np.empty((A.shape[0], A.shape[1])), A[0]
    for t in range(A.shape[0]):
        y = np.sin(y) + A[t]
        h[t] = y
    return np.sum(h * h)


def matrix_history(A):
    M, h = A[:W, :W].copy(), A.copy()
    for t in range(A.shape[0] - 1):
        h[t + 1] = np.tanh(M @ h[t])
    return np.sum(h * h)


def leapfrog(A):
    p, q = A.copy(), A * 2.0
    for t in range(A.shape[0] - 1):
        p[t + 1] = p[t] - 0.1 * np.sin(q[t])
        q[t + 1] = q[t] + 0.1 * p[t + 1]
    return np.sum(p * q)


def columns(A):
    B = A.T.copy()
    for j in range(B.shape[1]):
        B[:, j] = np.sin(B[:, j])
    return np.sum(B * B)


def column_history(A):
    B = A.T.copy()
    for j in range(B.shape[1] - 1):
        B[:, j + 1] = np.sin(B[:, j])
    return np.sum(B * B)


def swapped_rows(A):
    for j in range(A.shape[0] - 1):
        A[j], A[j + 1] = A[j + 1] * A[j], np.sin(A[j])
    return np.sum(A * A)


def swapped_rows_by_index(A):
    for j in range(A.shape[0] - 1):
        A[[j, j + 1]] = A[[j + 1, j]] * 2.0
    return np.sum(A * A)


def masked_row(A):
    for j in range(A.shape[0]):
        row = A[j]
        row[row > 0.0] *= row[row > 0.0]
    return np.sum(A * A)


def chosen_row(A):
    for j in range(A.shape[0]):
        A[j] = np.where(A[j] > 0.0, A[j] * A[j], 0.1 * A[j])
    return np.sum(A * A)


def inner_slice(A):
    for j in range(A.shape[0]):
        A[j, 1:3] = A[j, 0:2] * A[j, 1:3]
    return np.sum(A * A)


def inner_stride(A):
    for j in range(A.shape[0]):
        A[j, ::2] = np.sin(A[j, ::2])
    return np.sum(A * A)


def inner_indices(A):
    places = np.array([2, 0])
    for j in range(A.shape[0]):
        A[j, places] = np.sin(A[j, places])
    return np.sum(A * A)


def inner_element(A):
    for j in range(A.shape[0]):
        for k in range(A.shape[1]):
            A[j, k] = np.sin(A[j, k])
    return np.sum(A * A)


def while_history(A):
    t = 0
    while t < A.shape[0] - 1 and A[t, 0] < 10.0:
        A[t + 1] = np.sin(A[t])
        t += 1
    return np.sum(A * A)


def callee_history(A):
    def step(h, t):
        h[t + 1] = np.sin(h[t])

    for t in range(A.shape[0] - 1):
        step(A, t)
    return np.sum(A * A)


def branch_rows(A):
    for j in range(A.shape[0]):
        if j % 2 == 0:
            A[j] = np.sin(A[j])
        else:
            A[j] *= 2.0
    return np.sum(A * A)


def normalised_rows(A):
    for j in range(A.shape[0]):
        A[j] = A[j] / np.sqrt(np.sum(A[j] * A[j]))
    return np.sum(A * A)


def pivot_row(A):
    for j in range(1, A.shape[0]):
        A[j] = A[j] - A[0] * A[j, 0]
    return np.sum(A * A)


def planes(A):
    B = np.stack((A, A * 2.0), axis=2)
    for j in range(B.shape[0]):
        B[j, :, 0] = np.sin(B[j, :, 1])
    return np.sum(B * B)


def row_of_two(A):
    for j in range(A.shape[0] - 1):
        A[j : j + 2] = np.sin(A[j : j + 2])
    return np.sum(A * A)


def linear_shift(A):
    for j in range(1, A.shape[0]):
        A[j, 1:] = 2.0 * A[j, :-1]
    return np.sum(A * A)


IDIOMS = (
    rows, next_row, added_row, scaled_row, named_row, reversed_rows, state_history, number_history, carried_state,
    matrix_history, leapfrog, columns, column_history, swapped_rows, swapped_rows_by_index, masked_row, chosen_row,
    inner_slice, inner_stride, inner_indices, inner_element, while_history, callee_history, branch_rows,
    normalised_rows, pivot_row, planes, row_of_two, linear_shift,
)  # fmt: skip


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.__name__)
def test_the_work_of_a_gradient_grows_as_that_of_its_function(idiom) -> None:
    """The functions do the same work in each trip."""
    per_trip = [work(mlirad.grad(idiom), n) / n for n in (8, 24)]
    assert per_trip[1] < 1.15 * per_trip[0], f"a trip's work is {per_trip[0]:.0f} of 8 trips, {per_trip[1]:.0f} of 24"


def work(function: Any, n: int) -> int:
    a = np.random.default_rng(0).normal(size=(n, W))
    return work_of(parse(function.lower(a).as_text("bufferized")), [a])


def traced_shift(y, n, w):
    for _ in range(10):
        y[1:n] = 2.0 * y[0 : n - 1]
    return np.sum(y * y)


def traced_average(y, n, w):
    for _ in range(10):
        y[1 : n - 1] = 0.5 * (y[0 : n - 2] + y[2:n]) - 1.0
    return np.sum(y * y)


def traced_weights(y, n, w):
    for _ in range(10):
        y[1:n] = w[1:n] * y[0 : n - 1] / 3.0
    return np.sum(y * y)


def traced_factor(y, n, w):
    for k in range(10):
        y[1:n] += w[k] * y[0 : n - 1]
    return np.sum(y * y)


def traced_window(y, n, w):
    for i in range(1, n):
        y[i : i + 3] = 2.0 * y[i - 1 : i + 2]
    return np.sum(y * y)


def triangle(y, n, w):
    for i in range(2, n):
        y[1:i] = -2.0 * y[0 : i - 1]
    return np.sum(y * y)


def data_bounds(y, n, w):
    for i in range(1, n):
        m = int(w[i] * 4.0) + 1
        y[0:m] = 2.0 * y[m : 2 * m]
    return np.sum(y * y)


def traced_rows(y, n, w):
    A = np.outer(w, y)
    for i in range(1, n):
        A[i, :i] = 3.0 * A[i - 1, 1 : i + 1] - A[i, :i]
    return np.sum(A * A)


def new_array(y, n, w):
    for _ in range(10):
        z = np.zeros(n)
        z[1:] = 2.0 * y[0 : n - 1]
        y[0:n] = z
    return np.sum(y * y)


def chosen(y, n, w):
    for k in range(10):
        y[1:n] = np.where(w[1:n] > 0.5, 2.0 * y[0 : n - 1], 0.0)
    return np.sum(y * y)


def while_bound(y, n, w):
    while n > 2:
        y[1:n] = 2.0 * y[0 : n - 1]
        n -= 1
    return np.sum(y * y)


LINEAR = (
    traced_shift, traced_average, traced_weights, traced_factor, traced_window, triangle, data_bounds, traced_rows,
    new_array, chosen, while_bound,
)  # fmt: skip


@pytest.mark.parametrize("loop", LINEAR, ids=lambda loop: loop.__name__)
def test_linear_loops_have_no_tape(loop) -> None:
    lowered = mlirad.grad(loop).lower(np.ones(40), 20, np.linspace(0.1, 1.0, 40))
    assert "ad.tape" not in lowered.as_text("optimized")
