"""Products x.T @ d with few columns, which are computed transposed: NumPy's values, in batches, added to, in views."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad


def products(x, d, c, many, others):
    """A product, one that is added to an array, and a product of each pair of a batch."""
    c += x[::-1].T @ d[:, ::-1]
    return x.T @ d, c, np.einsum("bki,bkj->bij", many, others)


compiled = mlirad.jit(products)


@pytest.mark.parametrize(
    ("dtype", "steps", "rows", "columns"),
    [(np.float32, 33, 35, 2), (np.float32, 19, 16, 7), (np.float64, 700, 19, 5), (np.float64, 1030, 1100, 9)],
)
def test_values_are_those_of_numpy(dtype, steps, rows, columns):
    random = np.random.default_rng(rows)
    x, d = random.normal(size=(steps, rows)), random.normal(size=(steps, columns))
    batch = random.normal(size=(3, 25, 21)), random.normal(size=(3, 25, 3))
    given = [each.astype(dtype) for each in (x, d, random.normal(size=(rows, columns)), *batch)]
    expected = products(*(each.astype(np.float64) for each in given))
    for own, other in zip(compiled(*given), expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e3 * np.finfo(dtype).eps * np.sqrt(steps))
