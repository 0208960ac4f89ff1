"""Long products of one module share the code of their tiles: in every layout, whole and ragged, and exactly."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import mlirad
from mlirad.demo import loss

RNG = np.random.default_rng(5)


def products(a, b):
    return a @ b, a.T @ b, a @ b.T, a.T @ b.T, (a @ b) @ a


def batches(a, b):
    return np.einsum("bik,bkj->bij", a, b), np.einsum("bik,bjk->bij", a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [64, 61])
def test_every_layout_is_exact(n: int, dtype: type) -> None:
    a, b = (RNG.integers(-2, 3, (n, n)).astype(dtype) for _ in range(2))
    compiled = mlirad.jit(products)
    for ours, theirs in zip(compiled(a, b), products(a, b), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    text = compiled.lower(a, b).as_text("loops")
    # Whole panels of columns share one function, and the remaining columns another.
    assert text.count("func.func private @mlirad_tiles_") == (1 if n == 64 else 2)
    assert text.count("func.call @mlirad_tiles_") == (5 if n == 64 else 10)


def test_rows_are_handled_so_many_at_once() -> None:
    a, b = RNG.integers(-8, 9, (5003, 8)).astype(float), RNG.integers(-8, 9, (8, 17)).astype(float)

    def two(a, b):
        return a @ b, a @ (2.0 * b)

    for ours, theirs in zip(mlirad.jit(two)(a, b), two(a, b), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_products_side_by_side() -> None:
    a, b = (RNG.integers(-8, 9, (3, 50, 50)).astype(float) for _ in range(2))
    for ours, theirs in zip(mlirad.jit(batches)(a, b), batches(a, b), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_network_is_little_code(mlir_opt: Callable[..., str]) -> None:
    """Eight products, all with one of three functions of tiles: one is for short sums of a packed first factor."""
    params = tuple((RNG.normal(size=shape) / 8.0, np.zeros(shape[1])) for shape in pairwise((784, 512, 256, 10)))
    gradient = mlirad.value_and_grad(loss).lower(params, np.ones((64, 784)), np.zeros((64, 10)))
    loops = gradient.as_text("loops")
    assert loops.count("func.func private @mlirad_tiles_") == 3
    assert len(gradient.as_text("llvmir").splitlines()) < 2800
    mlir_opt(loops)


def test_tiny_products_make_no_others_share_tiles() -> None:
    """Nor do products with tiles of their own need a result that has been cleared, whatever others there are."""

    def f(m, a):
        for _ in range(2):
            m = m @ m @ m @ m @ m @ m @ m @ m
            m = m.T @ m @ m.T @ m @ m.T @ m @ m.T @ m
        return (m[:3] @ a) * 2.0, m @ (a + 1.0)

    m, a = np.eye(4)[[1, 0, 3, 2]], RNG.integers(-8, 9, (4, 900)).astype(float)
    for ours, theirs in zip(mlirad.jit(f)(m, a), f(m, a), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    loops = mlirad.jit(f).lower(m, a).as_text("loops")
    assert "mlirad_tiles_" not in loops and "linalg.fill" not in loops
