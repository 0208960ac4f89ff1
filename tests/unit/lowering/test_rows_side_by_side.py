"""Long rows that are reduced side by side: each has the bits that it has alone, and NumPy's values."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad


def reductions(a, x):
    """A product with a vector, with one that has each row's factor, sums, extremes, and two results of one nest."""
    scale = a[:, 0]
    return a @ x, np.sum(a, axis=1), np.max(a * x, axis=1), np.sum(a * scale[:, None], axis=1), np.sum(a * a, axis=1)


compiled, shared = mlirad.jit(reductions), mlirad.jit(reductions, parallel=True)


def arrays(rows, columns, dtype):
    random = np.random.default_rng(rows)
    return random.normal(size=(rows, columns)).astype(dtype), random.normal(size=columns).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "rows", "columns"), [(np.float64, 7, 259), (np.float32, 6, 8200), (np.float64, 2, 700)]
)
def test_rows_have_the_bits_that_they_have_alone(dtype, rows, columns):
    a, x = arrays(rows, columns, dtype)
    tolerance = 100 * np.finfo(dtype).eps
    for given in (a, a[::-1, ::-1]) if rows == 7 else (a,):
        together, alone = compiled(given, x), [compiled(given[row : row + 1], x) for row in range(rows)]
        for number, numpy in enumerate(reductions(given, x)):
            np.testing.assert_allclose(together[number], numpy, rtol=tolerance, atol=tolerance * columns)
            assert together[number].tolist() == [each[number][0] for each in alone]


def test_blocks_of_threads_have_the_same_bits():
    a, x = arrays(1037, 515, np.float64)
    for own, other in zip(shared(a, x), compiled(a, x), strict=True):
        np.testing.assert_array_equal(own, other)


def test_rows_of_unknown_number():
    def below_the_diagonal(a, x):
        out = np.zeros(len(x))
        for k in range(len(x)):
            out[k + 1 :] += a[k + 1 :, k:] @ x[k:]
        return out

    a, x = arrays(37, 37, np.float64)
    np.testing.assert_allclose(mlirad.jit(below_the_diagonal)(a, x), below_the_diagonal(a, x), rtol=1e-11)
    mlirad.check_grads(lambda a, x: np.sum(below_the_diagonal(a, x)), (a[:5, :5], x[:5]), order=1)
