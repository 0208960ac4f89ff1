"""Library functions of arrays whose memory layout is unknown: NumPy's results, and the user's writes through what they
hand on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_pairs import require_same
from run_frontend import call

from mlirad.errors import CompileError


def arranged(x):
    more = np.repeat(x, 2, axis=0), np.tile(x, (2, 1)), np.roll(x, 2), np.kron(x, x), np.delete(x, 1)
    return *more, np.insert(x, 1, 2.0), np.take(x, [1, 2]), np.unique(x), np.trim_zeros(x[0])


def summed(x):
    more = np.cumsum(x), np.median(x), np.percentile(x, 30.0), np.histogram(x, 3)[0], np.ptp(x), np.cov(x)
    return *more, np.linalg.norm(x), np.average(x), np.einsum("ij,ij->i", x, x), np.einsum("ij->", x)


def converted(x):
    z = x + 1j * x
    return x.conj() * 2, np.conj(z), np.asarray(x, dtype=np.float32), np.float32(x), x.imag + 1, np.array(x, np.float32)


def written(x):
    def first(row):
        row[0] = 7.0
        return row.sum()

    return np.apply_along_axis(first, 0, x), np.apply_along_axis(first, 1, x)


def of_a_column(x):
    """The column may run backwards; the sum has the layout of the other array."""
    s = x[0, ::-1].copy()[::-1]
    for t in range(3):
        sums = s[:, None] + np.sin(np.ones((len(s), 2)) * t)
        s = sums.ravel()[: len(s)] * 0.5
        sums.ravel()[0] = 7.0
        s = s + sums[0, 0]
    return (s,)


@pytest.mark.parametrize("function", [of_a_column, arranged, summed, converted, written])
@pytest.mark.parametrize("view", [lambda a: a[::2, ::-2], lambda a: a[:, 1:3].T])
def test_layouts_do_not_matter(function: Any, view: Any) -> None:
    whole, own = np.sin(np.arange(24.0)).reshape(4, 6), np.sin(np.arange(24.0)).reshape(4, 6)
    want, got = function(view(whole)), call(function, view(own))
    for one, other in zip(want, got, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-13)
        assert np.asarray(one).dtype == np.asarray(other).dtype
    require_same(whole, own)


@pytest.mark.parametrize("function", [lambda x: x.ravel(), lambda x: x.reshape(-1), lambda x: np.ascontiguousarray(x)])
def test_where_they_matter_the_line_is_refused(function: Any) -> None:
    with pytest.raises(CompileError, match="depends on the memory layout"):
        call(function, np.ones((4, 6))[::2, ::2])
