"""Products that read windows in place, at sizes where vectors cross lines and panels end early, and their gradients."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mlirad
from mlirad import nn

SHAPES = {
    "a line shorter than a vector": ((2, 3, 5, 7), (4, 3, 3, 3), 1, 1),
    "several parts of the sum": ((1, 40, 6, 9), (13, 40, 3, 3), 1, 1),
    "two groups": ((2, 4, 9, 33), (6, 2, 2, 4), 1, 2),
    "one filter a channel": ((2, 3, 9, 19), (3, 1, 3, 3), 1, 3),
    "dilated": ((1, 2, 12, 20), (5, 2, 3, 3), 2, 1),
    "weights that are packed from where they are": ((2, 64, 8, 8), (116, 64, 3, 3), 1, 1),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(dtype):
    rng = np.random.default_rng(3)
    given = [[rng.standard_normal(shape).astype(dtype) for shape in shapes[:2]] for shapes in SHAPES.values()]

    @mlirad.jit
    def all_of(given):
        return [
            nn.conv2d(x, w, 1, 1, dilation, groups)
            for (x, w), (_, _, dilation, groups) in zip(given, list(SHAPES.values()))
        ]

    def loss(given):
        return sum(np.sum(y * y) for y in all_of(given))

    values, gradients = all_of(given), mlirad.grad(loss)(given)
    for (x, w), y, (dx, dw), (_, _, dilation, groups) in zip(given, values, gradients, SHAPES.values(), strict=True):
        convolved = partial(nn.conv2d, stride=1, padding=1, dilation=dilation, groups=groups)
        x, w = x.astype(np.float64), w.astype(np.float64)
        wide = convolved(x, w)
        np.testing.assert_allclose(y, wide, rtol=0, atol=1e3 * np.finfo(dtype).eps)
        # A convolution is linear in x and in w, so its derivative along v is the convolution with v.
        for found, at in ((dx, x), (dw, w)):
            v = rng.standard_normal(at.shape)
            moved = convolved(v, w) if at is x else convolved(x, v)
            np.testing.assert_allclose(
                np.sum(found * v), 2 * np.sum(wide * moved), rtol=1e5 * np.finfo(dtype).eps, atol=1e-9
            )


def test_threads_sum_576_steps_as_one_thread_does() -> None:
    """One thread packs all steps at a time, threads 256: what they pack is on their stacks."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 64, 20, 20)).astype(np.float32), rng.normal(size=(33, 64, 3, 3)).astype(np.float32)

    def convolved(x, w):
        return nn.conv2d(x, w, padding=1)

    alone, shared = mlirad.jit(convolved)(x, w), mlirad.jit(convolved, parallel=True)(x, w)
    np.testing.assert_array_equal(alone, shared)
    np.testing.assert_allclose(alone, convolved(x.astype(np.float64), w), rtol=1e-4, atol=1e-3)


def test_threads_round_products_of_repeated_weights_as_one_thread_does() -> None:
    """Sums of 360 terms are added in parts, whether one thread packs the weights before the loop or several do not."""
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((2, 32, 24, 24)), rng.standard_normal((40, 32, 3, 3))

    def loss(x, w):
        return np.sum(nn.conv2d(x, w, 1, 1) ** 2)

    one, several = (mlirad.grad(loss, argnums=(0, 1), parallel=parallel)(x, w)[0] for parallel in (False, True))
    np.testing.assert_array_equal(one, several)
