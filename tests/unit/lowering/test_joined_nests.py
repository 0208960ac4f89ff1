"""Nests beside a product that its tiles compute: the same numbers, at every ragged size and where lanes are unused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(5)


def blend(transform, surface, weights, positions):
    return positions + (transform @ surface) * weights + 1.0 / (transform @ surface + 30.0)


def squares(a, b):
    product = a @ b
    return product * product - product


def dots(x, weights, surface):
    return (x / weights) @ surface.T


def added(transforms, surface, weights):
    """Sums of products that are never stored; the last array is changed while others are computed."""
    positions = np.zeros((transforms.shape[1], surface.shape[1]), transforms.dtype)
    others = np.ones_like(positions)
    for bone in range(len(transforms)):
        moved = transforms[bone] @ surface
        turned = transforms[bone][::-1] @ surface
        positions += moved * weights[bone]
        others -= turned * weights[bone]
    return positions, others


def numbers(*shape: int, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    return RNG.integers(1, 5, shape).astype(dtype)


@pytest.mark.parametrize("n", [1, 7, 8, 35, 544])
def test_results_are_changed_before_they_are_stored(n: int) -> None:
    for rows, dtype in ((3, np.float64), (13, np.float32)):
        given = [numbers(*shape, dtype=dtype) for shape in ((rows, 4), (4, n), (n,), (rows, n))]
        np.testing.assert_array_equal(mlirad.jit(blend)(*given), blend(*given))
        np.testing.assert_array_equal(mlirad.jit(squares)(*given[:2]), squares(*given[:2]))


@pytest.mark.parametrize("n", [32, 35, 300])
def test_factors_are_computed_where_they_are_read(n: int) -> None:
    """Past the end of a row, weights are zeros: 0 / 0 is no part of a sum."""
    for dtype in (np.float64, np.float32):
        given = [numbers(*shape, dtype=dtype) for shape in ((3, n), (n,), (2, n))]
        given[1] = np.asarray(2.0, dtype) ** given[1]  # exact sums
        np.testing.assert_array_equal(mlirad.jit(dots)(*given), dots(*given))


@pytest.mark.parametrize("n", [1, 16, 35])
def test_sums_of_products_are_added_to_in_place(n: int) -> None:
    """Each row is added to once, also where the last rows are fewer than a tile's. Integers: all sums are exact."""
    for rows, dtype in ((13, np.float32), (20, np.float64)):
        given = [numbers(*shape, dtype=dtype) for shape in ((3, rows, 4), (4, n), (3, n))]
        for found, expected in zip(mlirad.jit(added)(*given), added(*given), strict=True):
            np.testing.assert_array_equal(found, expected)
        tangents = [numbers(*each.shape, dtype=dtype) for each in given]
        _, moved = mlirad.jvp(added, tuple(given), tuple(tangents))
        ahead = added(*[x + t for x, t in zip(given, tangents, strict=True)])  # cubic: third differences are exact
        behind = added(*[x - t for x, t in zip(given, tangents, strict=True)])
        far, near = (added(*[x + s * t for x, t in zip(given, tangents, strict=True)]) for s in (2, -2))
        for k in range(2):
            slope = (8 * (ahead[k] - behind[k]) - (far[k] - near[k])) / 12
            np.testing.assert_allclose(moved[k], slope, rtol=1e-5 if dtype == np.float32 else 1e-12)


def blended(angles, bones, surface, weights):
    """A bone is moved by its own angle only, and the last three angles move none."""
    positions = np.zeros((bones.shape[1], surface.shape[1]), surface.dtype)
    for bone in range(len(bones)):
        positions += ((angles[bone] * bones[bone])[: bones.shape[1]] @ surface) * weights[bone]
    return positions


@pytest.mark.parametrize("n", [35, 300])
def test_directions_that_move_nothing_add_nothing(n: int) -> None:
    """Integers: all sums are exact. A direction that moves nothing does not move an infinite vertex."""
    for rows, dtype in ((3, np.float64), (8, np.float32)):
        bones, surface, weights = (numbers(*shape, dtype=dtype) for shape in ((5, rows, 4), (4, n), (5, n)))
        angles = numbers(8, dtype=dtype)
        slopes = [(bone @ surface) * weight for bone, weight in zip(bones, weights, strict=True)]
        found = mlirad.jacfwd(blended)(angles, bones, surface, weights)
        for direction, slope in enumerate([*slopes, *3 * [np.zeros((1, n))]]):
            np.testing.assert_array_equal(found[..., direction], np.broadcast_to(slope, (rows, n)))
        if n == 300:  # few columns have no test
            surface[0, 0] = np.inf
            found = mlirad.jacfwd(blended)(angles, bones, surface, weights)
            np.testing.assert_array_equal(found[..., -1], np.zeros((rows, n)))
