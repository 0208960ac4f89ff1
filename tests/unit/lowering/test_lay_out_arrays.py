"""Arrays of which trips use columns or planes, stored by these: NumPy's values, and gradients of both modes."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad

RANDOM = np.random.default_rng(3)


def swept(x, y, steps):
    """Columns and planes of arrays that only the loops see: in a loop, in a branch, backwards, with a stride."""
    n = x.shape[0]
    p, q = np.zeros((n, n)), np.ones((n, n))
    planes, other = np.empty((n, n - 1, 3)), np.zeros((n, 3))
    for step in range(steps):
        p[1:, 0] = x[0, 1:]
        for j in range(1, n):
            p[1:, j] = x[j, 1:] / (2.0 + p[1:, j - 1] * p[1:, j - 1])
            q[::2, j] = q[::2, j - 1] * y[::2, j] - q[::-2, j - 1]
        for j in range(n - 2, -1, -1):
            x[:, j] = p[:, j] * x[:, j + 1] + q[:, j]
        if step % 2 == 0:
            planes[:, :, step] = x[:, 1:]
        else:
            planes[:, :, step] = planes[:, :, step - 1] * y[:, :1]
            q[:, 0] = planes[:, 1, step]
        other[:, step] += planes[:, 0, 0]
    total = np.zeros((n, n - 1))
    for step in range(steps):
        total += planes[:, :, step] * other[:, step][:, None]
    return total


def arguments(dtype: type, n: int = 7) -> tuple[np.ndarray, np.ndarray, int]:
    x, y = RANDOM.normal(size=(2, n, n))
    return 0.3 * x.astype(dtype), 0.3 * y.astype(dtype), 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_numpys(dtype: type) -> None:
    x, y, steps = arguments(dtype)
    expected = swept(x.copy(), y, steps)
    found = mlirad.jit(swept)(x.copy(), y, steps)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype is np.float64 else 1e-4)


def test_derivatives_agree_with_one_another_and_with_differences() -> None:
    x, y, steps = arguments(np.float64)

    def loss(x, y):
        return np.sum(swept(x.copy(), y, steps) ** 2)

    direction = RANDOM.normal(size=(2, *x.shape))
    backward = mlirad.grad(loss, argnums=(0, 1))(x, y)
    _, forward = mlirad.jvp(loss, (x, y), tuple(direction))
    h = 1e-6
    change = loss(x + h * direction[0], y + h * direction[1]) - loss(x - h * direction[0], y - h * direction[1])
    np.testing.assert_allclose(np.sum(np.multiply(backward, direction)), forward, rtol=1e-12)
    np.testing.assert_allclose(change / (2 * h), forward, rtol=1e-6)


def test_columns_that_only_loops_see_are_contiguous() -> None:
    def eliminated(x):
        n = x.shape[0]
        p = np.empty((n, 5))
        p[:, 0] = 0.0
        for j in range(1, 5):
            p[:, j] = x / (p[:, j - 1] + 2.0)
        return p[:, 4].copy()

    lowered = mlirad.jit(eliminated).lower(np.ones(9))
    assert "tensor<5x9xf64>" in lowered.as_text("linalg")
    assert "tensor<9x5xf64>" not in lowered.as_text("linalg")
    np.testing.assert_array_equal(mlirad.jit(eliminated)(np.ones(9)), eliminated(np.ones(9)))
