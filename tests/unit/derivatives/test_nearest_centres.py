"""The gradient of a sum of distances to the nearest of some centres: no array of all distances, and ties are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad


def loss(centres: Any, points: Any) -> Any:
    apart = points[:, None, :] - centres
    return np.sum(np.min(np.sum(apart * apart, axis=2), axis=1))


def by_hand(centres: Any, points: Any) -> tuple[Any, Any]:
    """Each point's cotangent goes to its nearest centres, in equal shares; all of it is nan where the least is nan."""
    d_centres, d_points = np.zeros(centres.shape), np.zeros(points.shape)
    for i, point in enumerate(points.astype(np.float64)):
        apart = point - centres
        distances = np.sum(apart * apart, axis=1)
        nearest = np.flatnonzero(distances == distances.min())
        share = 1.0 / len(nearest) if len(nearest) else np.nan
        for j in nearest if len(nearest) else range(len(centres)):
            d_centres[j] -= 2.0 * share * apart[j]
            d_points[i] += 2.0 * share * apart[j]
    return d_centres, d_points


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_infinities_and_nan(dtype: Any) -> None:
    """Small integers tie exactly. 1,709 points are not a multiple of any block of rows."""
    random = np.random.default_rng(0)
    centres, points = random.integers(-2, 3, (50, 8)), random.integers(-2, 3, (1709, 8))
    ties = [len(np.flatnonzero(d == d.min())) for d in np.sum((points[:, None] - centres) ** 2, axis=2)]
    assert max(ties) > 3
    assert min(ties) == 1
    centres, points = centres.astype(dtype), points.astype(dtype)
    kernel = mlirad.grad(loss, (0, 1))
    for change in (None, np.inf, np.nan):
        if change is not None:
            points[700, 3] = change
        with np.errstate(invalid="ignore"):
            expected = by_hand(centres, points)
        for mine, other in zip(kernel(centres, points), expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-4 if dtype is np.float32 else 1e-12, err_msg=str(change))
    memory = kernel.last_memory()
    assert memory is not None
    assert dtype is np.float32 or memory < 1 << 16  # all distances would be 1709 * 50 numbers


def test_one_point_and_none() -> None:
    centres = np.arange(6.0).reshape(3, 2)
    for points in (np.array([[2.0, 2.5]]), np.empty((0, 2))):
        for mine, other in zip(mlirad.grad(loss, (0, 1))(centres, points), by_hand(centres, points), strict=True):
            np.testing.assert_allclose(mine, other)


def test_distances_by_a_product() -> None:
    """The product with a few centres runs on blocks of rows, too: nothing of 10,000 x 100 numbers is stored."""

    def by_product(centres: Any, points: Any) -> Any:
        distances = np.sum(points**2, axis=1)[:, None] - 2 * points @ centres.T + np.sum(centres**2, axis=1)
        return np.sum(np.min(distances, axis=1))

    random = np.random.default_rng(0)
    centres, points = random.normal(size=(100, 8)), random.normal(size=(10_000, 8))
    kernel = mlirad.grad(by_product, 1)
    np.testing.assert_allclose(kernel(centres, points), by_hand(centres, points)[1], rtol=1e-9, atol=1e-9)
    memory = kernel.last_memory()
    assert memory is not None
    assert memory < 1 << 20
