"""Arrays whose slices are equal along an axis, stored once: NumPy's values, and gradients of both modes."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad

RANDOM = np.random.default_rng(5)


def solved(x, side, levels):
    """Factors that are equal for all right-hand sides, in one of them those of a level, too."""
    n, m = x.shape
    p, q = np.empty((n, m)), np.empty((n, m))
    planes, sums, corner = np.zeros((3, n, m)), np.zeros((n, m)), np.zeros((n, m))
    for step in range(2):
        p[1:-1, 0] = 0.5
        q[1:-1, 0] = x[1:-1, 0]
        for j in range(1, m):
            p[1:-1, j] = -side / (p[1:-1, j - 1] * side + 2.0)
            q[1:-1, j] = (x[1:-1, j] - q[1:-1, j - 1]) / np.exp(p[1:-1, j - 1])
            planes[:, :, j] = planes[:, :, j - 1] * 0.5 + np.sin(levels[:, None] * side)
            sums[:, j] += sums[:, j - 1] + step
            corner[1:, j] = corner[1:, j - 1] + side
        for j in range(m - 2, -1, -1):
            x[1:-1, j] = p[::-1, j][1:-1] * x[1:-1, j + 1] + q[1:-1, j]
            x[:, j] += planes[1, :, j] * sums[:, j + 1] + corner[:, j]
    return x


def arguments(dtype: type, n: int = 5, m: int = 6) -> tuple[np.ndarray, float, np.ndarray]:
    return RANDOM.normal(size=(n, m)).astype(dtype), 0.3, RANDOM.normal(size=3).astype(dtype)


def loss(x, side, levels):
    return np.sum(solved(x.copy(), side, levels) ** 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_numpys(dtype: type) -> None:
    compiled = mlirad.jit(solved)
    for n, m in ((5, 6), (3, 2), (2, 3), (20, 1)):
        x, side, levels = arguments(dtype, n, m)
        for each in (x, np.asfortranarray(x), x[::-1, ::-1]):
            expected = solved(each.copy(), side, levels)
            tolerance = 1e-12 if dtype is np.float64 else 1e-4
            np.testing.assert_allclose(compiled(each.copy(), side, levels), expected, rtol=tolerance, atol=tolerance)


def test_derivatives_agree_with_one_another_and_with_differences() -> None:
    x, side, levels = arguments(np.float64)
    given = (x, side, levels)
    direction = (RANDOM.normal(size=x.shape), 0.7, RANDOM.normal(size=3))
    backward = mlirad.grad(loss, argnums=(0, 1, 2))(*given)
    _, forward = mlirad.jvp(loss, given, direction)
    h = 1e-6
    ahead, behind = ([a + s * h * d for a, d in zip(given, direction, strict=True)] for s in (1, -1))
    change = (loss(*ahead) - loss(*behind)) / (2 * h)
    assert sum(np.sum(g * d) for g, d in zip(backward, direction, strict=True)) == pytest.approx(forward, rel=1e-12)
    assert change == pytest.approx(forward, rel=1e-6)


def test_second_derivatives_flow_through_the_stored_row() -> None:
    def factor(side):
        p = np.zeros((4, 5))
        for j in range(1, 5):
            p[1:, j] = side / (p[1:, j - 1] * side + 2.0)
        return np.sum(p[1:, 4] ** 2)

    first = mlirad.grad(factor)
    second = mlirad.grad(lambda side: mlirad.grad(factor)(side))(0.7)
    h = 1e-6
    assert first(0.7) == pytest.approx((factor(0.7 + h) - factor(0.7 - h)) / (2 * h), rel=1e-6)
    assert second == pytest.approx((first(0.7 + h) - first(0.7 - h)) / (2 * h), rel=1e-5)


def test_only_one_row_of_factors_is_stored() -> None:
    x, side, levels = arguments(np.float64, 50, 6)
    optimized = mlirad.jit(solved).lower(x, side, levels).as_text("optimized")
    assert "tensor<1x6xf64>" in optimized  # p and the sums
    assert "tensor<3x1x6xf64>" in optimized
    assert "tensor<3x50x6xf64>" not in optimized
    # Row 0 is read, but not written.
    corner = mlirad.jit(lambda side: _corner(side)).lower(0.5).as_text("optimized")
    assert "tensor<9x6xf64>" in corner


def _corner(side):
    corner = np.zeros((9, 6))
    for j in range(1, 6):
        corner[1:, j] = corner[1:, j - 1] + side
    return corner[:, 5].copy()
