"""Nests that occur many times in a module are compiled once, and called."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mlirad
from mlirad.lowering.to_loops.repeated_nests import MANY


def layers(w, h):
    z = h
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    h = np.tanh(h @ w) / (1.0 + h * h)
    return h, z


def products(a, bs):
    return [a @ b for b in bs], [a.T @ b for b in bs], [a @ b.T for b in bs]


def zeros_of_both_signs(xs):
    """Nests that differ only in a constant, or only in the constant's sign."""
    return [x * 0.0 for x in xs[:9]], [x * -0.0 for x in xs[9:]]


def test_layers_that_are_written_out(mlir_opt: Callable[..., str]) -> None:
    rng = np.random.default_rng(3)
    w, h = rng.normal(size=(7, 7)) / 3.0, rng.normal(size=(5, 7))
    compiled = mlirad.jit(layers)
    np.testing.assert_allclose(compiled(w, h)[0], layers(w, h)[0], rtol=1e-12)
    loops = compiled.lower(w, h).as_text("loops")
    # The products, and the ops on their elements.
    assert loops.count("func.func private @mlirad_nest_") == 2
    assert loops.count("func.call @mlirad_nest_") >= 2 * MANY
    mlir_opt(loops)


def test_the_gradient_of_repeated_layers() -> None:
    rng = np.random.default_rng(4)
    w, h, d = rng.normal(size=(7, 7)) / 3.0, rng.normal(size=(5, 7)), rng.normal(size=(7, 7))

    def total(w, h):
        return np.sum(layers(w, h)[0])

    step = 1e-6
    expected = (total(w + step * d, h) - total(w - step * d, h)) / (2 * step)
    np.testing.assert_allclose(np.sum(mlirad.grad(total)(w, h) * d), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [7, 16, 61])
def test_products_in_every_layout(n: int, dtype: type) -> None:
    """Products of 61 rows and columns take so long that their function calls a function of tiles."""
    rng = np.random.default_rng(6)
    a, *bs = [rng.integers(-2, 3, (n, n)).astype(dtype) for _ in range(MANY + 1)]
    compiled = mlirad.jit(products)
    for ours, theirs in zip(compiled(a, bs), products(a, bs), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    loops = compiled.lower(a, bs).as_text("loops")
    assert loops.count("func.func private @mlirad_nest_") == 3
    assert loops.count("func.call @mlirad_tiles_") == (6 if n == 61 else 0)


def test_constants_that_only_compare_as_equal_are_two() -> None:
    plus, minus = mlirad.jit(zeros_of_both_signs)([np.arange(1.0, 4.0) for _ in range(18)])
    assert not np.signbit(plus).any()
    assert np.signbit(minus).all()
