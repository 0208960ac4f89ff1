"""Arrays that are filled in parts: no element stays undefined, and cotangents are read before they are cleared."""

from __future__ import annotations

import numpy as np

import mlirad


def slope(y):
    d = np.empty_like(y)
    d[0] = y[1] - y[0] ** 3
    d[1:-1] = y[2:] * y[:-2] - np.sin(y[1:-1])
    d[-1] = y[-2] - y[-1] ** 2
    return d


def steps(y, n):
    for _ in range(n):
        y = y + 0.1 * slope(y + 0.05 * slope(y))
    return np.sum(y * y)


def parts(z, m, k, b):
    """Complex, two axes, unsigned, bool; a gap, an overlap, a part that is read in between."""
    w = np.zeros(4, z.dtype)
    w[3], w[0], w[1:3] = z[0], z[1], z[:2] * 2.0
    grid = np.ones((3, 4), m.dtype)
    grid[:, :2] = m[:, 2:]
    grid[0:1, 2:] = m[0:1, :2]
    grid[1:, 2:] = -m[1:, :2]
    bytes = np.empty(3, k.dtype)
    bytes[:2] = k[1:] + k[:2]
    bytes[2] = k[0]
    flags = np.zeros(3, b.dtype)
    flags[1:] = b[:2]
    gap = np.full(4, 7.0)
    gap[0], gap[2:] = 1.0, m[0, :2]
    twice = np.full(3, 7.0)
    twice[1:], twice[1] = m[0, :2], 5.0
    between = np.full(3, 6.0)
    between[1:] = m[0, :2]
    total = np.sum(between)
    between[0] = 1.0
    return w, grid, bytes, flags, gap, twice, between, total


def test_no_element_is_left_undefined() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    given = (
        z,
        rng.normal(size=(3, 4)).astype(np.float32),
        np.array([250, 3, 7], np.uint8),
        np.array([True, False, True]),
    )
    for ours, expected in zip(mlirad.jit(parts)(*given), parts(*given), strict=True):
        assert np.asarray(ours).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_gradient_of_steps() -> None:
    y, v = np.linspace(-1.0, 1.5, 7), np.cos(np.arange(7.0))
    by_differences = (steps(y + 1e-6 * v, 5) - steps(y - 1e-6 * v, 5)) / 2e-6
    np.testing.assert_allclose(mlirad.grad(steps)(y, 5) @ v, by_differences, rtol=1e-7)


def by_trips(a, b):
    """Loops that cover arrays, that leave elements out, and results in another shape than the slices they fill."""
    whole, late, early, diagonal = np.empty((3, 4)), np.full((3, 4), 5.0), np.full((3, 4), 6.0), np.full((3, 3), 7.0)
    products, columns, nested = np.empty((3, 4)), np.empty((4, 6)), np.zeros((5, 2, 12))
    for i in range(3):
        for j in range(4):
            whole[i, j] = a[i, j] * b[j, i]
        products[i] = np.reshape(a[:2] @ b[:, i : i + 2], 4)
        diagonal[i, i] = a[i, 0]
        columns[:, 2 * i : 2 * i + 2] = np.reshape(np.reshape(a[:2], 8) * b[0, i], (4, 2))
    for i in range(1, 3):
        late[i] = a[i]
        early[i - 1] = a[i]
    for i in range(5):
        inner = np.empty((3, 4))
        for j in range(3):
            inner[j] = np.reshape(a[:2] @ b[:, j : j + 2], 4) * i
        part = np.zeros((2, 6))
        part[1] = np.reshape(a[:2, 1:] + b[:2, 0:3], 6)
        nested[i, :, 3:9] = part
        nested[i, 1:2, :] = np.reshape(inner, (1, 12))
    return whole, late, early, diagonal, products, columns, nested


def test_trips_leave_no_element_undefined() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    for ours, expected in zip(mlirad.jit(by_trips)(a, b), by_trips(a, b), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
    mlirad.check_grads(lambda a, b: sum(np.sum(each * each) for each in by_trips(a, b)), (a, b), order=1)
