"""Random programs with helpers that are called from many places: with and without shared functions, as NumPy has it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from helper_programs import program_of

import mlirad
from mlirad.frontend.join.repeated_calls import Repeats

COUNT = 400 if os.environ.get("MLIRAD_FULL") else 6
X, ALONG, C = np.array([0.3, -0.7, 1.1, 0.45, -0.2]), np.array([0.5, -0.3, 0.8, 0.1, 0.9]), 0.8


def judge(seed: int) -> None:
    function = program_of(seed)

    def difference(f):
        return (f(X + 1e-6 * ALONG, C) - f(X - 1e-6 * ALONG, C)) / 2e-6

    try:
        expected = function(X.copy(), C)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            mlirad.jit(function)(X.copy(), C)
        return
    np.testing.assert_allclose(mlirad.jit(function)(X.copy(), C), expected, rtol=1e-10)
    differentiated = mlirad.value_and_grad(function)
    value, gradient = differentiated(X.copy(), C)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    np.testing.assert_allclose(gradient @ ALONG, difference(function), rtol=1e-5, atol=1e-7)
    slope = mlirad.jvp(function, (X.copy(), C), (ALONG, 0.0))[1]
    np.testing.assert_allclose(gradient @ ALONG, slope, rtol=1e-9, atol=1e-11)
    if seed % 3 == 0:
        second = mlirad.jvp(mlirad.grad(function), (X.copy(), C), (ALONG, 0.0))[1]
        np.testing.assert_allclose(second, difference(lambda x, c: differentiated(x, c)[1]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", range(COUNT))
def test_programs(seed: int) -> None:
    judge(seed)


@pytest.mark.parametrize("seed", range(1000, 1000 + COUNT))
def test_programs_that_share_all_calls(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repeats, "is_worth_sharing", property(lambda self: len(self.sites) >= 2))
    judge(seed)
